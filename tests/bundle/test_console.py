from pathlib import Path

import pytest

from bundle import console, layout


def shown(**finding):
    told = []
    found = {"kind": "finding", "code": "lock.choice", "status": "pass"} | finding
    console.Console(told.append, colour=False).record(found)
    return "".join(f"{line}\n" for line in told)


@pytest.mark.parametrize(
    ("finding", "text"),
    [
        pytest.param({"seen": "debian13"}, "pass  lock.choice                  debian13\n", id="what was seen"),
        pytest.param(
            {"seen": "debian13", "reason": "the newest"},
            "pass  lock.choice                  the newest [debian13]\n",
            id="why, and what was seen",
        ),
        pytest.param(
            {"status": "fail", "reason": "none", "remedy": "./kit lock"},
            "fail  lock.choice                  none\n                                   -> ./kit lock\n",
            id="why, and the next step",
        ),
        pytest.param(
            {"reason": "\x1b[2Jevil\nline"},
            "pass  lock.choice                  �[2Jevil line\n",
            id="no control reaches a terminal",
        ),
    ],
)
def test_a_finding_is_one_line_and_its_remedy_another(finding, text):
    assert shown(**finding) == text


def test_samples_and_processes_are_left_to_the_benchmark_to_tell():
    assert shown(kind="sample") == shown(kind="process") == ""


def verdict(**changed):
    return {
        "gpu_result": True,
        "verdict": "CONTRADICTED",
        "levels": [{"level": "L0", "question": "?", "verdict": "CONTRADICTED"}],
        "claimed": ["suite publish"],
        "confirmed": ["one thing"],
        "contradicted": [{"what": "a.json", "seen": "1", "expected": "2"}],
        "not_checked": [{"what": "L1", "reason": "no engine"}],
        "unknown": [],
        "notes": [],
    } | changed


def test_a_verdict_ends_with_the_answer():
    assert console.verdict_lines(verdict()).splitlines() == [
        "claimed       suite publish",
        "confirmed     one thing",
        "CONTRADICTED  a.json: 1, expected 2",
        "not checked   L1: no engine",
        "CONTRADICTED at L0",
    ]


NO_GPU = "not a GPU result"
FIGURE = {
    "status": "ok", "case": "a", "value": 1.0, "low": 0.9, "high": 1.1, "unit": "s", "of_peak": None, "reasons": [],
    "processes": 3,
}  # fmt: skip
SUMMARY = {"device": "Xeon", "cases": [FIGURE]}
ANSWER = {"image_id": "a", "manifest_digest": "b", "findings": [], "bundle": "c", "verdict": {"verdict": "CONFIRMED"}}


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(lambda gpu: console.verdict_lines(verdict(gpu_result=gpu)), id="a verdict"),
        pytest.param(lambda gpu: console.table(SUMMARY | {"gpu_result": gpu}), id="figures"),
        pytest.param(lambda gpu: console.counted([{"status": "pass"}], gpu_result=gpu), id="findings"),
        pytest.param(lambda gpu: console.ending(ANSWER | {"summary": SUMMARY | {"gpu_result": gpu}}), id="reproduce"),
    ],
)
def test_what_a_cpu_did_begins_with_what_it_is_not_once_and_as_plain_text(said):
    first, *rest = said(gpu=False).splitlines()

    assert first.startswith(NO_GPU)
    assert NO_GPU not in "".join(rest)
    assert "*" not in said(gpu=False)
    assert NO_GPU not in said(gpu=True)


@pytest.mark.parametrize("status", ["throttled", "drift", "not_steady", "not_converged"])
def test_what_a_flag_means_is_said_once_under_the_figures_that_have_it(status):
    flagged = {"gpu_result": True, "cases": [FIGURE | {"status": status}, FIGURE | {"status": status}]}

    *_, last = console.table(flagged).splitlines()

    assert console.table(flagged).count(f"{status}: ") == 1
    assert last.startswith(f"{status}: ")
    assert "--suite publish" in last
    assert "--suite" not in console.table(SUMMARY | {"gpu_result": True})


@pytest.mark.parametrize(
    ("changed", "rebuild", "last"),
    [
        pytest.param({}, False, "CONFIRMED at L0", id="not asked for"),
        pytest.param(
            {}, True, "CONFIRMED at L0; the image was not built again: no engine", id="asked for, and not to be had"
        ),
        pytest.param({"not_checked": []}, True, "CONFIRMED at L0", id="asked for, and done"),
        pytest.param({"verdict": "CONTRADICTED"}, True, "CONTRADICTED at L0", id="contradicted"),
    ],
)
def test_the_last_line_says_why_an_image_was_not_built_again(changed, rebuild, last):
    held = {"verdict": "CONFIRMED", "contradicted": [], "levels": [{"level": "L0", "verdict": "CONFIRMED"}]}
    held["not_checked"] = [{"what": layout.THE_IMAGE, "reason": "no engine"}]

    assert console.verdict_lines(verdict(**held | changed), rebuild=rebuild).splitlines()[-1] == last


def test_an_image_that_is_not_the_committed_one_is_told():
    answer = {
        "image_id": "sha256:1",
        "manifest_digest": "sha256:2",
        "identical": False,
        "differences": [{"path": "x", "kind": "content", "class": "timestamp"}],
        "unexpected": [{"path": "a.image.json", "field": "image_id", "built": "sha256:1", "committed": "sha256:3"}],
    }

    assert console.image_lines(answer).splitlines() == [
        "image     sha256:1",
        "manifest  sha256:2",
        "built twice: NOT identical",
        "  x: content (timestamp)",
        "NOT the image in a.image.json: image_id sha256:1, there sha256:3",
    ]


def test_findings_are_counted_worst_not_hidden():
    assert (
        console.counted([{"status": status} for status in ("skip", "pass", "fail", "pass")]) == "2 pass, 1 fail, 1 skip"
    )
    assert console.counted([]) == "none"


GUIDE = (Path(__file__).parents[2] / "docs" / "guide" / "verify.md").read_text(encoding="utf-8")


def test_the_guide_tells_of_every_word_that_a_line_begins_with_and_of_every_answer():
    full = verdict(
        verdict="CONFIRMED",
        levels=[{"level": "L0", "verdict": "CONFIRMED"}],
        not_checked=[{"what": what, "reason": "..."} for what in (layout.AT_ITS_WORD, layout.THE_IMAGE)],
        unknown=[{"what": "driver", "reason": "none"}],
        notes=["one"],
    )
    *lines, answer = console.verdict_lines(full, rebuild=True).splitlines()
    words = {line[:13].strip() for line in lines}

    assert words == {"claimed", "confirmed", "CONTRADICTED", "not checked", "unknown", "note"}
    assert all(f"- **{word}**: " in GUIDE for word in words)
    assert answer == f"CONFIRMED at L0, but for {layout.AT_ITS_WORD}; the image was not built again: ..."
    assert f"`CONFIRMED at L0, but for {layout.AT_ITS_WORD}`" in GUIDE
    assert "`CONFIRMED at L0; the image was not built again: ...`" in GUIDE


NASTY = "\x1b[2J\x07evil\u202e\nline"


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(
            console.verdict_lines(
                verdict(
                    claimed=[NASTY],
                    confirmed=[NASTY],
                    contradicted=[{"what": NASTY, "seen": NASTY, "expected": NASTY}],
                    not_checked=[{"what": NASTY, "reason": NASTY}],
                    unknown=[{"what": NASTY, "reason": NASTY}],
                    notes=[NASTY],
                )
            ),
            id="a verdict",
        ),
        pytest.param(
            console.image_lines(
                {
                    "image_id": NASTY,
                    "manifest_digest": NASTY,
                    "identical": False,
                    "differences": [{"path": NASTY, "kind": NASTY, "class": NASTY}],
                    "unexpected": [{"path": NASTY, "field": NASTY, "built": NASTY, "committed": NASTY}],
                }
            ),
            id="an image",
        ),
        pytest.param(
            console.table(
                {"gpu_result": True,
                 "cases": [{"status": NASTY, "case": NASTY, "value": None, "low": None, "high": None, "unit": NASTY,
                            "of_peak": None, "reasons": [NASTY], "processes": 0}]}
            ),
            id="figures",
        ),
        pytest.param(shown(code=NASTY, seen=NASTY, reason=NASTY, remedy=NASTY), id="a finding"),
    ],
)  # fmt: skip
def test_no_control_of_anybody_reaches_the_terminal(said):
    assert "evil" in said
    assert not set(said) & {"\x1b", "\x07", "\u202e"}
    assert all("line" in line for line in said.splitlines() if "evil" in line)
