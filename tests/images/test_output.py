"""Frames become lines; silence ends at the deadline."""

import signal
import threading
import time

import pytest

from images import output
from images.endpoint import EngineError


def read(frames, deadline_s=5.0, kill=lambda _number: None):
    lines, errors = [], []
    late = output.read(iter(frames), time.monotonic() + deadline_s, kill, lines.append, on_stderr=errors.append)
    return lines, errors, late


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
def test_frames_of_any_size_give_the_same_lines(size):
    data = b'{"a":1}\n\n{"b":"\xc3\xa4"}\nlast\n'
    frames = [(data[at : at + size], None) for at in range(0, len(data), size)]

    assert read(frames) == ([b'{"a":1}', b"", b'{"b":"\xc3\xa4"}', b"last"], [], False)


def test_an_unfinished_line_is_withheld_from_stdout_and_kept_on_stderr():
    assert read([(b"whole\ncut", None), (None, b"noise\nlast words")]) == ([b"whole"], [b"noise", b"last words"], False)


def test_the_two_streams_do_not_mix():
    frames = [(b"on", None), (None, b"er"), (b"e\n", None), (None, b"r\n")]

    assert read(frames) == ([b"one"], [b"err"], False)


def test_silence_ends_at_the_deadline_first_with_a_signal_that_leaves_stacks():
    ended, sent = threading.Event(), []

    def frames():
        yield b"begun\n", None
        ended.wait(10)
        yield None, b"the stacks\n"

    def kill(number):
        sent.append(number)
        ended.set()

    assert read(frames(), 0.2, kill) == ([b"begun"], [b"the stacks"], True)
    assert sent == [signal.SIGABRT]


def test_one_that_ignores_the_first_signal_is_killed(monkeypatch):
    monkeypatch.setattr(output, "GRACE_S", 0.1)
    ended, sent = threading.Event(), []

    def frames():
        ended.wait(10)
        yield from ()

    def kill(number):
        sent.append(number)
        if number == signal.SIGKILL:
            ended.set()

    assert read(frames(), 0.1, kill) == ([], [], True)
    assert sent == [signal.SIGABRT, signal.SIGKILL]


def test_an_engine_that_does_not_end_a_killed_container_does_not_hang_us(monkeypatch):
    monkeypatch.setattr(output, "GRACE_S", 0.1)
    monkeypatch.setattr(output, "SILENT_S", 0.1)
    never = threading.Event()

    def frames():
        never.wait(5)
        yield from ()

    with pytest.raises(EngineError, match="does not end the killed container"):
        read(frames(), 0.1)
    never.set()


def test_a_chatty_container_is_ended_at_its_deadline_too(monkeypatch):
    monkeypatch.setattr(output, "GRACE_S", 0.2)
    killed = threading.Event()

    def frames():
        while not killed.is_set():
            yield b"again\n", None

    lines, _, late = read(frames(), 0.3, lambda _number: killed.set())

    assert late
    assert lines


@pytest.mark.parametrize(
    ("error", "said"), [(ValueError("123 is not a valid stream"), "garbled"), (OSError("reset"), "stopped sending")]
)
def test_a_broken_stream_is_an_engine_error(error, said):
    def frames():
        yield b"one\n", None
        raise error

    with pytest.raises(EngineError, match=said):
        read(frames())


def test_what_a_callback_raises_comes_through():
    def refuse(_line):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        output.read(iter([(b"x\n", None)]), time.monotonic() + 5, lambda _number: None, refuse, on_stderr=print)


def test_a_line_without_end_is_refused(monkeypatch):
    monkeypatch.setattr(output, "MAX_LINE_BYTES", 100)
    with pytest.raises(EngineError, match="longer than 100 bytes"):
        read([(b"x" * 60, None), (b"x" * 60, None)])
