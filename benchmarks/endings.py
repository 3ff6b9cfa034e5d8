"""How a child process ended, in words that name no machine. Pure, but for asking the host's own name."""

from __future__ import annotations

import os
import re
import signal
import socket
from dataclasses import dataclass, field
from typing import Any

from benchmarks.blame import STACK, of_stack

#: The phase that begins when a check has found a result wrong: however its process ends now, the result is invalid.
AFTER_WRONG = "its end after a wrong result"
LAST_LINES = 6
LINE_LIMIT = 200  # characters of each last line
#: Absolute paths: in quotes with anything in them, and plain up to a space. What comes after the last slash stays.
QUOTED = re.compile(r"""(['"])/[^'"\n]*/([^'"/\n]+)/?\1""")
PLAIN = re.compile(r"""(?<![\w.])(?:/[^\s/'"]+)+/(?=[^\s/'"])""")


@dataclass
class Ended:
    """How a child ended: its exit code (minus a signal's number) or None when it was killed.

    It was killed because of `stopped_by` (a signal to the whole run), of `unfit` (what it sent), or else of the time.
    `note` says what it left behind.
    """

    code: int | None
    phase: str = ""
    stopped_by: str = ""
    last_lines: list[str] = field(default_factory=list)
    unfit: str = ""
    note: str = ""


def reason_of(ended: Ended, deadline_s: float, path: str = "") -> tuple[str, str]:
    """Return the status and the reason for a case whose process ended without a record of it.

    With the path of a user's own case file the reason begins with the place in it where the process was, if known.
    """
    status, reason = _end_of(ended, deadline_s, path)
    return ("invalid" if ended.phase == AFTER_WRONG else status), reason


def _end_of(ended: Ended, deadline_s: float, path: str) -> tuple[str, str]:
    lines = [clean(line) for line in telling(ended.last_lines)]
    said = "; last lines: " + " | ".join(lines) if lines else ""
    where = f"during {ended.phase}"
    whose = f"{of_stack(ended.last_lines, path)}: " if path else ""
    if ended.stopped_by:
        return "killed", f"{ended.stopped_by} ended the run {where}"
    if ended.unfit:
        return "failed", f"{whose}{ended.unfit} (seen {where})"
    if ended.code is None:
        return "timeout", f"{whose}no answer within {deadline_s:g} s, {where}; killed{said}"
    if ended.code == -signal.SIGKILL:
        return "killed", f"{whose}SIGKILL from outside, {where}: often the kernel, when memory runs out{said}"
    if ended.code < 0:
        return "failed", f"{whose}{_name(-ended.code)} {where}{said}"
    return "failed", f"{whose}exit code {ended.code} {where}{said}"


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # real-time signals have no names
        return f"signal {number}"


def telling(lines: list[str]) -> list[str]:
    """Return the lines that tell most: the last ones, or those around the head of the first stack."""
    heads = [number for number, line in enumerate(lines) if STACK in line]
    if not heads:
        return lines[-LAST_LINES:]
    return lines[max(0, heads[0] - LAST_LINES // 2) : heads[0] + LAST_LINES // 2 + 1]


def clean(line: str) -> str:
    """Return a line without what names the machine, cut to a length that can be read."""
    return redact(line).strip()[:LINE_LIMIT]


def redact(text: Any) -> Any:
    """Return a text without the host's name, the user's, and folders in front of files; so too within lists and dicts.

    A path in quotes may hold spaces. The keys of a dict are ours and stay.
    """
    if isinstance(text, dict):
        return {key: redact(value) for key, value in text.items()}
    if isinstance(text, list):
        return [redact(value) for value in text]
    if not isinstance(text, str):
        return text
    text = QUOTED.sub(r"\1\2\1", text)
    text = PLAIN.sub("", text)
    for name in filter(lambda name: len(name) > 3, (socket.gethostname(), os.environ.get("USER", ""))):
        text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "...", text)
    return text
