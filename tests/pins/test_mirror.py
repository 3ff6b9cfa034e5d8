import subprocess

import pytest

from pins.fetch import fetch
from pins.mirror import mirror
from pins.sources import Sources
from pins.store import Store
from schema.errors import KitError
from tests.pins.fakes_archive import BASE, host_root, lock_of

CONTENTS = {"aa": b"a" * 3000, "bb": b"b"}


@pytest.fixture
def store(tmp_path, archive):
    found = Store(tmp_path / "cache")
    lock = archive.add(lock_of(CONTENTS), CONTENTS)
    fetch(lock, found, progress=False, sources=Sources(host_root(tmp_path / "root", archive.url)))
    return found


def test_a_mirror_is_a_source(store, tmp_path, monkeypatch):
    lock = lock_of(CONTENTS)
    mirror(lock, store, tmp_path / "mirror", progress=False)
    monkeypatch.setenv("KIT_SOURCE", str(tmp_path / "mirror"))

    other = Store(tmp_path / "other")
    fetch(lock, other, progress=False, sources=Sources(tmp_path / "bare"))

    assert all(other.has(entry["sha256"]) for entry in lock.debs)


def test_its_sums_are_those_that_sha256sum_checks(store, tmp_path):
    mirror(lock_of(CONTENTS), store, tmp_path / "mirror", progress=False)

    done = subprocess.run(
        ["sha256sum", "--check", "--strict", "SHA256SUMS"],
        cwd=tmp_path / "mirror",
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.count(": OK")) == (0, 2), done.stderr


def test_what_is_there_and_right_is_left_alone_and_the_rest_mended(store, tmp_path):
    lock = lock_of(CONTENTS)
    mirror(lock, store, tmp_path / "mirror", progress=False)
    kept, broken = (tmp_path / "mirror" / entry["path"] for entry in lock.debs)
    before = kept.stat()
    broken.write_bytes(b"B")

    mirror(lock, store, tmp_path / "mirror", progress=False)

    assert kept.stat() == before
    assert broken.read_bytes() == b"b"


def test_locks_share_a_folder(store, tmp_path):
    mirror(lock_of({"aa": CONTENTS["aa"]}), store, tmp_path / "mirror", progress=False)
    mirror(lock_of({"bb": CONTENTS["bb"]}), store, tmp_path / "mirror", progress=False)

    assert len((tmp_path / "mirror/SHA256SUMS").read_text().splitlines()) == 2


def test_it_needs_what_the_store_lacks(tmp_path):
    with pytest.raises(KitError, match=r"the store has no aa_1\.0-1_all\.deb"):
        mirror(lock_of(CONTENTS), Store(tmp_path / "empty"), tmp_path / "mirror", progress=False)

    assert not list((tmp_path / "mirror").rglob("*.deb"))


@pytest.mark.parametrize("contents", [{}, CONTENTS], ids=["an image alone", "packages on an image"])
def test_an_image_is_not_mirrored_and_this_is_said(store, tmp_path, contents):
    with pytest.raises(KitError, match="small builds on an image, and this version does not mirror images") as caught:
        mirror(lock_of(contents, channel="amd", base=BASE), store, tmp_path / "mirror", progress=False)

    assert f"rocm/pytorch@{BASE['digest']}" in caught.value.hint
    assert not (tmp_path / "mirror").exists()


def test_a_folder_that_cannot_be_written_is_named(store, tmp_path):
    (tmp_path / "file").write_text("")

    with pytest.raises(KitError, match=r"the mirror .*/file/x cannot be written"):
        mirror(lock_of(CONTENTS), store, tmp_path / "file" / "x", progress=False)
