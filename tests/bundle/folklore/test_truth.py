"""Every wrong form is found, none of the right ones; and every rule has a wrong form that shows it."""

import re
import time
from pathlib import Path

import pytest

from bundle.folklore import lint, rules
from tests.bundle.folklore.forms import RIGHT, WRONG


@pytest.mark.parametrize(("kind", "source", "code"), WRONG)
def test_a_wrong_form_is_found_by_its_code(kind, source, code):
    assert code in {finding.code for finding in lint.check(source, kind)}


@pytest.mark.parametrize("kind", ["shell", "python", "markdown", "requirements"])
def test_wrong_forms_are_found_in_one_file_as_well(kind):
    alone = ("print 'Python 2'", "env={")  # no Python as a whole; variables for another program may be set at any time
    forms = [(source, code) for its, source, code in WRONG if its == kind and not any(part in source for part in alone)]
    whole = "\n\n".join(source for source, _ in forms)

    assert {code for _, code in forms} - {finding.code for finding in lint.check(whole, kind)} == set()


@pytest.mark.parametrize(("kind", "source"), RIGHT)
def test_nothing_is_found_in_a_right_form(kind, source):
    assert lint.check(source, kind) == []


@pytest.fixture(scope="module")
def everything_found():
    return {finding.what for kind, source, _ in WRONG for finding in lint.check(source, kind)}


@pytest.mark.parametrize("rule", rules.load(), ids=lambda rule: f"{rule['code']}.{rule['what'][:30]}")
def test_a_rule_is_whole_and_shown_by_a_wrong_form(rule, everything_found):
    what = re.sub(r"\\\{\w+\\\}", ".*", re.escape(rule["what"]))

    assert all(rule[part] for part in ("code", "on", "what", "why", "instead", "source", "date"))
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule["code"])
    assert any(re.fullmatch(what, one) for one in everything_found)


def test_no_sentence_of_a_finding_has_a_gap():
    for kind, source, _ in WRONG:
        for finding in lint.check(source, kind):
            assert not re.search(
                r"\{(name|value|word|program|package|version|option|meant|why|instead|taken|gfx)\}", str(finding)
            )


@pytest.mark.parametrize(
    ("kind", "source", "line"),
    [
        pytest.param("shell", "true\n\nrocm-smi \\\n  --json \\\n  --showpoweravg", 5, id="a continued command"),
        pytest.param("shell", "a='1\n2'\nrocm-smi --showpoweravg", 3, id="behind a quoted newline"),
        pytest.param("shell", "cat <<E\nx\ny\nE\nrocm-smi --showpoweravg", 5, id="behind a here-document"),
        pytest.param("shell", "x=$(\n  rocm-smi --showpoweravg\n)", 2, id="in a substitution"),
        pytest.param("dockerfile", "FROM a\nENV A=1 \\\n    # why\n    HIP_API_DB=1", 4, id="ENV over lines"),
        pytest.param(
            "dockerfile", "FROM a\nRUN --mount=type=cache,target=/x \\\n  rocm-smi --showpoweravg", 3, id="RUN"
        ),
        pytest.param("dockerfile", "FROM a\nRUN <<EOF\ntrue\nrocm-smi --showpoweravg\nEOF", 4, id="RUN with a heredoc"),
        pytest.param("python", "import os\n\nos.environ[\n  'HIP_API_DB'\n] = '1'", 3, id="a statement over lines"),
        pytest.param("python", "s = ('a\\n'\n     'rocm-smi --showpoweravg')", 2, id="a string in pieces"),
        pytest.param("yaml", "a:\n  run: |\n    true\n    rocm-smi --showpoweravg", 4, id="a block of YAML"),
        pytest.param("yaml", "a:\n  env:\n    B: 1\n    HIP_API_DB: 1", 4, id="a mapping"),
        pytest.param("markdown", "# A\n\ntext\n\n```bash\ntrue\nrocm-smi --showpoweravg\n```", 7, id="a fence"),
        pytest.param("markdown", "- a\n- b `HIP_API_DB=1`\n- c", 2, id="an item of a list"),
        pytest.param("markdown", "---\nenv:\n  HIP_API_DB: 1\n---\ntext", 3, id="front matter"),
        pytest.param("markdown", "one two\nthree `HIP_API_DB=1` four", 2, id="a paragraph over lines"),
    ],
)
def test_the_line_is_that_of_the_wrong_word(kind, source, line):
    assert [finding.line for finding in lint.check(source, kind)] == [line]


@pytest.mark.parametrize(
    ("kind", "source"),
    [
        ("shell", "export HIP_API_DB=1  # kit-folklore: ok variable-unread"),
        ("shell", "# kit-folklore: ok option-unknown, variable-unread\nexport HIP_API_DB=1"),
        ("python", "import os\nos.environ['HIP_API_DB'] = '1'  # kit-folklore: ok variable-unread"),
        ("dockerfile", "FROM a\n# kit-folklore: ok variable-unread\nENV HIP_API_DB=1"),
        ("yaml", "env:\n  HIP_API_DB: 1  # kit-folklore: ok variable-unread"),
        ("markdown", "Set `HIP_API_DB=1`. <!-- kit-folklore: ok variable-unread -->"),
    ],
)
def test_what_a_comment_calls_well_is_no_finding(kind, source):
    assert lint.check(source, kind) == []
    assert lint.check(source.replace("variable-unread", "cudnn-off"), kind) != []


def test_a_comment_calls_well_its_own_line_alone():
    source = "export HIP_API_DB=1  # kit-folklore: ok variable-unread\nexport HIP_TRACE_KERNEL=1"

    assert [finding.line for finding in lint.check(source, "shell")] == [2]


@pytest.mark.parametrize("kind", ["dockerfile", "shell", "python", "yaml", "markdown", "requirements", "env"])
@pytest.mark.parametrize(
    "unit",
    ["'", '"', "$(", "${", "`", "<a", "<!--", "```\n", "\\\n", "((", "[[", "{{", "| a ", "a: &b *b\n", "#", "<<A\n",
     "\x00", "\ud7ff\ufffd", "ENV a=\\\n", "A_B=1 ", "a.b(", "- - ", "export A_B_C_D=1\n", "if "],
)  # fmt: skip
def test_hostile_text_takes_no_time_and_raises_nothing(kind, unit):
    source = unit * (60_000 // len(unit))
    begun = time.process_time()

    lint.check(source, kind)

    assert time.process_time() - begun < 10


def test_every_code_is_in_the_docs():
    page = (Path(__file__).parents[3] / "docs/reference/folklore.md").read_text(encoding="utf-8")
    told = set(re.findall(r"`([a-z0-9]+(?:-[a-z0-9]+)*)`", page))
    codes = {rule["code"] for rule in rules.load()}

    assert {code for code in codes if not code.startswith("claim-")} - told == set()
