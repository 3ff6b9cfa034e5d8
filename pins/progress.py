"""Tell a waiting person how far a long step is: a bar on a terminal, otherwise a line every few seconds.

Everything goes to stderr: stdout is data. `NO_COLOR` is respected: the bar then has no colour.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from contextlib import suppress
from typing import IO, TYPE_CHECKING, final

if TYPE_CHECKING:
    from types import TracebackType

LINE_EVERY_S = 5.0
BAR_EVERY_S = 0.1
BAR_WIDTH = 24
ERASE = "\r\x1b[K"


@final
class Progress:
    """Count towards `total` from any number of threads; `total` 0 means unknown.

    `with Progress("fetch", total_bytes, unit="B") as p: p.advance(n)`. `shown=False` counts without a word.
    A thread of its own prints, so that a step that stands still is seen to stand still. What goes on in a step when
    all is counted has no measure: `then` says it, and 100% is not claimed before the end.
    """

    def __init__(
        self,
        label: str,
        total: float = 0,
        *,
        unit: str = "",
        then: str = "finishing",
        shown: bool = True,
        stream: IO[str] | None = None,
    ) -> None:
        self.label, self.total, self.unit, self.then, self.shown = label, total, unit, then, shown
        self.stream = stream or sys.stderr
        self.done = 0.0
        self.terminal = self.stream.isatty() and os.environ.get("TERM") != "dumb"
        self.colour = self.terminal and not os.environ.get("NO_COLOR")
        self.lock = threading.Lock()
        self.started = time.monotonic()
        self.lines = 0
        self.over = threading.Event()
        self.printer = threading.Thread(target=self._print_until_over, daemon=True)

    def __enter__(self) -> Progress:
        if self.shown:
            self.printer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.over.set()
        if self.printer.is_alive():
            self.printer.join()
        # A step that was over before its first line came is told by its caller's summary.
        if self.terminal:
            self._write(ERASE)
        elif self.lines and kind is None:
            self._write(self._text() + "\n")

    def advance(self, amount: float = 1) -> None:
        """Add to what is done; negative when something must be done again."""
        with self.lock:
            self.done += amount

    def note(self, text: str) -> None:
        """Print one line that stays."""
        self._write(f"{ERASE if self.terminal else ''}{self.label}: {text}\n")

    def _print_until_over(self) -> None:
        while not self.over.wait(BAR_EVERY_S if self.terminal else LINE_EVERY_S):
            self.lines += 1
            self._write(ERASE + self._bar() if self.terminal else self._text() + "\n")

    def _write(self, text: str) -> None:
        """Write to a person, who may have closed the terminal meanwhile: that is no reason to fail."""
        if self.shown:
            with self.lock, suppress(OSError):
                self.stream.write(text)
                self.stream.flush()

    def _text(self) -> str:
        seconds = max(time.monotonic() - self.started, 1e-3)
        parts = [f"{seconds:.0f} s"]
        if self.total and self.done >= self.total and not self.over.is_set():
            parts.insert(0, self.then)
        elif self.total or self.done:
            parts.insert(0, self._count())
            if self.unit == "B":
                parts.append(f"{amount(self.done / seconds, 'B')}/s")
        return f"{self.label}: {', '.join(parts)}"

    def _count(self) -> str:
        if not self.total:
            return amount(self.done, self.unit)
        done = amount(self.done, self.unit if self.unit == "B" else "")
        return f"{done} of {amount(self.total, self.unit)} ({int(100 * self.done / self.total)}%)"

    def _bar(self) -> str:
        if not self.total:
            return self._text()
        filled = round(BAR_WIDTH * min(max(self.done / self.total, 0), 1))
        bar = "#" * filled + "-" * (BAR_WIDTH - filled)
        if self.colour:
            bar = f"\x1b[32m{bar}\x1b[0m"
        room = shutil.get_terminal_size().columns - BAR_WIDTH - 4
        return f"[{bar}] {self._text()[: max(room, 10)]}"


def amount(value: float, unit: str) -> str:
    """Return a quantity for people: bytes in decimal multiples, anything else as a whole number."""
    if unit != "B":
        return f"{value:.0f} {unit}".rstrip()
    for prefix, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= size:
            return f"{value / size:.1f} {prefix}B"
    return f"{value:.0f} B"
