from http import HTTPStatus

import pytest

from images import leftovers
from images.endpoint import EngineError
from tests.fakes import FakeEngine


class Refusing(FakeEngine):
    """An engine that refuses to prune, with one HTTP status."""

    def __init__(self, status):
        super().__init__()
        self.status = status

    def prune(self, label, *, older_s=0):
        super().prune(label, older_s=older_s)
        raise EngineError("cannot remove what a build left behind", status=self.status)


def test_steps_of_this_folder_go_at_once_and_those_of_others_when_they_are_long_over(tmp_path):
    engine = FakeEngine()

    leftovers.clear(engine, tmp_path)

    assert engine.pruned == [(leftovers.label(tmp_path), 0), (leftovers.STEP_LABEL, leftovers.LONG_OVER_S)]


def test_somebody_elses_pruning_is_no_error(tmp_path):
    leftovers.clear(Refusing(HTTPStatus.CONFLICT), tmp_path)


def test_any_other_refusal_is_told(tmp_path):
    with pytest.raises(EngineError, match="cannot remove what a build left behind"):
        leftovers.clear(Refusing(HTTPStatus.INTERNAL_SERVER_ERROR), tmp_path)


def test_every_folder_of_every_machine_has_a_mark_of_its_own(tmp_path, monkeypatch):
    (tmp_path / "link").symlink_to(tmp_path / "a")
    marks = [leftovers.mark(tmp_path / name) for name in ("a", "b")]
    assert leftovers.mark(tmp_path / "link") == marks[0]
    monkeypatch.setattr(leftovers.platform, "node", lambda: "another")

    assert len({*marks, leftovers.mark(tmp_path / "a")}) == 3
