import contextlib
import io
import os
import pty
import re
import time

import pytest

from pins import progress
from pins.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(progress, "LINE_EVERY_S", 0.02)
    monkeypatch.setattr(progress, "BAR_EVERY_S", 0.02)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)


def run(stream, **more):
    with Progress("fetch", 2e6, unit="B", stream=stream, **more) as shown:
        shown.advance(1e6)
        while shown.shown and not shown.lines:
            pass
        shown.advance(1e6)
    return stream.getvalue()


def test_without_a_terminal_it_writes_plain_lines():
    lines = run(io.StringIO()).splitlines()

    assert re.fullmatch(r"fetch: 1\.0 MB of 2\.0 MB \(50%\), 0 s, [0-9.]+ [kMG]B/s", lines[0])
    assert re.fullmatch(r"fetch: 2\.0 MB of 2\.0 MB \(100%\), 0 s, [0-9.]+ [kMG]B/s", lines[-1])


TOLD = [
    pytest.param({}, 0, "dpkg: 0 s", id="no total and nothing done yet"),
    pytest.param({"unit": "B"}, 0, "dpkg: 0 s", id="no bytes have come yet"),
    pytest.param({}, 3, "dpkg: 3, 0 s", id="no total"),
    pytest.param({"total": 4, "unit": "steps"}, 3, "dpkg: 3 of 4 steps (75%), 0 s", id="some of many"),
    pytest.param({"total": 1000, "unit": "steps"}, 999, "dpkg: 999 of 1000 steps (99%), 0 s", id="nearly all"),
    pytest.param({"total": 4, "then": "byte code"}, 4, "dpkg: byte code, 0 s", id="all is counted, more goes on"),
    pytest.param({"total": 4}, 4, "dpkg: finishing, 0 s", id="all is counted, and it is not over"),
    pytest.param({"total": 4e6, "unit": "B"}, 4e6, "dpkg: finishing, 0 s", id="all bytes"),
]


@pytest.mark.parametrize(("more", "done", "line"), TOLD)
def test_a_line_says_what_is_known_and_claims_no_end(more, done, line):
    stream = io.StringIO()
    with Progress("dpkg", stream=stream, **more) as shown:
        shown.advance(done)
        while not shown.lines:
            time.sleep(0.01)

    assert stream.getvalue().splitlines()[0] == line


def test_all_is_claimed_at_the_end():
    stream = io.StringIO()
    with Progress("dpkg", 4, unit="steps", stream=stream) as shown:
        shown.advance(4)
        while not shown.lines:
            time.sleep(0.01)

    assert stream.getvalue().splitlines()[-1] == "dpkg: 4 of 4 steps (100%), 0 s"


def test_on_a_terminal_it_draws_a_bar_and_removes_it():
    text = run(Terminal())

    assert "[\x1b[32m############------------\x1b[0m]" in text
    assert text.endswith("\r\x1b[K")
    assert "\n" not in text


def test_no_color_is_respected(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")

    assert "[############------------]" in run(Terminal())


def test_a_dumb_terminal_gets_lines(monkeypatch):
    monkeypatch.setenv("TERM", "dumb")

    assert "\x1b" not in run(Terminal())


def test_hidden_progress_says_nothing_but_counts():
    stream = io.StringIO()
    with Progress("fetch", 3, shown=False, stream=stream) as shown:
        shown.advance(2)
        shown.note("unheard")

    assert (stream.getvalue(), shown.done) == ("", 2)


def test_a_step_that_ends_at_once_says_nothing():
    stream = io.StringIO()
    with Progress("check", 3, stream=stream) as shown:
        shown.advance(3)

    assert stream.getvalue() == ""


def test_a_note_stays_as_a_line_of_its_own():
    stream = Terminal()
    with Progress("fetch", stream=stream) as shown:
        shown.note("one source does not answer")

    assert "\r\x1b[Kfetch: one source does not answer\n" in stream.getvalue()


def test_a_terminal_that_was_closed_ends_nothing():
    master, slave = pty.openpty()
    stream = os.fdopen(slave, "w")
    with Progress("fetch", 3, stream=stream) as shown:
        os.close(master)
        shown.note("heard by nobody")
        shown.advance(3)
        while shown.lines < 2:
            time.sleep(0.01)
        alive = shown.printer.is_alive()
    with contextlib.suppress(OSError):
        stream.close()

    assert (alive, shown.done) == (True, 3)


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        pytest.param(999, "B", "999 B", id="bytes below a thousand are whole"),
        pytest.param(1000, "B", "1.0 kB", id="multiples are decimal"),
        pytest.param(367289272, "B", "367.3 MB", id="megabytes"),
        pytest.param(2.5e9, "B", "2.5 GB", id="gigabytes"),
        pytest.param(12, "checks", "12 checks", id="things are counted"),
        pytest.param(12, "", "12", id="a bare number has no blank at its end"),
    ],
)
def test_amounts_are_for_people(value, unit, expected):
    assert progress.amount(value, unit) == expected
