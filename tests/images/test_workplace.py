import threading

import pytest

from images import workplace
from schema.errors import KitError


def test_one_works_in_a_folder_at_a_time_and_the_other_is_told(tmp_path):
    told, order = [], []
    waiting = threading.Event()

    def second():
        with workplace.held(tmp_path, lambda text: (told.append(text), waiting.set())):
            order.append("second")

    with workplace.held(tmp_path, pytest.fail):
        thread = threading.Thread(target=second)
        thread.start()
        assert waiting.wait(10)
        order.append("first")
    thread.join(10)

    assert order == ["first", "second"]
    assert told == [f"waiting for another build in {tmp_path}"]


def test_what_the_dead_left_is_removed_and_all_else_stays(tmp_path):
    (tmp_path / ".tmp-x" / "deep").mkdir(parents=True)
    (tmp_path / ".tmp-y").write_bytes(b"")
    (tmp_path / "report.jsonl").write_bytes(b"")

    with workplace.held(tmp_path, pytest.fail):
        assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", "report.jsonl"]


def test_a_temporary_folder_is_gone_even_after_an_error(tmp_path):
    def fail():
        with workplace.temporary(tmp_path) as folder:
            (folder / "large").write_bytes(b"x")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_or_a_file_in_the_way_ends_in_one_message(tmp_path):
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(KitError, match="cannot work in"), workplace.held(tmp_path / "file", pytest.fail):
        pass


def test_a_full_disk_during_the_work_ends_in_one_message(tmp_path):
    with pytest.raises(KitError, match="No space left"), workplace.held(tmp_path, pytest.fail):
        raise OSError(28, "No space left on device")
