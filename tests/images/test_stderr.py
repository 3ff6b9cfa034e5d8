"""A refusal of a run is told once, by the command; everything else is passed on as it comes."""

import pytest

from images.endpoint import EngineError
from images.stderr import MAX_MESSAGE_LINES, Stderr
from schema.errors import KitError

REFUSAL = ["error: own.py:3: no CASE", "", "hint: name it"]


def heard(lines, code=2):
    """Return what was passed on while the lines came, and at the end, and what was refused."""
    told, refused = [], None
    with Stderr(told.append) as said:
        for line in lines:
            said.hear(line)
        live = list(told)
        try:
            said.raise_refusal(code)
        except KitError as error:
            refused = (error.message, error.hint)
    return live, told[len(live) :], refused


@pytest.mark.parametrize(
    ("lines", "code", "live", "late", "refused"),
    [
        pytest.param(["a", *REFUSAL], 2, ["a"], [], ("own.py:3: no CASE", "name it"), id="refused"),
        pytest.param(["error: a", "b", "", "hint: c"], 2, [], [], ("a\nb", "c"), id="in two lines"),
        pytest.param(REFUSAL, 1, [], REFUSAL, None, id="another exit code"),
        pytest.param(REFUSAL[:2], 2, [], REFUSAL[:2], None, id="cut off"),
        pytest.param([*REFUSAL, "more"], 2, [*REFUSAL, "more"], [], None, id="not its last words"),
        pytest.param(["error: a", "", "on"], 2, ["error: a", "", "on"], [], None, id="no hint follows"),
        pytest.param([*REFUSAL, *REFUSAL], 2, REFUSAL, [], ("own.py:3: no CASE", "name it"), id="two, the last counts"),
        pytest.param(["x", "y"], 2, ["x", "y"], [], None, id="no error at all"),
    ],
)
def test_a_refusal_is_kept_for_the_command_and_the_rest_is_heard(lines, code, live, late, refused):
    assert heard(lines, code) == (live, late, refused)


def test_a_run_that_goes_on_after_an_error_is_heard_all_the_same():
    live, _, _ = heard(["error: x", *("working" for _ in range(3 * MAX_MESSAGE_LINES))])

    assert len(live) >= 3 * MAX_MESSAGE_LINES - 1


def test_the_last_lines_are_there_for_a_message():
    with Stderr(lambda _: None) as said:
        assert not said.last
        for number in range(50):
            said.hear(str(number))

    assert said.last.split() == [";", "it", "said", "last:", *(str(number) for number in range(30, 50))]


@pytest.mark.parametrize(
    ("error", "heard", "message"),
    [
        pytest.param(EngineError, ["loading"], "killed; it said last:\n  loading", id="the engine's"),
        pytest.param(EngineError, [], "killed", id="it said nothing"),
        pytest.param(KitError, ["loading"], "killed", id="ours, of something else"),
    ],
)
def test_what_ends_a_run_takes_along_what_it_said_last(error, heard, message):
    def end():
        with Stderr(lambda _: None) as said:
            for line in heard:
                said.hear(line)
            raise error("killed", "raise the deadline")

    with pytest.raises(error) as caught:
        end()

    assert caught.value.message == message
