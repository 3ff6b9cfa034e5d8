"""How a child's end is told, without what names the machine."""

import signal
import socket

import pytest

from benchmarks import endings
from benchmarks.endings import AFTER_WRONG, Ended

STACK = ["starting", "Current thread 0x1 (most recent call first):", "  File a", "  File b", "  File c", "  File d"]


@pytest.mark.parametrize(
    ("ended", "expected"),
    [
        (Ended(1, "prepare", "", ["oh no"]), ("failed", "exit code 1 during prepare; last lines: oh no")),
        (Ended(0, "sampling"), ("failed", "exit code 0 during sampling")),
        (Ended(-signal.SIGABRT, "warm-up"), ("failed", "SIGABRT during warm-up")),
        (Ended(-50, "warm-up"), ("failed", "signal 50 during warm-up")),
        (
            Ended(-signal.SIGKILL, "prepare"),
            ("killed", "SIGKILL from outside, during prepare: often the kernel, when memory runs out"),
        ),
        (Ended(3, AFTER_WRONG), ("invalid", f"exit code 3 during {AFTER_WRONG}")),
        (Ended(None, AFTER_WRONG, "SIGINT"), ("invalid", f"SIGINT ended the run during {AFTER_WRONG}")),
        (Ended(None, "sampling", "SIGINT"), ("killed", "SIGINT ended the run during sampling")),
        (Ended(None, "first step"), ("timeout", "no answer within 30 s, during first step; killed")),
        (
            Ended(None, "first step", "", STACK),
            (
                "timeout",
                "no answer within 30 s, during first step; killed; last lines: "
                + " | ".join(map(str.strip, STACK[:5])),
            ),
        ),
    ],
    ids=[
        "exit code",
        "no record",
        "signal",
        "signal without a name",
        "kill",
        "ended after a wrong result",
        "stopped after a wrong result",
        "stopped",
        "deadline",
        "deadline with stacks",
    ],
)
def test_the_reason_of_an_end(ended, expected):
    assert endings.reason_of(ended, 30.0) == expected


def test_only_the_last_lines_are_told():
    reason = endings.reason_of(Ended(1, "prepare", "", [f"line {i}" for i in range(20)]), 1.0)[1]

    assert reason.endswith("line 14 | line 15 | line 16 | line 17 | line 18 | line 19")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("No such file: '/home/jo doe/my models/weights.bin'", "No such file: 'weights.bin'"),
        ('File "/srv/secret-project/run.py", line 3', 'File "run.py", line 3'),
        ("/opt/x@y/a=b/c,d/lib.so: undefined symbol", "lib.so: undefined symbol"),
        ("cannot open /data/müller/x.pt", "cannot open x.pt"),
        ("folder /mnt/scratch/secret/", "folder secret/"),
        ("'/mnt/scratch/secret/'", "'secret'"),
        ("PATH=/a/b:/c/d", "PATH=d"),
        ("file:///home/x/y", "file://y"),
        ("12 items/s, N/A, and/or/not, 1/2", "12 items/s, N/A, and/or/not, 1/2"),
        ("benchmarks/cases/matmul.py", "benchmarks/cases/matmul.py"),
        ({"notes": ["/a/b/c.txt"], "n": 3}, {"notes": ["c.txt"], "n": 3}),
    ],
)
def test_of_an_absolute_path_the_last_part_stays(text, expected):
    assert endings.redact(text) == expected


def test_a_name_is_no_part_of_a_word(monkeypatch):
    monkeypatch.setenv("USER", "root")

    assert endings.redact("the square roots of root") == "the square roots of ..."


def test_lines_are_cleaned_of_folders_and_names(monkeypatch):
    monkeypatch.setenv("USER", "someone")
    monkeypatch.setattr(socket, "gethostname", lambda: "node-17")

    seen = endings.clean('File "/home/someone/models/run.py", on node-17 by someone ' + "x" * 500)

    assert seen.startswith('File "run.py", on ... by ... xxx')
    assert len(seen) == endings.LINE_LIMIT
