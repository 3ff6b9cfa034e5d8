"""A hint names a command that is there, as a person would type it."""

import re
from pathlib import Path

import pytest

import tasks
from tests.pins.test_hints import without_a_hint

SOURCES = sorted((Path(__file__).parents[2] / "images").glob("*.py"))
COMMAND = re.compile(r"\./kit (?:--setup )?([a-z]+)((?: --[a-z-]+)*)")


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_every_command_in_a_message_is_one_of_ours(path):
    text = path.read_text(encoding="utf-8")

    for name, options in COMMAND.findall(text):
        known = {flag for argument in getattr(tasks, name).get_arguments() for flag in _flags(argument)}
        assert set(options.split()) <= known, f"./kit {name}{options}"
    assert "invoke " not in text, "the command line is ./kit, whatever it is made with"


def _flags(argument):
    return [f"--{name.replace('_', '-')}" for name in argument.names]


#: What is wrong inside an archive or a package; who opens one (`archive.opened`, `write_first_layer`) says what to do.
INSIDE = {"archive.py", "deb.py", "layers.py", "normal.py", "rootfs.py", "tar.py"}


@pytest.mark.parametrize("path", [path for path in SOURCES if path.name not in INSIDE], ids=lambda path: path.name)
def test_every_error_says_what_to_do(path):
    assert [*without_a_hint(path)] == []
