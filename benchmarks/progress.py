"""Break a long silence on stderr: what is going on, since when, and how long it may."""

from __future__ import annotations

import time

from schema.stream import say

QUIET_S = 15.0


class Progress:
    """Knows what is going on; `tick` says it when nothing else was said for `QUIET_S`."""

    def __init__(self, doing: str, deadline_s: float) -> None:
        self.deadline_s = deadline_s
        self.begin(doing)

    def begin(self, doing: str) -> None:
        """Something else is going on now."""
        self.doing, self.since = doing, time.monotonic()
        self.said = self.since

    def tick(self) -> None:
        """Say what is going on if it is time."""
        now = time.monotonic()
        if now - self.said >= QUIET_S:
            self.said = now
            say(f"    {self.doing}: {now - self.since:.0f} s so far (a case may take {self.deadline_s:g} s)")
