"""A remedy names a command that there is: each is parsed by the command line's own parser."""

import ast
import re
from pathlib import Path

import pytest
from invoke.collection import Collection
from invoke.parser import Parser

import tasks
import validate

ROOT = Path(validate.__file__).parent
SOURCES = [*ROOT.rglob("*.py"), ROOT.parent / "bundle/junit.py"]


def texts():
    """Return every text in the sources."""
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield path, node.value


COMMANDS = sorted({line for _, text in texts() for line in re.findall(r"`\./kit ([^`]+)`", text)})


def test_there_are_commands_to_look_at():
    assert "validate" in COMMANDS


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_that_is_advised_can_be_typed(line):
    found = Parser(contexts=Collection.from_module(tasks).to_contexts()).parse_argv(line.split())

    assert [context.name for context in found] == [line.split()[0]]
    assert found.unparsed == []


def test_every_command_of_ours_stands_between_marks_and_is_called_kit():
    loose = [(path.name, text) for path, text in texts() if re.search(r"(?<!`)\./kit|\binvoke [a-z]", text)]

    assert loose == []
