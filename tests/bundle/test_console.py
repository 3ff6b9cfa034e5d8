import pytest

from bundle import console


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


def test_a_cpu_bundles_verdict_begins_with_what_it_is_not():
    assert console.verdict_lines(verdict(gpu_result=False)).startswith("**not a GPU result**\n")


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
                {"cases": [{"status": NASTY, "case": NASTY, "value": None, "low": None, "high": None, "unit": NASTY,
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
