from types import SimpleNamespace

import pytest

from images import hostfiles


def test_what_is_there_is_seen_and_read(tmp_path):
    (tmp_path / "x").write_text(" text\n")

    assert hostfiles.exists(tmp_path / "x")
    assert hostfiles.text_of(tmp_path / "x") == "text"
    assert hostfiles.matching(tmp_path, "?") == [tmp_path / "x"]


@pytest.mark.parametrize("path", ["absent", "file/below", "long" * 2000])
def test_what_is_not_there_is_no_error(tmp_path, path):
    (tmp_path / "file").touch()

    assert not hostfiles.exists(tmp_path / path)
    assert not hostfiles.text_of(tmp_path / path)


def test_what_is_closed_to_us_is_no_error(closed):
    assert not hostfiles.exists(closed / "x")
    assert not hostfiles.text_of(closed / "x")
    assert hostfiles.matching(closed / "x", "*") == []
    assert hostfiles.free_bytes(closed / "x" / "y") >= 0


def test_the_room_of_a_folder_that_is_not_there_is_that_of_the_nearest_above(tmp_path, monkeypatch):
    free = {tmp_path: 7}
    monkeypatch.setattr(hostfiles.shutil, "disk_usage", lambda path: SimpleNamespace(free=free[path]))

    assert hostfiles.free_bytes(tmp_path / "a" / "b") == 7
