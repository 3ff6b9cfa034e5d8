"""The parent's side of the telemetry process: its readings as they come, and where they come from."""

from __future__ import annotations

import json
import os
import time
from typing import Any

from benchmarks.children import Fresh
from benchmarks.lines import Lines
from schema.records import unknown

#: A sample waits no longer than this for a sensor reading that covers it.
PATIENCE_S = 0.5


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
        self.child.ended(1.0)
        self.child.close()
