import os
import subprocess
import sys
from pathlib import Path

import pytest

from pins import lock as locks
from pins.fetch import fetch
from pins.mirror import Mirrored
from pins.mirror import into_folder as mirror
from pins.mirror import mirror as mirror_anywhere
from pins.sources import Sources
from pins.store import Store
from schema.errors import KitError
from tests.pins.fakes_archive import BASE, host_root, lock_of

ROOT = Path(__file__).parents[2]
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


@pytest.mark.parametrize(
    ("where", "meant"),
    [
        ("https://127.0.0.1:5990/mine", "oci://127.0.0.1:5990/mine"),
        ("oci:127.0.0.1:5990/mine", "oci://127.0.0.1:5990/mine"),
        ("127.0.0.1:5990/mine", "oci://127.0.0.1:5990/mine"),
        ("registry.example:443/a/b", "oci://registry.example:443/a/b"),
        ("docker://host/a", "oci://host/a"),
    ],
)
def test_a_registry_that_is_named_otherwise_is_no_folder(store, tmp_path, monkeypatch, where, meant):
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())

    with pytest.raises(KitError) as refused:
        mirror_anywhere(lock_of(CONTENTS), store, where, progress=False)

    assert meant in refused.value.hint.split(",")[0].split()
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("where", ["mine", "./127.0.0.1:5990", "a/b:c"])
def test_any_other_name_is_a_folder(store, tmp_path, monkeypatch, where):
    monkeypatch.chdir(tmp_path)

    assert mirror_anywhere(lock_of(CONTENTS), store, where, progress=False).files == 2


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
    assert mirror(lock, store, tmp_path / "mirror", progress=False) == Mirrored(2, 3001, 3001)
    kept, broken = (tmp_path / "mirror" / entry["path"] for entry in lock.debs)
    before = kept.stat()
    broken.write_bytes(b"B")

    assert mirror(lock, store, tmp_path / "mirror", progress=False) == Mirrored(2, 3001, 1)
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
    with pytest.raises(KitError, match="small builds on an image, which a folder of files cannot hold") as caught:
        mirror(lock_of(contents, channel="amd", base=BASE), store, tmp_path / "mirror", progress=False)

    assert "oci://HOST/REPOSITORY" in caught.value.hint
    assert not (tmp_path / "mirror").exists()


KILLED = """
import os, sys
from pathlib import Path
from pins.lock import load
from pins.mirror import into_folder as mirror
from pins.mirror import mirror as mirror_anywhere
from pins.store import Store
os.fsync = lambda _file: os.kill(os.getpid(), 9)  # a file is written and has not its name yet
mirror(load(sys.argv[1]), Store(Path(sys.argv[2])), Path(sys.argv[3]), progress=False)
"""


def test_what_a_killed_mirror_leaves_is_gone_after_the_next_one(store, tmp_path):
    lock, target = lock_of(CONTENTS), tmp_path / "mirror"
    locks.write(lock.document, tmp_path / "small.lock.yaml")
    argv = [sys.executable, "-c", KILLED, tmp_path / "small.lock.yaml", store.root, target]
    assert subprocess.run(argv, cwd=ROOT, check=False).returncode == -9
    assert [path.name for path in target.rglob(".*")], "something is left"

    mirror(lock, store, target, progress=False)

    assert sorted(path.name for path in target.rglob("*") if path.is_file()) == [
        "SHA256SUMS",
        "aa_1.0-1_all.deb",
        "bb_1.0-1_all.deb",
    ]


SUMS = {
    "not UTF-8": b"\xff\xfe",
    "a line cut off": b"0" * 64 + b"  pool/x.deb",
    "a short sum": b"0" * 63 + b"  pool/x.deb\n",
    "a sum alone": b"0" * 64 + b"\n",
    "a sum of nothing": b"0" * 64 + b"  \n",
    "a page": b"<html>\n",
    "an empty line": b"\n",
    "bytes": bytes(range(256)),
}


@pytest.mark.parametrize("sums", SUMS.values(), ids=SUMS)
def test_damaged_sums_are_said_before_anything_is_copied_and_left_as_they_are(store, tmp_path, sums):
    target = tmp_path / "mirror"
    target.mkdir()
    (target / "SHA256SUMS").write_bytes(sums)

    with pytest.raises(KitError, match="SHA256SUMS is damaged") as caught:
        mirror(lock_of(CONTENTS), store, target, progress=False)

    assert "remove it" in caught.value.hint
    assert [(path.name, path.read_bytes()) for path in target.iterdir()] == [("SHA256SUMS", sums)]


@pytest.mark.parametrize("sums", [b"", b"0" * 64 + b"  pool/other.deb\n", b"0" * 64 + b" *pool/other.deb\n"])
def test_sums_of_others_are_kept(store, tmp_path, sums):
    target = tmp_path / "mirror"
    target.mkdir()
    (target / "SHA256SUMS").write_bytes(sums)

    mirror(lock_of(CONTENTS), store, target, progress=False)

    assert len((target / "SHA256SUMS").read_text().splitlines()) == (3 if sums else 2)


TARGETS = {  # sentence: (makes the target in a folder with the store and returns it, words)
    "a file": (lambda folder, _store: touched(folder / "file"), "file cannot be a folder: .*file is a file"),
    "a folder below a file": (lambda folder, _store: touched(folder / "file") / "x/y", "y cannot .*file is a file"),
    "a link to nothing": (lambda folder, _store: linked(folder / "link", "/nowhere/x"), "link is no folder"),
    "the cache itself": (lambda _folder, store: store.root, "would lie in the cache"),
    "a folder in the cache": (lambda _folder, store: store.root / "sha256/x", "would lie in the cache"),
    "a link into the cache": (lambda folder, store: linked(folder / "link", store.root), "would lie in the cache"),
    "a folder whose sums are a folder": (lambda folder, _store: made(folder / "m/SHA256SUMS").parent, "Is a directory"),
    "a folder whose sums are a pipe": (lambda folder, _store: piped(folder / "m/SHA256SUMS").parent, "no regular file"),
    "nobody's folder": (lambda _folder, _store: Path("/proc/nobody/x"), "cannot be written"),
}


def touched(path):
    path.touch()
    return path


def made(path):
    path.mkdir(parents=True)
    return path


def linked(path, to):
    path.symlink_to(to)
    return path


def piped(path):
    path.parent.mkdir()
    os.mkfifo(path)
    return path


@pytest.mark.parametrize(("target", "words"), TARGETS.values(), ids=TARGETS)
def test_where_no_mirror_can_be_is_said_with_a_remedy(store, tmp_path, target, words):
    before = sorted(store.root.rglob("*"))

    with pytest.raises(KitError, match=words) as caught:
        mirror(lock_of(CONTENTS), store, target(tmp_path, store), progress=False)

    assert caught.value.hint
    assert sorted(store.root.rglob("*")) == before
