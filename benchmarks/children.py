"""Run fresh processes one after another, and relay what they measure. The only door to other processes here.

A child that hangs is killed at its deadline, one that crashes leaves a record with its last words, and in both cases
the cases it had still to do go on in another process. Whatever was measured has been written by then.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.endings import Ended, reason_of
from benchmarks.signals import Stopped
from schema.errors import KitError
from schema.records import unknown
from schema.stream import compact

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.signals import Signals

ROOT = Path(__file__).resolve().parent.parent
TICK_S = 0.2  # how often deadlines and signals are looked at
STACKS_S = 1.0  # time for a hanging process to write its stacks
KEPT_LINES = 60
#: A sample waits no longer than this for a sensor reading that covers it.
PATIENCE_S = 0.5


@dataclass
class Lines:
    """Bytes from a pipe, cut into lines; what has no newline yet is kept."""

    rest: bytes = b""

    def feed(self, data: bytes) -> list[bytes]:
        """Return the lines that are whole now."""
        *whole, self.rest = (self.rest + data).split(b"\n")
        return whole


class Fresh:
    """One fresh Python process running `module` with a job on stdin and a record pipe."""

    def __init__(self, module: str, job: dict[str, Any], *, quiet: bool = False) -> None:
        self.records, write = os.pipe()
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])),
        }
        try:
            self.process = subprocess.Popen(  # noqa: S603 - our own interpreter and module, no shell
                [sys.executable, "-m", module],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL if quiet else subprocess.PIPE,
                stderr=None if quiet else subprocess.STDOUT,
                pass_fds=[write],
                env=environment,
                cwd=ROOT,
                start_new_session=True,  # so that its whole group can be killed, and a terminal's Ctrl-C is ours alone
            )
        finally:
            os.close(write)
        assert self.process.stdin is not None  # noqa: S101 - for the reader: PIPE was asked for
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(compact({**job, "fd": write}).encode() + b"\n")
            self.process.stdin.flush()

    def close_stdin(self) -> None:
        """Say that nothing more will come."""
        with contextlib.suppress(OSError):
            self.process.stdin.close()  # type: ignore[union-attr]

    def kill(self) -> None:
        """Kill it with everything it started, and wait until it is gone."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def close(self) -> None:
        """Kill what still runs and close the pipes."""
        self.kill()
        self.close_stdin()
        with contextlib.suppress(OSError):
            os.close(self.records)
        if self.process.stdout:
            self.process.stdout.close()


class Sampler:
    """The telemetry process. Its readings since the last `drain`, and where they come from."""

    def __init__(self, backend: str, pci: str | None, origin: float) -> None:
        self.child = Fresh("benchmarks.telemetry", {"backend": backend, "pci": pci, "origin": origin}, quiet=True)
        os.set_blocking(self.child.records, False)
        self.lines = Lines()
        self.source: dict[str, Any] = unknown("the telemetry process said nothing")
        self.last: dict[str, Any] = {}
        self.alive = True

    def drain(self) -> list[dict[str, Any]]:
        """Return the readings that have come, without waiting."""
        readings = []
        while self.alive:
            try:
                data = os.read(self.child.records, 65536)
            except BlockingIOError:
                break
            self.alive = bool(data)
            if not self.alive and "unknown" not in self.source:
                self.source = unknown(f"the process that read {self.source['source']} died")
            for line in self.lines.feed(data):
                item = json.loads(line)
                if item.pop("kind") == "source":
                    self.source = item
                else:
                    readings.append(item)
                    self.last = item
        return readings

    def settle(self, seconds: float = 5.0) -> None:
        """Wait for the first reading, or for the reason why there will be none."""
        give_up = time.monotonic() + seconds
        while self.alive and not self.last and time.monotonic() < give_up:
            time.sleep(0.02)
            self.drain()

    def close(self) -> None:
        """End the process: it leaves when its stdin closes."""
        self.child.close_stdin()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.child.process.wait(1)
        self.child.close()


class Watch:
    """Relays one child until it ends. Its deadline begins anew with each case; a signal or the deadline kills it."""

    def __init__(
        self, child: Fresh, on_record: Callable[[dict[str, Any]], None], on_tick: Callable[[], None], deadline_s: float
    ) -> None:
        self.child, self.on_record, self.on_tick, self.deadline_s = child, on_record, on_tick, deadline_s
        self.tail: deque[str] = deque(maxlen=KEPT_LINES)
        self.phase = "start"
        self.due = time.monotonic() + deadline_s
        self.noise = child.process.stdout.fileno()  # type: ignore[union-attr]
        self.pipes = {child.records: Lines(), self.noise: Lines()}

    def until_end(self, signals: Signals) -> Ended:
        """Return how the child ended."""
        with selectors.DefaultSelector() as selector:
            for pipe in self.pipes:
                selector.register(pipe, selectors.EVENT_READ)
            while selector.get_map():
                for key, _ in selector.select(TICK_S):
                    if not self._read(key.fd):
                        selector.unregister(key.fd)
                self.on_tick()
                late = time.monotonic() > self.due
                if late and not signals.name:
                    self._ask_for_stacks()
                if late or signals.name:
                    self.child.kill()
                    self._drain(self.child.records)
                    return Ended(None, self.phase, signals.name, list(self.tail))
                if self.child.process.poll() is not None and self.child.records not in selector.get_map():
                    break  # something it started may hold stderr open; the child itself is gone
        return Ended(self.child.process.wait(), self.phase, "", list(self.tail))

    def _read(self, pipe: int) -> bool:
        """Take what a pipe has; return False at its end."""
        data = os.read(pipe, 65536)
        for line in self.pipes[pipe].feed(data or b"\n"):  # the end of a pipe ends its last line
            if pipe == self.noise:
                self._pass_on(line)
            elif (item := _record(line)) is not None:
                if item["kind"] == "phase":
                    self.phase = item["phase"]
                if item["kind"] == "process":
                    self.due = time.monotonic() + self.deadline_s
                self.on_record(item)
        return bool(data)

    def _pass_on(self, line: bytes) -> None:
        text = line.decode("utf-8", "replace").rstrip()
        if text:
            print(text, file=sys.stderr, flush=True)
            self.tail.append(text)

    def _ask_for_stacks(self) -> None:
        """Have a hanging process write the stacks of all its threads, and pass them on."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.child.process.pid, signal.SIGUSR1)
        until = time.monotonic() + STACKS_S
        while time.monotonic() < until and self.child.process.poll() is None:
            self._drain(self.noise)
            time.sleep(0.05)

    def _drain(self, pipe: int) -> None:
        """Take what a pipe holds, without waiting for more."""
        os.set_blocking(pipe, False)
        with contextlib.suppress(BlockingIOError):
            while self._read(pipe):
                pass


def _record(line: bytes) -> dict[str, Any] | None:
    """Return the record on a line; None for a line that a dying process did not finish."""
    try:
        item = json.loads(line)
    except ValueError:
        return None
    return item if isinstance(item, dict) and "kind" in item else None


def ask(job: dict[str, Any], signals: Signals, deadline_s: float) -> dict[str, Any]:
    """Return the one answer of a child that describes; KitError with its words when it refuses or dies."""
    answers: list[dict[str, Any]] = []
    child = Fresh("benchmarks.child", job)
    try:
        ended = Watch(child, answers.append, lambda: None, deadline_s).until_end(signals)
    finally:
        child.close()
    if ended.stopped_by:
        raise Stopped(ended.stopped_by)
    found = [answer for answer in answers if answer["kind"] != "phase"]
    if not found:
        raise KitError(f"the case file could not be read: {reason_of(ended, deadline_s)[1]}")
    if found[-1]["kind"] == "refused":
        raise KitError(found[-1]["message"], found[-1]["hint"])
    return found[-1]
