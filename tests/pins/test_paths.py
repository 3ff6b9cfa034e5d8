"""Everything in pins that looks whether a path is there, for a user who may not look."""

import os
import socket
from pathlib import Path
from types import SimpleNamespace

import pytest

from pins import archives, choice, lock
from pins.host import Host, look
from pins.paths import can_write, disk_of, free_bytes, is_folder, matching, opened, text_of, there
from pins.sources import Sources
from pins.store import Store, file_sha256
from schema.errors import KitError
from tests.pins.fakes_archive import deb, document, lock_of

NOTHING = Host(has_kfd=False, gfx=(), nvidia=False, topology=False)


@pytest.fixture(scope="module", autouse=True)
def loaded():
    """Use once what checks a lock: the user of a closed folder may not be let into ours, either."""
    lock_of({"aa": b"x"})


def test_what_is_there_is_seen_and_what_is_not_is_not(tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / "a").touch()

    assert [(there(path), is_folder(path)) for path in (tmp_path / "a", tmp_path / "b", tmp_path / "c")] == [
        (True, False),
        (True, True),
        (False, False),
    ]
    assert matching(tmp_path, "*") == [tmp_path / "a", tmp_path / "b"]
    assert not there(Path("a\0b"))


def test_what_may_not_be_seen_is_not_there(closed):
    assert (there(closed / "x"), is_folder(closed / "x"), matching(closed / "x", "*")) == (False, False, [])
    assert text_of(closed / "x") == ""
    assert free_bytes(closed / "x" / "y") > 0
    assert not can_write(closed / "x")


@pytest.mark.parametrize(
    ("path", "can"),
    [("", True), ("not/yet", True), ("file", False), ("file/below", False), ("/proc/x", False), ("/sys/x", False)],
)
def test_where_files_could_be_made_is_known_without_making_any(tmp_path, path, can):
    (tmp_path / "file").touch()

    assert can_write(tmp_path / path) is can
    assert [found.name for found in tmp_path.iterdir()] == ["file"]


def test_paths_that_are_not_there_are_on_the_disk_of_what_is_above(tmp_path):
    assert disk_of(tmp_path / "a" / "b") == disk_of(tmp_path) != disk_of(Path("/proc/x"))


@pytest.mark.parametrize("path", ["absent", "file/below", "long" * 2000])
def test_what_is_not_there_has_no_text(tmp_path, path):
    (tmp_path / "file").write_text(" text\n")

    assert not there(tmp_path / path)
    assert (text_of(tmp_path / path), text_of(tmp_path / "file")) == ("", "text")


def test_the_room_of_a_folder_that_is_not_there_is_that_of_the_nearest_above(tmp_path, monkeypatch):
    free = {tmp_path: 7}
    monkeypatch.setattr("pins.paths.shutil.disk_usage", lambda path: SimpleNamespace(free=free[path]))

    assert free_bytes(tmp_path / "a" / "b") == 7


def test_a_machine_that_may_not_be_looked_at_has_nothing(closed):
    assert look(closed / "root") == NOTHING
    assert archives.find(closed / "root") == {"debian": [], "debian-security": []}


def test_a_source_that_may_not_be_looked_at_is_no_source(closed, monkeypatch):
    monkeypatch.setenv("KIT_SOURCE", str(closed / "mirror"))

    with pytest.raises(KitError, match="neither a folder nor a web address"):
        Sources(closed)


def test_locks_that_may_not_be_looked_at_are_not_there(closed):
    with pytest.raises(KitError, match="no lock small"):
        choice.find(NOTHING, lock="small", folder=closed / "pins")
    with pytest.raises(KitError, match="no locks"):
        choice.find(NOTHING, folder=closed / "pins")
    with pytest.raises(KitError, match=r"cannot read .*: Permission denied"):
        lock.load(closed / "pins/small.lock.yaml")


def test_a_pin_that_may_not_be_looked_at_makes_nothing_stale(closed):
    found = lock.from_document(document([deb("aa", b"x")]), closed / "pins/small.lock.yaml")

    assert lock.fresh(found) is found


def test_a_cache_that_may_not_be_looked_at_has_the_room_of_what_is_above_it(closed):
    assert Store(closed / "cache").free_bytes() > 0


NO_FILES = {  # sentence: how to make one at a path
    "a pipe": os.mkfifo,
    "a folder": Path.mkdir,
    "a device without an end": lambda path: path.symlink_to("/dev/zero"),
    "a terminal or nothing": lambda path: path.symlink_to("/dev/null"),
    "a socket": lambda path: socket.socket(socket.AF_UNIX).bind(str(path)),
    "nothing": lambda _path: None,
    "a link to itself": lambda path: path.symlink_to(path),
}


@pytest.mark.parametrize("make", NO_FILES.values(), ids=NO_FILES)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the socket that stays open
def test_what_is_no_file_is_not_read_and_nobody_waits_for_it(tmp_path, make):
    make(tmp_path / "x")

    with pytest.raises(OSError):
        opened(tmp_path / "x")
    with pytest.raises(OSError):
        file_sha256(tmp_path / "x")
    with pytest.raises(KitError, match=r"cannot read .*/x: \w+") as caught:
        lock.read_yaml(tmp_path / "x")
    assert caught.value.hint


def test_a_file_is_read_through_a_link(tmp_path):
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "link").symlink_to("file")

    with opened(tmp_path / "link") as file:
        assert file.read() == b"x"
