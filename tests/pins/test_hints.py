"""A text that names a command names one that there is, in the one way in which people call it."""

import ast
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
    known = {flag.replace("-", "_") for argument in COMMANDS[command].get_arguments() for flag in argument.names}

    assert {option.removeprefix("--").replace("-", "_") for option in options} <= known


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_command_is_named_as_people_call_it(path):
    assert OTHERWISE.findall(path.read_text(encoding="utf-8")) == []


def without_a_hint(path):
    """Yield the lines at which an error for a person is raised without a second word: what to do."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in {"KitError", "EngineError"}:
            hint = node.args[1] if len(node.args) > 1 else None
            if hint is None or (isinstance(hint, ast.Constant) and not hint.value):
                yield node.lineno


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_error_says_what_to_do(path):
    assert [*without_a_hint(path)] == []
