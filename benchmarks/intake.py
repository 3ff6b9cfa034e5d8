"""What a child may say, and in which order: nothing else that comes through its pipe is believed.

For each of its positions in turn: phases, samples numbered from 0, one process record. A case can reach that pipe, by
mistake or not; what it writes there fails the case, and does not become a figure.
"""

from __future__ import annotations

import math
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from benchmarks import messages
from benchmarks.correctness import wrong
from benchmarks.witness import Seen, doubt
from schema.records import MEASURED, SampleStatus

if TYPE_CHECKING:
    from collections.abc import Iterable

ANSWERS = ("described", "refused")  # what ends a child that was asked, or cannot begin
FIGURE = frozenset({"device", "inner", "clock", "warm_up", "stop", "check_before", "check_after"})
_MEASURED = frozenset(status.value for status in MEASURED)
COPIED = "the process was copied by os.fork, and the copy came back from the case: end the copy with os._exit()"
NOT_OURS = "something else than the kit wrote to the pipe for records: write only to file descriptors that you opened"


class Unfit(Exception):  # noqa: N818 - named for what a line is
    """A line of a child that it may not send, or not now; the argument says what of it."""


class Intake:
    """Takes the lines of one child, in their order; `left` are the positions that it has not reported.

    `origin` is when the run began, by `time.monotonic`.
    """

    def __init__(self, positions: Iterable[tuple[str, int, int]] = (), origin: float = 0.0) -> None:
        self.left = deque(positions)
        self.origin = origin
        self.seen: list[Seen] = []
        self.answered = False

    @property
    def done(self) -> bool:
        """Whether the child has said all that was asked of it."""
        return self.answered or not self.left

    def take(self, line: bytes, after: float = -math.inf) -> dict[str, Any]:
        """Return the record on a line, sent `after` a time; `Unfit` when it is none, or not the next one."""
        try:
            item = messages.parse(line)
            if item["kind"] == "copied":
                raise Unfit(COPIED)
            self._assert_next(item, after)
        except (TypeError, KeyError, ValueError, RecursionError) as error:
            raise Unfit(NOT_OURS) from error
        return item

    def _assert_next(self, item: dict[str, Any], after: float) -> None:
        kind = item["kind"]
        if self.done:
            raise ValueError("more than was asked for")
        self.answered = kind in ANSWERS
        if kind == "sample":
            self._sample(item, after)
        elif kind == "process":
            self._process(item)
        elif "case" in item:
            self._assert_current(item)

    def _assert_current(self, item: dict[str, Any]) -> None:
        case, process, _ = self.left[0]
        if (item["case"], item["process"]) != (case, process):
            raise ValueError(f"a record of {item['case']} amid those of {case}")

    def _sample(self, item: dict[str, Any], after: float) -> None:
        self._assert_current(item)
        if item["index"] != len(self.seen):
            raise ValueError("not the next sample")
        times = (moment - self.origin for moment in (after, time.monotonic()))
        self.seen.append(Seen(item["seconds"], item["at_s"], *times))

    def _process(self, item: dict[str, Any]) -> None:
        self._assert_current(item)
        ended = item["status"]
        if item["order"] != self.left[0][2]:
            raise ValueError("another position")
        if ended != SampleStatus.OK.value and "reason" not in item:
            raise ValueError("a status without a reason")
        if "stop" in item and item["stop"]["samples"] != len(self.seen):
            raise ValueError("another count of samples")
        if ended in _MEASURED:
            if not (item.keys() >= FIGURE and self.seen):
                raise ValueError("a figure without what it needs")
            if not wrong(item) and (why := doubt(self.seen, item["stop"]["seconds"], item["inner"], item["clock"])):
                raise Unfit(why)
        self.left.popleft()
        self.seen = []
