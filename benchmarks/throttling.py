"""Which samples were taken while the device ran slower than it could? Pure.

A sample is tagged, and kept, when a reading during it (or the last one before it, if recent) says that the device was
held back, or that its clock was below 90 % of the median so far. The power cap counts: it holds the clock down, and a
reader must know that a figure is the sustained one. Why it is told apart in words: docs/concepts/measuring.md.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from benchmarks import statistics

FRESH_S = 0.25  # a reading says nothing about a sample that ends later than this
LOW_CLOCK = 0.9
FEWEST_CLOCKS = 10
#: Share of tagged samples from which the process counts as throttled.
SHARE = 0.05
LOW = "clock below 90 % of its median"


class Tagger:
    """Holds the readings of one process, and tags its samples in the order in which they come."""

    def __init__(self) -> None:
        self.readings: list[tuple[float, list[str]]] = []
        self.clocks: list[float] = []
        self.samples = 0
        self.tagged = 0
        self.reasons: Counter[str] = Counter()

    def fresh(self) -> Tagger:
        """Return a tagger that knows the last reading only, for what begins now."""
        new = Tagger()
        new.readings = self.readings[-1:]
        return new

    def add(self, reading: dict[str, Any]) -> None:
        """Take one reading, later than those before."""
        reasons = list(reading.get("throttle", []))
        clock = reading.get("clock_hz")
        if clock:
            if len(self.clocks) >= FEWEST_CLOCKS and clock < LOW_CLOCK * statistics.median(self.clocks):
                reasons.append(LOW)
            self.clocks.append(clock)
        self.readings.append((reading["at_s"], reasons))

    def knows(self, at_s: float) -> bool:
        """Return whether a reading at or after this time has come, so that a sample then can be judged."""
        return bool(self.readings) and self.readings[-1][0] >= at_s

    def tags(self, begin_s: float, end_s: float) -> list[str]:
        """Return the tags of a sample between two times."""
        self.samples += 1
        found: set[str] = set()
        for at, reasons in reversed(self.readings):
            if at > end_s:
                continue
            if at < end_s - FRESH_S and at < begin_s:
                break
            found.update(reasons)
            if at < begin_s:
                break
        self.reasons.update(found)
        self.tagged += bool(found)
        return ["throttled"] if found else []

    def verdict(self) -> str | None:
        """Return why this process counts as throttled, with shares; None when it does not."""
        if not self.samples or self.tagged < SHARE * self.samples:
            return None
        ranked = sorted(self.reasons.items(), key=lambda item: (-item[1], item[0]))
        shares = ", ".join(f"{name} ({count / self.samples:.0%})" for name, count in ranked)
        mostly = set(self.reasons) == {"power cap"} and self.tagged > self.samples / 2
        at_cap = " It ran at its power cap: this is its sustained rate." if mostly else ""
        return f"held back in {self.tagged} of {self.samples} samples: {shares}.{at_cap}"
