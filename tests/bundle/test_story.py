"""What reports say in words: how to repeat a run, what a run was, and that words and pictures agree."""

import csv
import html
import io

import pytest

from benchmarks import plan
from bundle import chart, rows, seal, verify, views
from bundle import story as tell
from tests.bundle import fakes_bundle as fakes


def commands(**options):
    return [command for command, _ in tell.commands(seal.understood(fakes.bundle(**options)))]


@pytest.mark.parametrize(
    ("options", "last"),
    [
        pytest.param({}, f"./kit reproduce --lock {fakes.LOCK['name']} --suite quick", id="an image"),
        pytest.param(
            {"case_file": fakes.CASE_FILE},
            f"./kit benchmark --lock {fakes.LOCK['name']} --suite quick --case bundle/case/mine.py",
            id="an image and one's own case",
        ),
        pytest.param({"host": True}, "./kit bundle --results results.jsonl", id="a host"),
        pytest.param(
            {"host": True, "case_file": fakes.CASE_FILE},
            "./kit bundle --results results.jsonl --case bundle/case/mine.py",
            id="a host and one's own case",
        ),
    ],
)
def test_how_to_reproduce_is_how_this_bundle_was_made(options, last):
    assert commands(**options)[-1] == last


def test_a_host_measures_its_own_case_again_by_its_file():
    again = commands(host=True, case_file=fakes.CASE_FILE)[1]

    assert again == "python3 -m benchmarks --suite quick --case bundle/case/mine.py > results.jsonl"


@pytest.mark.parametrize("name", [*plan.TIMING, None])
@pytest.mark.parametrize("suite", ["custom", "smoke"])
def test_a_run_is_what_its_times_are_whatever_it_calls_itself(name, suite):
    protocol = plan.protocol(suite, plan.TIMING[name or "smoke"], 0, fakes.CASES, 0)
    if name is None:
        protocol["sampling_s"] = 7.0

    assert rows.timing(protocol) == name


@pytest.mark.parametrize(("processes", "said"), [(2, True), (3, False), (10, False)])
def test_short_runs_say_that_they_are_for_trying_out_a_part_of_a_suite_too(processes, said):
    evidence = seal.understood(fakes.bundle(processes=processes))
    notes = [text for name, text in rows.method(evidence) if name == "Note"]

    assert evidence.results.protocol["suite"] == "custom"
    assert bool(notes) is said


def rows_of(text, case):
    rows = text.split("<tr>") if "<tr>" in text else text.splitlines()
    return [row for row in rows if row.startswith((f"| `{case}`", f"{case},", f"<td><code>{case}"))]


@pytest.mark.parametrize(
    ("name", "mark"),
    [
        ("report.md", tell.OWN),
        ("card.md", tell.OWN),
        ("report.html", html.escape(tell.OWN)),
        ("benchmarks/summary.csv", ",True"),
    ],
)
def test_each_figure_of_a_users_own_case_says_whose_it_is_and_no_other_does(name, mark):
    text = fakes.bundle(case_file=fakes.CASE_FILE)[name].decode()
    mine, kits = (rows_of(text, case) for case in (fakes.OWN, fakes.CASES[0]["case"]))

    assert mine
    assert kits
    assert all(mark in row for row in mine)
    assert not any(mark in row for row in kits)


@pytest.mark.parametrize("shown", [1, 2])
def test_the_claims_say_whose_a_figure_is_shown_or_not(monkeypatch, shown):
    monkeypatch.setattr(tell, "SHOWN", shown)
    evidence = seal.understood(fakes.bundle(case_file=fakes.CASE_FILE))
    claimed = tell.claims(tell.Story(evidence, views.summary(evidence), ""))

    assert "own" not in claimed[4].partition(";")[0]
    assert claimed[-1].endswith("; and 1 figure more, 1 of the user's own case" if shown == 1 else f"; {tell.OWN}, ok")


def test_what_a_flag_means_stands_beside_the_figures_of_each_report_and_in_the_verdict():
    records = [
        item | ({"status": "not_steady", "reason": "it is so"} if item["kind"] == "process" else {})
        for item in fakes.results()
    ]
    files = fakes.evidence() | {"benchmarks/samples.jsonl.gz": fakes.lines(records)}
    flagged = seal.assemble(files, created_at=fakes.WHEN, names={}).files
    good = fakes.bundle()

    for name in ("report.md", "card.md", "report.html"):
        assert "measure with --suite publish" in flagged[name].decode()
        assert "measure with --suite publish" not in good[name].decode()
    assert [note.partition(":")[0] for note in verify.judge(flagged)["notes"]] == ["not_steady"]
    assert verify.judge(good)["notes"] == []


def case(low, high):
    return {
        "case": "a", "title": "A", "group": "compute", "unit": "s", "direction": "lower", "status": "ok", "value": 1.0,
        "low": low, "high": high, "peak": None, "seconds": 1.0, "process_medians_s": [0.9, 1.1], "own": False,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("low", "high", "drawn"),
    [
        pytest.param(0.9, 1.1, True, id="a good one"),
        pytest.param(0.2, 1.9, True, id="a wide one"),
        pytest.param(0.01, 90.0, False, id="one that says nothing"),
        pytest.param(None, None, False, id="none"),
    ],
)
def test_a_chart_draws_an_interval_where_the_table_writes_one(low, high, drawn):
    item = case(low, high)
    written = " to " in tell.figure(item)

    assert written is drawn
    assert ('class="interval"' in chart.charts([item])) is drawn
    assert bool(chart.precision([item])) is drawn
    for words in (tell.figure(item), chart.short(item, chart.Axis([1.0], "s", 1.0))):
        assert ("interval" in words) is not drawn
    assert ("flagged" in chart.charts([item])) is not drawn


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=HYPERLINK(1)", "'=HYPERLINK(1)"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        (" =1", "' =1"),
        ("\t=1", "' =1"),
        ("\r\n@x", "'  @x"),
        ("\x1b[2Jx", "\N{REPLACEMENT CHARACTER}[2Jx"),
        ("a\x00b", "a\N{REPLACEMENT CHARACTER}b"),
        ("a\nb", "a b"),
        ("Matrix product", "Matrix product"),
    ],
)
def test_no_cell_of_the_table_runs_or_hides_anything(text, cell):
    evidence = seal.understood(fakes.bundle(samples=30))
    figures = views.summary(evidence)
    figures["cases"][0]["title"] = text

    written = views.spreadsheet(tell.Story(evidence, figures, "")).decode()
    found = list(csv.DictReader(io.StringIO(written, newline="")))

    assert found[0]["title"] == cell
