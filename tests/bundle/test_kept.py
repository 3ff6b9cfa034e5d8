import json

import pytest

from bundle import layout, streams
from bundle.kept import holds, kept

HOST = {"kernel": "6.1", "driver": None}
EXPECTED = {
    "image_id": "sha256:1",
    "lock_sha256": "2",
    "cargo_sha256": "3",
    "backend": "cpu",
    "host": {"kernel": "6.1"},
}
IMAGE = {"lock_sha256": "2", "image_id": "sha256:1", "manifest_digest": "sha256:4", "diff_ids": ["sha256:5"]}
WHEN = "2026-11-30T12:00:00Z"


def record(path, *, start=None, finding="pass", suite="smoke", cut=False):
    lines = [
        {"kind": "start", "started_at": WHEN, **EXPECTED, "host": HOST, "protocol": {"suite": suite}} | (start or {}),
        {"kind": "finding", "status": finding},
        {"kind": "end", "counts": {"start": 1, "finding": 1}},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines[: 2 if cut else 3]), encoding="utf-8")
    return path


def test_a_whole_record_of_the_same_things_is_kept(tmp_path):
    records = kept(record(tmp_path / "r.jsonl"), EXPECTED, suite="smoke")

    assert [item["kind"] for item in records] == ["start", "finding", "end"]


def test_there_is_nothing_to_keep_where_there_is_no_record(tmp_path):
    assert kept(tmp_path / "absent.jsonl", EXPECTED) is None


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"start": {"image_id": "sha256:9"}}, id="another image"),
        pytest.param({"start": {"lock_sha256": "9"}}, id="another lock"),
        pytest.param({"start": {"cargo_sha256": "9"}}, id="other sources of the kit"),
        pytest.param({"start": {"backend": "rocm"}}, id="another backend"),
        pytest.param({"start": {"host": {"kernel": "6.2"}}}, id="another kernel"),
        pytest.param({"finding": "fail"}, id="a finding failed"),
        pytest.param({"finding": "timeout"}, id="a case ran into its deadline"),
        pytest.param({"suite": "quick"}, id="another suite"),
        pytest.param({"suite": "custom"}, id="a part of a suite, or a case of the user's own"),
        pytest.param({"cut": True}, id="cut off"),
    ],
)
def test_a_record_is_made_again_after_a_change(tmp_path, change):
    assert kept(record(tmp_path / "r.jsonl", **change), EXPECTED, suite="smoke") is None


def test_a_bundle_holds_the_records_that_it_was_sealed_from_and_no_others(tmp_path):
    report, results = tmp_path / "report.jsonl", tmp_path / "results.jsonl"
    report.write_bytes(b"one")
    results.write_bytes(b"two")
    sealed = json.dumps(IMAGE | {"built_at": "yesterday"}).encode()
    for path, data in ((layout.REPORT, b"one"), (layout.SAMPLES, streams.pack(b"two")), (layout.IMAGE, sealed)):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_bytes(data)

    assert holds(tmp_path, report, results, image=IMAGE | {"built_at": "today, after it had been removed"})
    for key in IMAGE:
        assert not holds(tmp_path, report, results, image=IMAGE | {key: "another"}), key
    assert not holds(tmp_path, report, report, image=IMAGE)
    (tmp_path / layout.IMAGE).write_bytes(b"{}")
    assert not holds(tmp_path, report, results, image=IMAGE)
    results.unlink()
    assert not holds(tmp_path, report, results, image=IMAGE)
