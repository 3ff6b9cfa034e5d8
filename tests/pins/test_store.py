import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from pins import store as stores
from pins.store import Store, file_sha256, replacing
from schema.errors import KitError
from tests.pins.fakes_archive import sha256

ROOT = Path(__file__).parents[2]
CONTENT = b"some bytes"
NAME = sha256(CONTENT)


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "cache")


def put(store, content=CONTENT, name=NAME):
    store.part(name).write_bytes(content)
    return store.keep(name)


def test_a_file_lies_under_its_hash(store):
    path = put(store)

    assert path == store.root / "sha256" / NAME[:2] / NAME == store.path(NAME)
    assert path.read_bytes() == CONTENT
    assert store.has(NAME)
    assert not store.part(NAME).exists()


def test_an_absent_file_is_absent(store):
    assert not store.has(NAME)


def test_a_warm_file_is_not_read_again(store, monkeypatch):
    put(store)
    monkeypatch.setattr("pins.store.file_sha256", lambda path: pytest.fail(f"{path} was read"))

    assert store.has(NAME)


def test_a_changed_byte_is_found_told_and_thrown_away(store):
    path = put(store)
    path.chmod(0o644)
    path.write_bytes(b"some bytez")
    told = []

    assert not store.has(NAME, tell=told.append)
    assert told == [f"{path} is corrupt and was thrown away"]
    assert not path.exists()
    assert not store.has(NAME)


def test_a_changed_byte_with_the_old_time_is_found_too(store):
    path = put(store)
    before = path.stat()
    path.chmod(0o644)
    path.write_bytes(b"some bytez")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert not store.has(NAME)


def test_a_stamp_that_was_copied_along_proves_nothing(store, tmp_path):
    path = put(store)
    other = Store(tmp_path / "other")
    other.path(NAME).parent.mkdir(parents=True)
    other.path(NAME).write_bytes(b"some bytez")
    (other.path(NAME).parent / f"{NAME}.ok").write_bytes((path.parent / f"{NAME}.ok").read_bytes())

    assert not other.has(NAME)


@pytest.mark.parametrize("stamp", [b"", b"\xff", b"1 2 3 4"])
def test_a_broken_stamp_costs_one_reading(store, stamp):
    path = put(store)
    (path.parent / f"{NAME}.ok").write_bytes(stamp)

    assert store.has(NAME)
    assert (path.parent / f"{NAME}.ok").read_bytes() != stamp


@pytest.mark.parametrize("name", ["", "../../etc/passwd", NAME.upper(), NAME + "0", NAME + "\n"])
def test_only_a_sha256_names_a_file(store, name):
    with pytest.raises(KitError, match="this is not a sha256"):
        store.path(name)


def test_the_cache_is_where_the_variable_says(monkeypatch, tmp_path):
    monkeypatch.setenv("KIT_CACHE", str(tmp_path / "elsewhere"))
    assert Store().root == tmp_path / "elsewhere"

    monkeypatch.delenv("KIT_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Store().root == tmp_path / ".cache/rocm-repro-kit"


@pytest.fixture
def homeless(monkeypatch):
    """A user whom neither the environment nor the system gives a home."""
    monkeypatch.delenv("KIT_CACHE")
    monkeypatch.delenv("HOME")
    monkeypatch.setattr("pwd.getpwuid", lambda _: (_ for _ in ()).throw(KeyError("uid not found")))


@pytest.mark.usefixtures("homeless")
def test_a_user_without_a_home_needs_only_say_where_the_cache_is(tmp_path, monkeypatch):
    with pytest.raises(KitError, match=r"there is no folder ~/\.cache/rocm-repro-kit") as caught:
        Store()
    assert caught.value.hint == "set KIT_CACHE=DIR"
    assert Store(tmp_path).root == tmp_path

    monkeypatch.setenv("KIT_CACHE", str(tmp_path))
    assert Store().root == tmp_path


def test_a_home_of_nobody_is_refused(monkeypatch):
    monkeypatch.setenv("KIT_CACHE", "~no-such-user/cache")

    with pytest.raises(KitError, match="there is no folder ~no-such-user/cache"):
        Store()


def test_a_cache_that_cannot_be_made_names_the_setting(tmp_path):
    (tmp_path / "file").write_text("not a folder")

    with pytest.raises(KitError, match="cannot be written: Not a directory") as caught:
        Store(tmp_path / "file" / "cache").part(NAME)

    assert "KIT_CACHE=DIR" in caught.value.hint


def test_a_full_disk_is_called_full(store):
    error = store.broken(OSError(28, "No space left on device"))

    assert error.message == f"the disk of the cache {store.root} is full"


def test_free_bytes_are_known_before_the_folder_is_there(store):
    assert store.free_bytes() > 0
    assert not store.root.exists()


def test_a_stamp_that_cannot_be_written_changes_no_answer(store):
    path = put(store)
    (path.parent / f"{NAME}.ok").unlink()
    (path.parent / f".{NAME}.ok.part").mkdir()

    assert store.has(NAME)


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(TypeError), replacing(path) as part:
        part.write("text where bytes belong")
    assert (path.read_text(), len(list(tmp_path.iterdir()))) == ("old", 1)

    with replacing(path) as part:
        part.write(b"new")
    assert path.read_text() == "new"


@pytest.fixture
def umask():
    before = os.umask(0)
    yield os.umask
    os.umask(before)


@pytest.mark.parametrize(("mask", "file", "stored"), [(0o022, 0o644, 0o444), (0o077, 0o600, 0o400), (0, 0o666, 0o444)])
def test_who_may_read_what_is_written_is_the_user_s_to_say(store, tmp_path, umask, mask, file, stored):
    umask(mask)
    with replacing(tmp_path / "file") as part:
        part.write(b"new")

    assert (tmp_path / "file").stat().st_mode & 0o777 == file
    assert put(store).stat().st_mode & 0o777 == stored


def test_a_stamp_waits_for_no_disk_and_everything_else_does(store, tmp_path, monkeypatch):
    path = put(store)
    synced = []
    monkeypatch.setattr(stores.os, "fsync", synced.append)

    (path.parent / f"{NAME}.ok").unlink()
    assert store.has(NAME)
    assert ((path.parent / f"{NAME}.ok").exists(), synced) == (True, [])
    with replacing(tmp_path / "file"):
        pass
    assert len(synced) == 1


@pytest.fixture
def common():
    """A folder of a user who is not root; root is that user meanwhile."""
    user = os.geteuid()
    with tempfile.TemporaryDirectory() as folder:
        if user == 0:
            os.chown(folder, 65534, -1)
            os.seteuid(65534)
        yield Path(folder)
        os.seteuid(user)


KEEPING = [(Path, "replace"), (Path, "chmod"), (stores, "_sync_folder"), (Store, "_write_stamp")]


@pytest.mark.parametrize("step", KEEPING, ids=lambda step: step[1])
def test_wherever_the_kit_is_killed_while_it_keeps_a_file_its_user_can_go_on(common, step):
    store = Store(common)

    def killed(*_):
        raise KeyboardInterrupt

    def put_and_killed():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(*step, killed)
            put(store)

    with pytest.raises(KeyboardInterrupt):
        put_and_killed()

    can_be_written = os.access(common / "parts" / NAME, os.W_OK, effective_ids=True)
    assert (store.has(NAME), can_be_written) == ((True, False) if step[1] != "replace" else (False, True))


def test_a_part_that_cannot_be_written_is_gone_on_with(common):
    store = Store(common)
    store.part(NAME).write_bytes(CONTENT[:3])
    store.part(NAME).chmod(0o444)

    with store.part(NAME).open("ab") as part:
        part.write(CONTENT[3:])

    assert store.keep(NAME).read_bytes() == CONTENT


KILLED = """
import os, sys
from pathlib import Path
from pins.store import replacing
with replacing(Path(sys.argv[1])) as part:
    part.write(b"half")
    part.flush()
    os.kill(os.getpid(), 9)
"""


def test_what_a_killed_writer_leaves_is_gone_with_the_next_one(tmp_path):
    path = tmp_path / "file"
    for _ in range(3):
        subprocess.run([sys.executable, "-c", KILLED, path], cwd=ROOT, check=False)
    assert [found.name for found in tmp_path.iterdir()] == [".file.part"], "three killed writers leave one file"

    with replacing(path) as part:
        part.write(b"new")

    assert [(found.name, found.read_bytes()) for found in tmp_path.iterdir()] == [("file", b"new")]


def test_two_writers_of_one_file_write_one_after_the_other(tmp_path):
    path, inside = tmp_path / "file", []

    def write(number):
        with replacing(path) as part:
            inside.append(number)
            for _ in range(100):
                part.write(bytes([number]) * 1000)
                part.flush()
            assert inside.pop() == number, "another one was let in"

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert (len(set(path.read_bytes())), path.stat().st_size, len(list(tmp_path.iterdir()))) == (1, 100_000, 1)


def test_hashing_reads_every_chunk(tmp_path):
    content = os.urandom((2 << 20) + 17)
    (tmp_path / "file").write_bytes(content)

    assert file_sha256(tmp_path / "file") == sha256(content)
