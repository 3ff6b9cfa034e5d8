"""Can the sensors' readings have been, and do the samples say what the sensors said?

How samples are tagged is told in `benchmarks.throttling`; what is asked here is less than every honest run shows.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any

from benchmarks.throttling import FRESH_S
from bundle import layout
from bundle.ledger import Disagreement
from schema.records import MEASURED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bundle.evidence import Evidence, Results

#: Least and most that a sensor of one device can say: watts, degrees Celsius, hertz, bytes.
BOUNDS = {
    "power_w": (0.0, 1e4),
    "temperature_c": (-50.0, 200.0),
    "clock_hz": (0.0, 1e11),
    "memory_used_bytes": (0, 1 << 50),
}
#: Where the device names its own most, by so much may a reading be above it. Power is capped on average, and a cap may
#: be raised while a run lasts; clocks may be lifted above their table.
ABOVE = {"power_w": ("power_cap_w", 5.0, 0), "clock_hz": ("clock_max_hz", 4.0, 0)}
#: What is used of a card's memory counts what the driver keeps of it, which its device does not count.
MEMORY = ("memory_bytes", 1.1, 2 << 30)
#: A part of a card has a part of its memory, while sensors are the card's.
WHOLE = {"compute_partition": {None, "SPX"}, "memory_partition": {None, "NPS1"}}
#: Samples of a case from which their tags can be compared with the readings, and the least share that is tagged: a
#: machine that stalls while a sampling begins may miss the readings of one process.
FEW, LEAST = 10, 0.5
CLAIMS = frozenset(status.value for status in MEASURED)


def disagreements(evidence: Evidence) -> Iterator[Disagreement]:
    """Yield readings that cannot be of this run, and tags that are missing."""
    if evidence.results:
        yield from _readings(evidence.results)
        yield from _tags(evidence.results)


def _readings(results: Results) -> Iterator[Disagreement]:
    devices = {device[key]: device for device in results.start["devices"] for key in ("pci", "name") if device.get(key)}
    bounds = {address: _bounds(device) for address, device in devices.items()}
    most = len(results.protocol["order"])
    wrong: dict[str, Disagreement] = {}  # the first of each kind is enough
    for reading in results.telemetry:
        if reading["device"] not in devices:
            wrong.setdefault("device", Disagreement("device", reading["device"], "a device of the run"))
        if not reading["process"] < most:
            wrong.setdefault("process", Disagreement("process", reading["process"], f"one of {most} in the order"))
        for name, (low, high) in bounds.get(reading["device"], BOUNDS).items():
            if name in reading and not low <= reading[name] <= high:
                wrong.setdefault(name, Disagreement(name, reading[name], f"between {low:g} and {high:g}"))
    for name, seen, expected in wrong.values():
        yield Disagreement(f"{layout.SAMPLES}: a sensor reading's {name}", seen, expected)


def _bounds(device: dict[str, Any]) -> dict[str, tuple[float, float]]:
    """Return the least and most that the sensors of a device can say."""
    whole = "MIG" not in device["name"] and all(device.get(key) in parts for key, parts in WHOLE.items())
    above = {**ABOVE, **({"memory_used_bytes": MEMORY} if whole else {})}
    found = dict(BOUNDS)
    for name, (key, factor, more) in above.items():
        low, high = BOUNDS[name]
        if device.get(key):
            found[name] = low, min(high, factor * device[key] + more)
    return found


def _tags(results: Results) -> Iterator[Disagreement]:
    """A sample that ends soon after a reading with a reason is tagged; some may be missed, most are not."""
    readings: list[dict[str, Any]] = sorted(results.telemetry, key=lambda reading: float(reading["at_s"]))
    times = [reading["at_s"] for reading in readings]
    held: dict[str, int] = {}
    tagged: dict[str, int] = {}
    for run in results.processes:
        key = (run["case"], run["process"])
        if run["status"] in CLAIMS:
            tagged[run["case"]] = tagged.get(run["case"], 0) + results.throttled.get(key, 0)
            for at_s in results.times.get(key, ()):
                last = bisect_right(times, at_s) - 1
                if last >= 0 and at_s - times[last] < FRESH_S and readings[last].get("throttle"):
                    held[run["case"]] = held.get(run["case"], 0) + 1
    for case, count in held.items():
        if count >= FEW and tagged[case] < LEAST * count:
            yield Disagreement(
                f"{layout.SAMPLES}: samples of {case} that are tagged as throttled",
                tagged[case],
                f"about {count}, by the reasons that its sensors gave",
            )
