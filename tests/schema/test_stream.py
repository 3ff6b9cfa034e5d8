import datetime as dt
import io
import os
import select
import signal
import subprocess
import sys
import threading
import time

import pytest

from schema import records, sources, stream
from schema.errors import KitError

START = '{"kind":"start"}'
SAMPLE = '{"kind":"sample"}'


def end(**counts):
    return stream.compact({"kind": "end", "finished_at": "2026-11-30T00:00:00Z", "counts": counts})


def test_a_whole_stream_is_read():
    lines = [START, SAMPLE, SAMPLE, end(start=1, sample=2)]

    assert [item["kind"] for item in stream.read(lines)] == ["start", "sample", "sample", "end"]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        pytest.param([], "cut off", id="an empty stream was cut off"),
        pytest.param([START, SAMPLE], "cut off", id="a stream without end was cut off"),
        pytest.param([SAMPLE, end(sample=1)], "out of order", id="a stream must begin with start"),
        pytest.param([START, START, end(start=2)], "out of order", id="there is one start"),
        pytest.param([START, end(start=1), SAMPLE], "out of order", id="nothing follows end"),
        pytest.param([START, end(start=1, sample=1)], "its `end` says", id="a lost sample is noticed"),
        pytest.param([START, "half a li", end(start=1)], "is not JSON", id="half a line is not JSON"),
        pytest.param([START, "[1]", end(start=1)], "not a record", id="a list is not a record"),
        pytest.param([START, '{"kind":"rumour"}', end(start=1)], "not a record", id="an unknown kind is not ours"),
        pytest.param([START, '{"kind":"sample","seconds":NaN}', end()], "is not JSON", id="NaN is not JSON"),
        pytest.param([START, "[" * 100_000, end()], "is not JSON", id="deep nesting does not crash"),
    ],
)
def test_a_broken_stream_is_refused(lines, message):
    with pytest.raises(KitError, match=message):
        list(stream.read(lines))


def test_what_was_written_can_be_read():
    channel = io.StringIO()
    writer = stream.Writer(channel)
    writer.write_object({"kind": "start"})
    writer.write(records.Sample(case="copy", process=0, index=0, seconds=1.0, at_s=0.0))
    writer.write(records.End(finished_at=stream.now(), counts=dict(writer.counts)))

    assert [item["kind"] for item in stream.read(channel.getvalue().splitlines())] == ["start", "sample", "end"]


def test_noise_of_python_c_and_children_stays_out_of_the_records():
    program = (
        "import os, subprocess, sys\n"
        "from schema.stream import claim_stdout\n"
        "writer = claim_stdout()\n"
        "print('python noise', flush=True)\n"
        "os.write(1, b'c noise\\n')\n"
        "subprocess.run(['echo', 'child noise'], check=True)\n"
        "writer.write_object({'kind': 'start'})\n"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=sources.ROOT, check=True)

    assert done.stdout == '{"kind":"start"}\n'
    assert {"python noise", "c noise", "child noise"} <= set(done.stderr.splitlines())


class Backwards(dt.datetime):
    """A wall clock that somebody sets back at each reading."""

    readings = 0

    @classmethod
    def now(cls, tz=None):
        cls.readings += 1
        return cls(2026, 11, 30, 12, 0, 0, tzinfo=tz) - dt.timedelta(hours=cls.readings)


def test_time_never_goes_backwards_though_the_wall_clock_does(monkeypatch):
    monkeypatch.setattr(stream, "datetime", Backwards)
    monkeypatch.setattr(time, "time", lambda: 0.0)
    started = stream.now()
    passed = time.monotonic() + 3600
    monkeypatch.setattr(time, "monotonic", lambda: passed)

    finished = stream.now()

    taken = dt.datetime.fromisoformat(finished[:-1]) - dt.datetime.fromisoformat(started[:-1])
    assert 3599 <= taken.total_seconds() <= 3602
    assert abs(dt.datetime.fromisoformat(started[:-1] + "+00:00").timestamp() - REAL) < 600


REAL = time.time()


def test_a_name_that_is_no_utf8_does_not_cost_the_record():
    program = (
        "from schema.stream import claim_stdout\n"
        "claim_stdout().write_object({'kind': 'start', 'environment': {'HIP_PATH': 'caf\\udce9'}})\n"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=sources.ROOT, check=True)

    assert done.stdout == '{"kind":"start","environment":{"HIP_PATH":"caf?"}}\n'


def test_records_that_cannot_be_written_are_an_error_with_a_reason():
    read, write = os.pipe()
    os.close(read)
    writer = stream.Writer(os.fdopen(write, "w"))

    with pytest.raises(KitError, match="the records cannot be written: Broken pipe"):
        writer.write_object({"kind": "start"})
    writer.close()


def test_a_signal_while_a_line_is_written_waits_for_its_end():
    seen = []

    class Slow(io.StringIO):
        def write(self, text):
            signal.pthread_kill(threading.get_ident(), signal.SIGTERM)  # other tests may have left threads behind
            seen.append("written")
            return super().write(text)

    before = signal.signal(signal.SIGTERM, lambda *_: seen.append("stopped"))
    try:
        stream.Writer(Slow()).write_object({"kind": "start"})
    finally:
        signal.signal(signal.SIGTERM, before)

    assert seen == ["written", "stopped"]


class Stopped(BaseException):
    pass


@pytest.fixture
def full():
    """A pipe without room, and a writer of records into it."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    while select.select([], [write], [], 0)[1]:
        os.write(write, b"x" * 4096)
    os.set_blocking(write, True)
    writer = stream.Writer(os.fdopen(write, "w"))
    yield read, writer
    os.close(read)
    writer.close()


def asked_to_end(writer, handler, *, after_s=0.2):
    """Write a record, of several pieces, while SIGTERM comes."""
    before = signal.signal(signal.SIGTERM, handler)
    timer = threading.Timer(after_s, lambda: signal.pthread_kill(threading.main_thread().ident, signal.SIGTERM))
    timer.start()
    try:
        writer.write_object({"kind": "start", "text": "long " * 5000})
    finally:
        timer.join()
        signal.signal(signal.SIGTERM, before)


def test_who_is_asked_to_end_does_not_wait_for_a_reader_who_reads_no_more(full):
    noted = []

    with pytest.raises(KitError, match="nobody reads on"):
        asked_to_end(full[1], lambda *_: noted.append("stopped"))

    assert noted == ["stopped"]


def test_a_handler_that_ends_the_run_ends_it_there_too(full):
    def stop(*_):
        raise Stopped

    with pytest.raises(Stopped):
        asked_to_end(full[1], stop)

    assert signal.SIGTERM not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_a_signal_that_is_ignored_ends_nothing_and_a_slow_reader_gets_the_whole_record(full):
    read, writer = full
    got = bytearray()

    def read_on():
        time.sleep(2 * stream.PATIENCE_S)
        while not got.endswith(b"\n"):
            got.extend(os.read(read, 1 << 16))

    reader = threading.Thread(target=read_on)
    reader.start()
    asked_to_end(writer, signal.SIG_IGN)
    reader.join()

    (record,) = [line.lstrip(b"x") for line in bytes(got).splitlines()]
    assert record == stream.compact({"kind": "start", "text": "long " * 5000}).encode()
