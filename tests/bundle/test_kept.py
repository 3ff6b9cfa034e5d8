import json

import pytest

from bundle.kept import kept

EXPECTED = {"image_id": "sha256:1", "lock_sha256": "2", "cargo_sha256": "3", "backend": "cpu"}
WHEN = "2026-11-30T12:00:00Z"


def record(path, *, start=None, finding="pass", suite="smoke", cases=(), cut=False):
    lines = [
        {"kind": "start", "started_at": WHEN, **EXPECTED, "protocol": {"suite": suite, "cases": list(cases)}}
        | (start or {}),
        {"kind": "finding", "status": finding},
        {"kind": "end", "counts": {"start": 1, "finding": 1}},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines[: 2 if cut else 3]), encoding="utf-8")
    return path


def test_a_whole_record_of_the_same_things_is_kept(tmp_path):
    assert kept(record(tmp_path / "r.jsonl"), EXPECTED, suite="smoke") == WHEN


def test_there_is_nothing_to_keep_where_there_is_no_record(tmp_path):
    assert kept(tmp_path / "absent.jsonl", EXPECTED) is None


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"start": {"image_id": "sha256:9"}}, id="another image"),
        pytest.param({"start": {"lock_sha256": "9"}}, id="another lock"),
        pytest.param({"start": {"cargo_sha256": "9"}}, id="other sources of the kit"),
        pytest.param({"start": {"backend": "rocm"}}, id="another backend"),
        pytest.param({"finding": "fail"}, id="a finding failed"),
        pytest.param({"finding": "timeout"}, id="a case ran into its deadline"),
        pytest.param({"suite": "quick"}, id="another suite"),
        pytest.param({"cases": [{"file_sha256": "9"}]}, id="a case of the user's own"),
        pytest.param({"cut": True}, id="cut off"),
    ],
)
def test_a_record_is_made_again_after_a_change(tmp_path, change):
    assert kept(record(tmp_path / "r.jsonl", **change), EXPECTED, suite="smoke") is None
