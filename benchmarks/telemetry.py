"""Read a device's sensors, ten times a second, in a process of its own: `python3 -m benchmarks.telemetry`.

A process of its own because reading takes up to milliseconds, which must not fall between samples. It gets one JSON
object on stdin ({"pci", "backend", "origin", "fd"}), writes one reading a line to the file descriptor `fd`, and ends
when stdin closes: it cannot outlive its parent.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import sys
import time
from typing import TYPE_CHECKING, Any

from schema.records import unknown
from schema.stream import compact
from validate import amd
from validate.machine import Machine
from validate.nvml import Nvml

if TYPE_CHECKING:
    from collections.abc import Callable

PERIOD_S = 0.1
#: amdgpu names no reason in sysfs, so power at the cap is read from the two figures themselves.
AT_CAP = 0.98


class Absent:
    """No sensors, with the reason."""

    def __init__(self, reason: str) -> None:
        self.source = unknown(reason)

    def read(self) -> dict[str, Any]:
        """Return nothing: what cannot be read is absent."""
        return {}


class Nvidia:
    """NVIDIA's management library."""

    def __init__(self, pci: str) -> None:
        self.nvml, self.pci = Nvml(), pci
        if pci not in self.nvml.handles:
            raise OSError(f"NVML knows no device at {pci}")
        self.source = {
            "source": "NVML",
            "power": "nvmlDeviceGetPowerUsage: on recent parts the mean over the last second",
            "reads": sorted(self.read()),
        }

    def read(self) -> dict[str, Any]:
        """Return one reading."""
        reading = self.nvml.sensors(self.pci)
        reading.pop("energy_j", None)
        return reading


class Amd:
    """The amdgpu driver's files in sysfs, found by PCI address."""

    def __init__(self, pci: str, machine: Any = None) -> None:
        self.machine, self.pci = machine or Machine(), pci
        self.cap_w = amd.sensor(self.machine, f"{amd.PCI}/{pci}", "power1_cap", amd.MICRO)
        reads = self.read()
        if not reads:
            raise OSError(f"{amd.PCI}/{pci} has no sensor that can be read: is the amdgpu driver loaded?")
        self.source = {
            "source": "amdgpu sysfs",
            "throttle": f"sysfs names no reason; `power cap` is said at {AT_CAP:.0%} of power1_cap",
            "reads": sorted(reads),
        }

    def read(self) -> dict[str, Any]:
        """Return one reading; files that are missing or refuse are left out."""
        reading = amd.sensors(self.machine, self.pci)
        reading.pop("energy_j", None)
        if self.cap_w and reading.get("power_w", 0.0) >= AT_CAP * self.cap_w:
            reading["throttle"] = ["power cap"]
        return reading


#: Where each backend's sensors are.
SENSORS: dict[str, Callable[[str], Any]] = {
    "rocm": Amd,
    "cuda": Nvidia,
    "cpu": lambda _: Absent("a CPU's sensors are not read"),
}


def sensors(backend: str, pci: str | None) -> Any:
    """Return the sensors of the device; `Absent`, saying why, where there are none to read."""
    if pci is None and backend != "cpu":
        return Absent("the device's PCI address is unknown, and devices are joined by nothing else")
    try:
        return SENSORS[backend](pci or "")
    except OSError as error:
        return Absent(str(error))


def main() -> int:
    """Write readings until stdin closes."""
    job = json.loads(sys.stdin.readline())
    found = sensors(job["backend"], job["pci"])
    with os.fdopen(job["fd"], "w", encoding="utf-8", newline="\n") as channel, contextlib.suppress(BrokenPipeError):
        channel.write(compact({"kind": "source", **found.source}) + "\n")
        channel.flush()
        if isinstance(found, Absent):
            return 0
        due = time.monotonic()
        while not select.select([sys.stdin], [], [], max(0.0, due - time.monotonic()))[0]:
            line = _reading(found, job["origin"])
            channel.write(compact(line) + "\n")
            channel.flush()
            if line["kind"] == "source":
                return 0
            due = max(due + PERIOD_S, time.monotonic())
    return 0


def _reading(found: Any, origin: float) -> dict[str, Any]:
    """Return a reading, or, where sensors that answered fail, the source from now on: none, and why."""
    try:
        reading = found.read()
    except Exception as error:  # noqa: BLE001 - sensors fail in their libraries' ways; the run goes on without them
        at_s = time.monotonic() - origin
        why = f"{found.source['source']} failed {at_s:.1f} s after the start: {type(error).__name__}: {error}"
        return {"kind": "source", **unknown(why)}
    return {"kind": "reading", "at_s": time.monotonic() - origin, **reading}


if __name__ == "__main__":
    sys.exit(main())
