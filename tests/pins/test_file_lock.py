import threading

import pytest

from pins.file_lock import alone
from pins.store import replacing


def test_one_at_a_time_has_the_file_and_the_other_is_told_that_it_waits(tmp_path):
    order, waits = [], threading.Event()

    def second():
        with alone(tmp_path / "file", on_wait=waits.set) as file:
            order.append(file.read())

    with alone(tmp_path / "file", on_wait=lambda: order.append("nobody else is here")) as file:
        thread = threading.Thread(target=second)
        thread.start()
        assert waits.wait(10)
        file.write(b"mine")
    thread.join(10)

    assert order == [b"mine"]


def test_who_waited_for_a_file_that_was_moved_away_gets_a_new_one(tmp_path):
    path, found, waits = tmp_path / "file", [], threading.Event()

    def second():
        with alone(path, on_wait=waits.set) as file:
            found.append(file.read())

    with alone(path) as file:
        thread = threading.Thread(target=second)
        thread.start()
        assert waits.wait(10)
        file.write(b"finished")
        path.rename(tmp_path / "finished")
    thread.join(10)

    assert found == [b""]
    assert (tmp_path / "finished").read_bytes() == b"finished"


def test_a_link_in_the_place_of_the_file_is_not_followed(tmp_path):
    (tmp_path / "somebodys").write_bytes(b"theirs")
    for name in ("file", ".le.part"):
        (tmp_path / name).symlink_to("somebodys")

    with pytest.raises(OSError, match="symbolic links"), alone(tmp_path / "file"):
        pass
    with pytest.raises(OSError, match="symbolic links"), replacing(tmp_path / "le") as part:
        part.write(b"ours")

    assert (tmp_path / "somebodys").read_bytes() == b"theirs"
