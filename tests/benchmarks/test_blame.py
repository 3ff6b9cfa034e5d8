"""The place in a user's file, from whatever points into it."""

import faulthandler

import pytest

from benchmarks import blame

SOURCE = """import json


def outer(what):
    return inner(what)


def inner(what):
    return json.loads(what)
"""


def module(tmp_path):
    path = str(tmp_path / "own.py")
    names = {}
    exec(compile(SOURCE, path, "exec"), names)
    return path, names


def test_an_error_is_placed_at_the_last_step_inside_the_file(tmp_path):
    path, names = module(tmp_path)

    try:
        names["outer"]("{")
    except ValueError as error:
        seen = blame.of_error(error, path), blame.of_error(error, "/elsewhere/other.py")

    assert seen == ("own.py:9", "other.py")


def test_a_syntax_error_is_placed_where_it_is_and_only_in_its_own_file(tmp_path):
    path = str(tmp_path / "own.py")

    try:
        compile("x = 1\ny = (", path, "exec")
    except SyntaxError as error:
        seen = blame.of_error(error, path), blame.of_error(error, "/elsewhere/other.py")

    assert seen == ("own.py:2", "other.py")


def test_a_function_is_placed_where_it_begins(tmp_path):
    path, names = module(tmp_path)

    assert blame.of_function(names["inner"], path) == "own.py:8"
    assert [blame.of_function(odd, path) for odd in (len, 3, blame.of_error)] == ["own.py"] * 3


def test_of_stacks_the_innermost_place_counts_and_what_was_printed_before_does_not():
    lines = [
        'File "/a/own.py", line 1, in a traceback of before',
        "Current thread 0x1 (most recent call first):",
        '  File "/lib/torch.py", line 99 in matmul',
        '  File "/a/own.py", line 14 in inner',
        '  File "/a/own.py", line 20 in step',
    ]

    assert blame.of_stack(lines, "/a/own.py") == "own.py:14"
    assert blame.of_stack(lines[:1], "/a/own.py") == "own.py"


@pytest.mark.parametrize(
    "path", ["/a/own.py", "/a/café.py", "/a/łódź/own.py", "/a/😀 own.py", "/a/caf\udce9.py", f"/{'x' * 600}/own.py"]
)
def test_the_stacks_that_faulthandler_writes_are_understood_whatever_the_path(tmp_path, path):
    with (tmp_path / "stacks").open("w+") as stacks:
        names = {"dump": lambda: faulthandler.dump_traceback(stacks)}
        exec(compile("def step():\n    dump()\n\nstep()", path, "exec"), names)
        stacks.seek(0)
        lines = stacks.read().splitlines()

    assert blame.of_stack(lines, path) == f"{path.rpartition('/')[2]}:2"
    assert blame.of_stack(lines, "/a/other.py") == "other.py"
