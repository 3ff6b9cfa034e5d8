"""JSON Lines between a container and the host: `start`, records, `end`.

Libraries print to stdout, so `claim_stdout` keeps the real one for records and points file descriptor 1 at stderr.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sys
import time
from datetime import datetime, timezone
from typing import IO, TYPE_CHECKING, Any

from schema.errors import KitError
from schema.records import KINDS, to_dict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_LINE_BYTES = 64 << 20  # facts of one check, inventories included, stay far below


#: What asks a run to end. Held back while a line is written: a record is whole or not there. Only where nobody reads
#: it on for `PATIENCE_S` does it end there.
STOPPING = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
PATIENCE_S = 1.0
PIECE = select.PIPE_BUF // 4  # characters that a pipe with room takes at once, of up to four bytes each
#: The wall clock is read once and may be set later; what says when things happened goes on from there evenly.
_EPOCH_S = time.time() - time.monotonic()


def now() -> str:
    """Return the time as RFC 3339 in UTC, to the second. It never goes backwards within a process."""
    return datetime.fromtimestamp(_EPOCH_S + time.monotonic(), timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def compact(document: Any) -> str:
    """Return one line of JSON. NaN and infinity are refused: JSON has none."""
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def say(text: str) -> None:
    """Print a line of progress, or why a run ended, to stderr; a stderr that takes nothing is no reason to end."""
    if sys.stderr is None:  # print would take stdout instead
        return
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        to_nowhere(2)


def to_nowhere(number: int) -> None:
    """Point an output that takes nothing to /dev/null: what Python still holds for it would fail again at its end."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, number)
    os.close(null)


def standard_streams() -> None:
    """Raise KitError when stdout is closed; put /dev/null where stdin or stderr is.

    Whatever is opened next would get the number of a closed one, and what is printed there.
    """
    if sys.stdout is None:
        raise KitError("stdout is closed, so the output has nowhere to go", "send it to a file: > FILE")
    for number in (0, 2):
        if not _is_open(number):
            lowest = os.open(os.devnull, os.O_RDWR)  # which is this one
            os.set_inheritable(lowest, True)  # noqa: FBT003 - positional only


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def claim_stdout() -> Writer:
    """Take stdout for records; whatever Python, C or a child process prints from now on goes to stderr."""
    standard_streams()
    sys.stdout.flush()
    channel = os.dup(1)
    os.dup2(2, 1)
    # Names from the machine may hold bytes that are no UTF-8.
    return Writer(os.fdopen(channel, "w", encoding="utf-8", errors="replace", newline="\n"))


class Writer:
    """Write records as they happen: a crash at sample 40 leaves 39."""

    def __init__(self, channel: IO[str]) -> None:
        self.channel = channel
        try:
            self.fd: int | None = channel.fileno()
        except OSError:  # it is in memory, where there always is room
            self.fd = None
        self.counts: dict[str, int] = {}

    def write(self, record: Any) -> None:
        """Write one record of `schema.records`."""
        self.write_object(to_dict(record))

    def write_object(self, item: dict[str, Any]) -> None:
        """Write one record that is a JSON object already (relayed from a child process)."""
        line = compact(item) + "\n"
        before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
        try:
            for begin in range(0, len(line), PIECE):
                self._await_room()
                self.channel.write(line[begin : begin + PIECE])
                self.channel.flush()
        except OSError as error:
            raise KitError(
                f"the records cannot be written: {error.strerror or error}", "send stdout where all of it is taken"
            ) from error
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        self.counts[item["kind"]] = self.counts.get(item["kind"], 0) + 1

    def _await_room(self) -> None:
        """Wait for whoever reads the records; in vain when a signal asks to end meanwhile."""
        while self.fd is not None and not select.select([], [self.fd], [], PATIENCE_S)[1]:
            pending = signal.sigpending() & set(STOPPING)
            if any(signal.getsignal(number) is not signal.SIG_IGN for number in pending):  # nohup says: go on
                raise KitError("the records cannot be written: nobody reads on", "send stdout where all of it is taken")

    def close(self) -> None:
        """Let go of the channel; what it did not take was said when it was written."""
        with contextlib.suppress(OSError):
            self.channel.close()


def parse_line(line: str | bytes, number: int) -> dict[str, Any]:
    """Return the record on one line; raise KitError when it is none of ours."""
    try:
        item = json.loads(line, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise KitError(f"line {number} is not JSON: {str(error)[:120]}", "run the command again") from error
    if not isinstance(item, dict) or item.get("kind") not in KINDS:
        raise KitError(f"line {number} is not a record of ours", "run the command again")
    return item


class Order:
    """Hold a stream to its form while its records come: start, records, and an end that counts them right."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.kind = ""

    def take(self, item: dict[str, Any], number: int) -> None:
        """Take the record on line `number`, from 1."""
        kind = item["kind"]
        if (number == 1) != (kind == "start") or self.kind == "end":
            raise KitError(f"line {number}: {kind} is out of order", "the stream must be start, records, end")
        self.kind = kind
        if kind != "end":
            self.counts[kind] = self.counts.get(kind, 0) + 1
        elif item.get("counts") != self.counts:
            said = compact(item.get("counts"))
            raise KitError(f"the stream has {compact(self.counts)}, its `end` says {said}", "run the command again")

    def close(self) -> None:
        """Say that nothing more comes."""
        if self.kind != "end":
            raise KitError("the stream was cut off: it has no `end`", "run the command again")


def read(lines: Iterable[str | bytes]) -> Iterator[dict[str, Any]]:
    """Yield the records of a whole stream. Raises KitError unless each is one of ours, and `Order` is content."""
    order = Order()
    for number, line in enumerate(lines, 1):
        if len(line) > MAX_LINE_BYTES:
            raise KitError(f"line {number} is longer than {MAX_LINE_BYTES} bytes")
        item = parse_line(line, number)
        order.take(item, number)
        yield item
    order.close()


def report_document(records: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return the records of one validation as the one document that schema `report-1` describes."""
    found: dict[str, list[dict[str, Any]]] = {kind: [] for kind in KINDS}
    for record in records:
        found[record["kind"]].append(record)
    return {
        "schema": "report-1",
        "start": found["start"][0],
        "facts": found["facts"],
        "findings": found["finding"],
        "end": found["end"][0],
    }


def _refuse_constant(text: str) -> None:
    raise ValueError(f"{text} is not a number in JSON")
