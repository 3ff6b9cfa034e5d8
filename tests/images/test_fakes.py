"""The fake engine has the real one's interface."""

import inspect

import pytest

from images.engine import Engine
from tests.fakes import FakeEngine

METHODS = sorted(name for name, _ in inspect.getmembers(Engine, inspect.isfunction) if not name.startswith("_"))


def shape(method):
    return [(item.name, item.kind, item.default) for item in inspect.signature(method).parameters.values()]


@pytest.mark.parametrize("name", METHODS)
def test_a_method_of_the_fake_takes_what_the_real_one_takes(name):
    assert shape(getattr(FakeEngine, name)) == shape(getattr(Engine, name))


def test_the_fake_has_no_method_that_the_real_one_lacks():
    ours = {name for name, _ in inspect.getmembers(FakeEngine, inspect.isfunction) if not name.startswith("_")}

    assert ours == set(METHODS)
