from http import HTTPStatus

import pytest

from images import leftovers
from images.endpoint import EngineError


class Pruning:
    """An engine of which only pruning is asked; it answers with one error."""

    def __init__(self, status):
        self.status, self.slow, self.asked = status, self, []

    def door(self, what):
        return _raised(EngineError(f"cannot {what}", status=self.status))

    def prune_images(self, filters):
        self.asked.append(filters)


class _raised:  # noqa: N801 -- a context manager, used like a function
    def __init__(self, error):
        self.error = error

    def __enter__(self):
        return self

    def __exit__(self, *_):
        raise self.error


def test_somebody_elses_pruning_is_no_error(tmp_path):
    engine = Pruning(HTTPStatus.CONFLICT)

    leftovers.clear(engine, tmp_path)

    assert engine.asked == [
        {"dangling": ["true"], "label": [leftovers.label(tmp_path)]},
        {"dangling": ["true"], "label": [leftovers.STEP_LABEL], "until": [leftovers.LONG_OVER]},
    ]


def test_any_other_refusal_is_told(tmp_path):
    with pytest.raises(EngineError, match="cannot remove what a build left behind"):
        leftovers.clear(Pruning(HTTPStatus.INTERNAL_SERVER_ERROR), tmp_path)
