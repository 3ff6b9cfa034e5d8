import json
import stat
from types import SimpleNamespace

import pytest

from images import record
from schema.errors import KitError

DIGEST = "sha256:" + "1" * 64
IMAGE = {
    "schema": "image-1", "name": "small", "reference": "rocm-repro-kit:small", "channel": "debian",
    "lock_sha256": "a" * 64, "platform": "linux/amd64", "image_id": DIGEST, "manifest_digest": DIGEST,
    "diff_ids": [DIGEST], "size_bytes": 1, "engine_id": DIGEST,
    "engine": {"name": "docker", "version": "20.10", "storage": "overlay2"}, "base": None,
    "built_at": "2026-01-01T00:00:00Z", "build_seconds": 1.5, "built_twice": None,
}  # fmt: skip


def test_a_record_is_written_whole_and_read_back(tmp_path):
    record.write(IMAGE, tmp_path / "deep" / "image.json")

    assert record.read(tmp_path / "deep" / "image.json") == IMAGE
    assert stat.S_IMODE((tmp_path / "deep" / "image.json").stat().st_mode) == 0o644
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["image.json"]


def test_what_is_no_record_is_never_written(tmp_path):
    with pytest.raises(KitError, match="image-1"):
        record.write(IMAGE | {"image_id": "latest"}, tmp_path / "image.json")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(KitError, match="cannot write"):
        record.write(IMAGE, tmp_path / "file" / "image.json")


@pytest.mark.parametrize(
    ("committed", "fields"),
    [
        (None, []),
        ({}, []),
        ({"engine": IMAGE["engine"] | {"version": "28.5"}, "build_seconds": 9.0}, []),
        ({"image_id": "sha256:" + "2" * 64, "size_bytes": 2}, ["image_id", "size_bytes"]),
        ({"image_id": "sha256:" + "2" * 64, "lock_sha256": "b" * 64}, []),
    ],
    ids=["nothing committed", "the same", "another engine", "another image", "another lock"],
)
def test_an_image_is_held_against_the_identity_committed_beside_its_lock(tmp_path, committed, fields):
    if committed is not None:
        (tmp_path / "small.image.json").write_text(json.dumps(IMAGE | committed))

    assert [one["field"] for one in record.unexpected(IMAGE, tmp_path)] == fields


@pytest.mark.parametrize(
    ("lock_sha256", "found"),
    [("a" * 64, IMAGE), ("b" * 64, None), (None, None)],
    ids=["of this very lock", "of another lock", "nothing committed"],
)
def test_the_identity_committed_for_a_lock_is_found(tmp_path, lock_sha256, found):
    if lock_sha256:
        (tmp_path / "small.image.json").write_text(json.dumps(IMAGE | {"lock_sha256": lock_sha256}))

    assert record.committed(SimpleNamespace(name="small", sha256="a" * 64), tmp_path) == (found and IMAGE)


@pytest.mark.parametrize(
    ("twice", "code"),
    [
        (None, 0),
        ({"identical": True, "differences": []}, 0),
        ({"identical": False, "differences": []}, 1),
    ],
)
def test_exit_codes(twice, code):
    assert record.exit_code(IMAGE | {"built_twice": twice}) == code


def test_another_image_than_the_committed_one_exits_1_and_is_in_the_answer(monkeypatch):
    surprise = [{"path": "small.image.json", "field": "image_id", "committed": "x", "built": "y"}]
    monkeypatch.setattr(record, "unexpected", lambda _image: surprise)

    assert record.exit_code(IMAGE) == 1
    assert record.answer(IMAGE, built=True)["unexpected"] == surprise
