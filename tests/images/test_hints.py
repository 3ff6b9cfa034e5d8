"""A hint names a command that is there, as a person would type it."""

import re
from pathlib import Path

import pytest

import tasks

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
