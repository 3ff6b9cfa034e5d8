"""A text that names a command names one that there is, in the one way in which people call it."""

import re
from pathlib import Path

import pytest
from invoke.collection import Collection

import pins
import tasks

FILES = sorted(Path(pins.__file__).parent.glob("*.py"))
CALL = re.compile(r"\./kit ([a-z]+)((?:(?!\./kit)[^\n])*)")
OTHERWISE = re.compile(r"\binvoke [a-z]|(?<!\./)\bkit (?:lock|fetch|mirror|build|doctor)\b|run `")
COMMANDS = Collection.from_module(tasks)


def calls():
    for path in FILES:
        for command, rest in CALL.findall(path.read_text(encoding="utf-8")):
            yield pytest.param(command, re.findall(r"--[a-z-]+", rest), id=f"{path.stem}: {command}{rest[:40]}")


@pytest.mark.parametrize(("command", "options"), [*calls()])
def test_a_command_that_is_named_is_there_with_its_options(command, options):
    assert command in COMMANDS.task_names
    known = {flag for argument in COMMANDS[command].get_arguments() for flag in argument.names}

    assert {option.removeprefix("--").replace("-", "_") for option in options} <= known


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_command_is_named_as_people_call_it(path):
    assert OTHERWISE.findall(path.read_text(encoding="utf-8")) == []
