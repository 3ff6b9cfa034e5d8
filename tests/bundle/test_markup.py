"""A stranger's text stays text."""

import pytest

from bundle.markup import Html, code, escape, markdown, tag


def test_text_is_escaped_and_html_is_kept():
    assert tag("p", "a < b & c", tag("b", "x")) == "<p>a &lt; b &amp; c<b>x</b></p>"


def test_attributes_are_escaped_and_renamed():
    made = tag("td", "x", class_='a"b', data_label="<", title=None)

    assert made == '<td class="a&quot;b" data-label="&lt;">x</td>'


def test_elements_without_content_close_themselves():
    assert tag("line", x1=1) == '<line x1="1"/>'
    assert tag("meta", charset="utf-8") == '<meta charset="utf-8">'


def test_escaping_twice_is_not_possible():
    assert escape(escape("<")) == "&lt;"
    assert isinstance(escape("<"), Html)


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        pytest.param("plain words, 12.5 %", "plain words, 12.5 %", id="plain"),
        pytest.param("a|b", r"a\|b", id="table"),
        pytest.param("**bold** _em_ `code`", r"\*\*bold\*\* \_em\_ \`code\`", id="marks"),
        pytest.param("<b>&amp;", "&lt;b&gt;&amp;amp;", id="html"),
        pytest.param("<!-- repro-bundle:end -->", r"&lt;\!-- repro-bundle:end --&gt;", id="marker"),
        pytest.param("[a](b) ![c](d)", r"\[a\](b) \!\[c\](d)", id="links"),
        pytest.param("https://x.example", "https:&#47;/x.example", id="an address"),
        pytest.param("www.x.example a@b.example", "www&#46;x.example a&#64;b.example", id="half an address"),
        pytest.param("- item", r"\- item", id="list"),
        pytest.param("1. item", r"1\. item", id="numbered list"),
        pytest.param("# head", r"\# head", id="heading"),
        pytest.param("a\n\n- b", "a  - b", id="lines"),
        pytest.param("1.5 ms", "1.5 ms", id="a number"),
    ],
)  # fmt: skip
def test_markdown_shows_text_as_it_is(text, safe):
    assert markdown(text) == safe


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("matmul.bf16.8192", "`matmul.bf16.8192`"),
        ("sudo modprobe amdgpu", "`sudo modprobe amdgpu`"),
        ("a`b", r"a\`b"),
        ("<!-- x -->", r"&lt;\!-- x --&gt;"),
        ("a|b", r"a\|b"),
        ("", ""),
    ],
)
def test_code_is_code_unless_it_could_end_itself(text, safe):
    assert code(text) == safe
