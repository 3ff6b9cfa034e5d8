"""Everything in pins that looks whether a path is there, for a user who may not look."""

import errno
from pathlib import Path

import pytest

from pins import archives, choice, lock
from pins.host import Host, look
from pins.paths import is_folder, matching, there
from pins.sources import Sources
from pins.store import Store
from schema.errors import KitError
from tests.pins.fakes_archive import deb, document

NOTHING = Host(has_kfd=False, gfx=(), nvidia=False, topology=False)


@pytest.fixture
def closed(tmp_path, monkeypatch):
    """A folder that may not be entered. root may enter any, so the refusal is played, at the door that all use."""
    folder = tmp_path / "closed"
    real = Path.stat

    def stat(path, **more):
        if folder in path.parents:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return real(path, **more)

    monkeypatch.setattr(Path, "stat", stat)
    return folder


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
