"""The cargo is the same bytes from every machine, and readable by any user."""

import hashlib
import io
import json
import shutil
import tarfile

import pytest

from images import cargo
from schema import sources
from schema.canon import digest
from schema.errors import KitError
from tests.fakes import unpack

LOCK = {"name": "x", "rocm": "5.10"}
CONTEXT = {"backend": "cpu", "runtime": "container"}


def test_the_cargo_holds_the_sources_and_what_the_run_is_about():
    files = unpack(cargo.pack(LOCK, CONTEXT, {"mine.py": b"pass"})[0])

    assert set(files) == {*sources.files(), "lock.json", "context.json", "case/mine.py"}
    assert json.loads(files["context.json"]) == CONTEXT


def test_the_lock_travels_in_the_bytes_that_its_digest_is_over():
    files = unpack(cargo.pack(LOCK, CONTEXT)[0])

    assert hashlib.sha256(files["lock.json"]).hexdigest() == digest(LOCK)


def test_k_is_over_the_sources_alone():
    assert cargo.pack(LOCK, CONTEXT, {"a": b"1"})[1] == cargo.pack(None, {}, {})[1] == sources.digest()


def test_times_modes_and_owners_of_the_checkout_leave_no_trace(tmp_path):
    for package in sources.PACKAGES:
        shutil.copytree(sources.ROOT / package, tmp_path / package, copy_function=shutil.copyfile)
    for path in tmp_path.rglob("*"):
        path.chmod(0o700)

    assert cargo.pack(LOCK, CONTEXT, root=tmp_path) == cargo.pack(LOCK, CONTEXT)


def test_entries_are_sorted_old_and_readable_by_anyone():
    with tarfile.open(fileobj=io.BytesIO(cargo.pack(LOCK, CONTEXT, {"a/b.txt": b""})[0])) as tar:
        entries = tar.getmembers()
    names = [entry.name for entry in entries]

    assert names == sorted(names, key=str.encode)
    assert {(e.uid, e.gid, e.uname, e.gname, e.mtime) for e in entries} == {(0, 0, "", "", 0)}
    assert {(e.isdir(), e.mode) for e in entries} == {(True, 0o755), (False, 0o644)}


def test_every_folder_comes_before_its_files():
    with tarfile.open(fileobj=io.BytesIO(cargo.archive({"a/b/c": b"x"}))) as tar:
        assert tar.getnames() == ["a", "a/b", "a/b/c"]


@pytest.mark.parametrize("name", ["/etc/passwd", "../x", "a/../../x", ""])
def test_a_file_that_would_leave_its_folder_is_refused(name):
    with pytest.raises(KitError, match="leaves the case's folder"):
        cargo.pack(None, {}, {name: b""})
