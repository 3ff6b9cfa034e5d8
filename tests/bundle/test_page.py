"""The page in a real browser: no error, no network, no overflow on a phone; and what must be in it without one."""

import html.parser
import re
import shutil
import subprocess

import pytest

from bundle import chart, seal
from bundle.story import Story
from bundle.views import summary
from tests.bundle import fakes_bundle as fakes

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = [
    f"--{flag}"
    for flag in (
        "headless",
        "no-sandbox",
        "disable-gpu",
        "disable-quic",
        "no-first-run",
        "disable-background-networking",
        "disable-component-update",
        "disable-sync",
        "allow-file-access-from-files",
        "enable-logging=stderr",
        "virtual-time-budget=4000",
    )
]
FRAME = """<!doctype html><body><iframe id=f src=report.html width={width} height=800 style="border:0"></iframe><script>
addEventListener("load", () => {{
  const root = document.getElementById("f").contentDocument.documentElement;
  const seen = [...root.querySelectorAll("main *:not(thead *)")];  // a phone hides the tables' heads
  const wide = seen.filter(element => element.getBoundingClientRect().right > {width} + 0.5);
  const marks = root.querySelectorAll("svg circle");
  document.title = `width ${{root.scrollWidth}} wide ${{wide.length}} marks ${{marks.length}}`;
}})</script>"""


@pytest.fixture(scope="module")
def files():
    return fakes.bundle()


def page(**options):
    return fakes.bundle(**options)["report.html"].decode()


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: apt-get install chromium")
@pytest.mark.parametrize("width", [360, 768, 1200])
@pytest.mark.parametrize("made", [{}, {"gpu": False}, {"host": True, "with_report": False}], ids=["gpu", "cpu", "host"])
def test_a_browser_shows_the_page_without_an_error_and_without_overflow(tmp_path, width, made):
    (tmp_path / "report.html").write_text(page(**made), encoding="utf-8")
    (tmp_path / "frame.html").write_text(FRAME.format(width=width), encoding="utf-8")
    argv = [CHROMIUM, *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", f"file://{tmp_path}/frame.html"]

    ran = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=True)

    said = re.search(r"<title>width (\d+) wide (\d+) marks (\d+)</title>", ran.stdout)
    assert said, ran.stdout[:500]
    assert int(said[1]) <= width
    assert int(said[2]) == 0
    assert int(said[3]) > 5
    assert "CONSOLE" not in ran.stderr, ran.stderr


class Strict(html.parser.HTMLParser):
    """Collect what could reach outside or run, and tags that do not close."""

    VOID = frozenset({"meta", "link", "br", "hr"})

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.links, self.active, self.ids = [], [], [], []

    def handle_starttag(self, tag, attrs):
        if tag not in self.VOID:
            self.open.append(tag)
        self.note(tag, attrs)

    def handle_startendtag(self, tag, attrs):
        self.note(tag, attrs)

    def note(self, tag, attrs):
        self.links += [value for name, value in attrs if name in {"href", "src", "srcset", "action", "xlink:href"}]
        self.ids += [value for name, value in attrs if name == "id"]
        self.active += [tag] if tag in {"script", "iframe", "object", "form", "link", "img"} else []
        self.active += [name for name, _ in attrs if name.startswith("on") or name == "style"]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_reaches_nothing_and_runs_nothing(files):
    parser = Strict()
    parser.feed(files["report.html"].decode())

    assert (parser.open, parser.links, parser.active) == ([], [], [])
    assert len(parser.ids) == len(set(parser.ids))
    assert "default-src &#x27;none&#x27;" in files["report.html"].decode()
    assert "url(" not in files["report.html"].decode()


def test_each_picture_says_in_words_what_it_shows(files):
    text = files["report.html"].decode()

    assert text.count('role="img"') == text.count("<desc ") == 3
    assert "matmul.bf16.8192: 6" in text


def test_every_figure_of_the_pictures_stands_in_the_table_beside_them(files):
    text = files["report.html"].decode()

    for case in fakes.CASES:
        assert text.count(case["case"]) >= 4


def test_a_page_without_validation_or_benchmarks_says_so():
    assert "There is no validation in this bundle" in page(host=True, with_report=False)
    assert "There are no benchmarks in this bundle" in page(with_results=False)


def cases(**changes):
    run = seal.understood(fakes.evidence() | {"benchmarks/samples.jsonl.gz": packed()})
    return [case | changes for case in Story(run, summary(run), "").figures]


def packed():
    from bundle import streams

    return streams.pack(fakes.evidence()["benchmarks/samples.jsonl.gz"])


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"low": None, "high": None}, id="one process"),
        pytest.param({"peak": None, "of_peak": None}, id="no peak known"),
        pytest.param({"low": 1.0, "value": 1.0, "high": 1.0, "peak": 1e-9}, id="no spread at all"),
        pytest.param({"value": 1e-12, "low": 1e-13, "high": 1e-11, "peak": None, "seconds": 1.0}, id="very small"),
        pytest.param({"value": 1e300, "low": 1e299, "high": 1e301, "peak": None}, id="very large"),
        pytest.param({"unit": "s", "direction": "lower", "value": 1e-6, "low": 9e-7, "high": 2e-6}, id="seconds"),
    ],
)
def test_odd_figures_are_drawn_inside_the_picture(changes):
    drawn = chart.charts(cases(**changes)) + chart.precision(cases(**changes))

    places = [float(place) for place in re.findall(r'(?:x1|x2|cx)="([0-9.-]+)%"', drawn)]
    assert places
    assert all(0 <= place <= 100 for place in places)


@pytest.mark.parametrize("own", [True, False])
def test_each_picture_marks_a_users_own_case(own):
    for drawn in (chart.charts(cases(own=own)), chart.precision(cases(own=own))):
        assert ("own: " in drawn) is own


def test_cases_without_a_figure_are_left_to_the_table():
    none = dict.fromkeys(("value", "low", "high", "seconds", "peak", "of_peak"))

    assert chart.charts(cases(**none)) + chart.precision(cases(**none)) == ""


def test_a_scale_over_many_orders_is_logarithmic_and_says_so():
    slow, fast = cases(unit="B/s", peak=None)
    slow |= {"value": 1e3, "low": 9.9e2, "high": 1.01e3}
    fast |= {"value": 1e12, "low": 9e11, "high": 1.1e12}

    drawn = chart.charts([slow, fast])

    assert "logarithmic scale" in drawn
    assert "1.000 ± 0.010 kB/s" in drawn
    assert "1.00 (0.90 to 1.10) TB/s" in drawn
