"""JSON Lines between a container and the host: `start`, records, `end`.

Libraries print to stdout, so `claim_stdout` keeps the real one for records and points file descriptor 1 at stderr.
"""

from __future__ import annotations

import json
import os
import sys
from datetime import datetime, timezone
from typing import IO, TYPE_CHECKING, Any

from schema.errors import KitError
from schema.records import KINDS, to_dict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_LINE_BYTES = 64 << 20  # facts of one check, inventories included, stay far below


def now() -> str:
    """Return the time as RFC 3339 in UTC, to the second."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def compact(document: Any) -> str:
    """Return one line of JSON. NaN and infinity are refused: JSON has none."""
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def claim_stdout() -> Writer:
    """Take stdout for records; whatever Python, C or a child process prints from now on goes to stderr."""
    sys.stdout.flush()
    channel = os.dup(1)
    os.dup2(2, 1)
    return Writer(os.fdopen(channel, "w", encoding="utf-8", newline="\n"))


class Writer:
    """Write records as they happen: a crash at sample 40 leaves 39."""

    def __init__(self, channel: IO[str]) -> None:
        self.channel = channel
        self.counts: dict[str, int] = {}

    def write(self, record: Any) -> None:
        """Write one record of `schema.records`."""
        self.write_object(to_dict(record))

    def write_object(self, item: dict[str, Any]) -> None:
        """Write one record that is a JSON object already (relayed from a child process)."""
        self.channel.write(compact(item) + "\n")
        self.channel.flush()
        self.counts[item["kind"]] = self.counts.get(item["kind"], 0) + 1


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
