import io

import pytest

from bundle import console


def shown(**finding):
    stream = io.StringIO()
    console.Console(stream).record({"kind": "finding", "code": "lock.choice", "status": "pass"} | finding)
    return stream.getvalue()


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
        "confirmed": ["one thing"],
        "contradicted": [{"what": "a.json", "seen": "1", "expected": "2"}],
        "not_checked": [{"what": "L1", "reason": "no engine"}],
        "unknown": [],
        "notes": [],
    } | changed


def test_a_verdict_ends_with_the_answer():
    assert console.verdict_lines(verdict()).splitlines() == [
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
