"""Relay one child until it ends, or until its deadline, a signal, or what it sends ends it.

A child that hangs is killed at its deadline, one that crashes leaves its last words. Whatever was measured has been
relayed by then. Its end is its own: what it started does not delay it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import selectors
import signal
import sys
import termios
import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.cases import WHOLE
from benchmarks.children import Fresh
from benchmarks.endings import Ended, reason_of
from benchmarks.intake import Intake, Unfit
from benchmarks.lines import Lines
from benchmarks.progress import Progress
from schema.errors import KitError
from schema.stream import say
from validate.entry_point import Signals, Stopped

if TYPE_CHECKING:
    from collections.abc import Callable

TICK_S = 0.2  # how often deadlines and signals are looked at
STACKS_S = 1.0  # time for a hanging process to write its stacks
LEAVE_S = 10.0  # time to end after the last record: threads, libraries, the driver's own clearing up
KEPT_LINES = 60
READ_BYTES = 4096  # passed on before deadlines and signals are looked at again: stderr may be read slowly
#: What is noted of a process that ended as it should not, in words that follow its name.
OUTLIVED = "processes that it had started outlived it, and were killed"
ESCAPED = "a process that it had started left its group, holds its output, and was not killed"
LINGERED = f"it had not ended {LEAVE_S:g} s after its last record, and was killed"


class Watch:
    """Relays one child. Its deadline begins anew with each process record."""

    def __init__(
        self,
        child: Fresh,
        intake: Intake,
        on_record: Callable[[dict[str, Any]], None],
        on_tick: Callable[[], None],
        deadline_s: float,
    ) -> None:
        self.child, self.intake, self.on_record, self.on_tick = child, intake, on_record, on_tick
        self.deadline_s = deadline_s
        self.tail: deque[str] = deque(maxlen=KEPT_LINES)
        self.phase = "start"
        self.due = time.monotonic() + deadline_s
        self.emptied = time.monotonic()  # what comes through the pipe for records was sent after this
        self.noise = child.process.stdout.fileno()  # type: ignore[union-attr]
        self.pipes = {child.records: Lines(), self.noise: Lines()}

    def until_end(self, signals: Signals) -> Ended:
        """Return how the child ended."""
        try:
            with selectors.DefaultSelector() as selector:
                for pipe in self.pipes:
                    selector.register(pipe, selectors.EVENT_READ)
                while not self.child.ended(0.0 if selector.get_map() else TICK_S):
                    for key, _ in selector.select(TICK_S if selector.get_map() else 0.0):
                        if not self._read(key.fd):
                            selector.unregister(key.fd)
                    self.on_tick()
                    if signals.name or time.monotonic() > self.due:
                        return self._killed(signals.name)
            note = OUTLIVED if self.child.sweep() else ""
            ends = [self._drain(pipe) for pipe in self.pipes]
            note = note if all(ends) else ESCAPED
        except Unfit as error:
            self.child.kill()
            self._drain(self.noise)
            return Ended(None, self.phase, last_lines=list(self.tail), unfit=str(error))
        return Ended(self.child.process.returncode, self.phase, last_lines=list(self.tail), note=note)

    def _killed(self, stopped_by: str) -> Ended:
        """Kill the child, for a signal or for its time, and take what it had still sent."""
        late = not stopped_by
        if late and not self.intake.done:
            self._ask_for_stacks()
        self.child.kill()
        with contextlib.suppress(Unfit):
            self._drain(self.child.records)
        note = LINGERED if late and self.intake.done else ""
        return Ended(None, self.phase, stopped_by, list(self.tail), note=note)

    def _read(self, pipe: int) -> int:
        """Take what a pipe has; return how many bytes that was, 0 at its end."""
        now = time.monotonic()
        data = os.read(pipe, READ_BYTES)
        if pipe == self.noise:
            for line in self.pipes[pipe].feed(data or b"\n"):  # the end of a pipe ends its last line
                self._pass_on(line)
        else:
            for line in self.pipes[pipe].feed(data):  # a dying process may leave half a record
                self._take(self.intake.take(line, self.emptied))
            if len(data) < READ_BYTES:
                self.emptied = now
        return len(data)

    def _take(self, item: dict[str, Any]) -> None:
        if item["kind"] == "phase":
            self.phase = item["phase"]
        elif item["kind"] == "process":
            self.phase, self.due = "start", time.monotonic() + self.deadline_s
        self.on_record(item)
        if self.intake.done:
            self.phase, self.due = "its end", time.monotonic() + LEAVE_S

    def _pass_on(self, line: bytes) -> None:
        text = line.decode("utf-8", "replace").rstrip()
        if text:
            self.tail.append(text)
            if time.monotonic() < self.due + STACKS_S:  # who reads stderr slowly does not stretch a deadline
                say(text)

    def _ask_for_stacks(self) -> None:
        """Have a hanging process write the stacks of all its threads, and pass them on."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.child.process.pid, signal.SIGUSR1)
        self.tail = deque(self.tail)  # what a talking process says after its stacks must not push them out
        until = time.monotonic() + STACKS_S
        while time.monotonic() < until and not self.child.ended():
            self._drain(self.noise)
            time.sleep(0.05)

    def _drain(self, pipe: int) -> bool:
        """Take what a pipe holds now; return whether that was its end. Who still writes to it holds nobody up."""
        os.set_blocking(pipe, False)
        held = int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)
        with contextlib.suppress(BlockingIOError):
            while held >= 0:
                taken = self._read(pipe)
                if not taken:
                    return True
                held -= taken
        return False


def ask(job: dict[str, Any], signals: Signals, deadline_s: float) -> dict[str, Any]:
    """Return the one answer of a child that describes a file; KitError with its words when it refuses or dies."""
    answers: list[dict[str, Any]] = []
    name = Path(job["file"]).name
    intake, progress = Intake([(name, 0, 0)]), Progress(f"importing {name}", deadline_s)
    with signals.noted():
        child = Fresh("benchmarks.child", job)
        try:
            ended = Watch(child, intake, answers.append, progress.tick, deadline_s).until_end(signals)
        finally:
            child.close()
    if ended.stopped_by:
        raise Stopped(ended.stopped_by)
    found = [answer for answer in answers if answer["kind"] in {"described", "refused"}]
    if not found:
        status, reason = reason_of(ended, deadline_s, job["file"])
        hint = "do in prepare() what takes long; or --deadline SECONDS" if status == "timeout" else WHOLE
        raise KitError(f"the case file cannot be imported: {reason}", hint)
    if found[-1]["kind"] == "refused":
        raise KitError(found[-1]["message"], found[-1]["hint"])
    return found[-1]
