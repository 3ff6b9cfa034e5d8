"""Bytes from pipes become lines."""

import time

import pytest

from benchmarks.children import Fresh
from benchmarks.intake import Intake
from benchmarks.lines import Lines
from benchmarks.watching import Watch
from validate.entry_point import Signals

QUICK_WRITER = """import json, os, sys, time
fd = json.loads(sys.stdin.readline())["fd"]
for index in range(800):
    os.write(fd, b'{"kind":"sample","case":"a","process":0,"index":%d,"seconds":1,"at_s":1}\\n' % index)
os.write(fd, b'{"kind":"sam')
open(sys.argv[0] + ".done", "w").close()
time.sleep(600)
"""


@pytest.mark.parametrize(
    ("chunks", "expected", "rest"),
    [
        ([b"a\nb\n"], [b"a", b"b"], b""),
        ([b"a", b"b\nc"], [b"ab"], b"c"),
        ([b"\n\n"], [b"", b""], b""),
    ],
)
def test_lines_are_cut_at_newlines_wherever_the_pipe_cut_them(chunks, expected, rest):
    lines = Lines()

    seen = [line for chunk in chunks for line in lines.feed(chunk)]

    assert (seen, lines.rest) == (expected, rest)


@pytest.mark.parametrize("how", ["deadline", "signal"])
def test_what_a_killed_child_had_written_is_not_lost(tmp_path, monkeypatch, how):
    (tmp_path / "quick_writer.py").write_text(QUICK_WRITER)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    signals, records = Signals(), []
    child = Fresh("quick_writer", {})
    written = tmp_path / "quick_writer.py.done"
    try:
        until = time.monotonic() + 30
        while not written.exists() and time.monotonic() < until:
            time.sleep(0.02)
        if how == "signal":
            signals.name = "SIGTERM"
        deadline_s = 0.0 if how == "deadline" else 60.0
        ended = Watch(child, Intake([("a", 0, 0)]), records.append, lambda: None, deadline_s).until_end(signals)
    finally:
        child.close()

    assert ended.code is None
    assert [record["index"] for record in records] == list(range(800))
