"""Run a protocol: each group of its order in a fresh process, every position ending in exactly one process record."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Any

from benchmarks import plan, statistics, throttling
from benchmarks.children import Fresh
from benchmarks.correctness import wrong
from benchmarks.endings import Ended, reason_of, redact
from benchmarks.intake import Intake
from benchmarks.progress import Progress
from benchmarks.sampler import PATIENCE_S, Sampler
from benchmarks.watching import Watch
from schema.records import SampleStatus
from schema.stream import say

if TYPE_CHECKING:
    from schema.stream import Writer
    from validate.entry_point import Signals

COOL_K = 3.0  # a device counts as cool within so many kelvin of its temperature before the run
IDLE_KEYS = ("power_w", "clock_hz", "temperature_c", "memory_used_bytes", "throttle")


class Relay:
    """Takes a child's records, tags samples by the sensor readings around them, and writes both.

    A process record is held until the next one, or the child's end: what it left behind belongs into its last one.
    """

    def __init__(
        self, writer: Writer, sampler: Sampler, device: str, positions: dict[tuple[str, int], int], progress: Progress
    ) -> None:
        self.writer, self.sampler, self.device, self.positions = writer, sampler, device, positions
        self.progress = progress
        self.waiting: deque[tuple[float, dict[str, Any]]] = deque()
        self.tagger = throttling.Tagger()
        self.idle: dict[str, Any] = {}
        self.position = -1
        self.taken: list[float] = []
        self.held: dict[str, Any] = {}
        self.done: dict[int, str] = {}
        self.refused = ""

    def begin(self, idle: dict[str, Any], position: int) -> None:
        """Get ready for the next process; `idle` is the last reading before it, `position` its first in the order."""
        self.idle, self.position, self.refused = idle, position, ""

    def take(self, item: dict[str, Any]) -> None:
        """Take one record of the child."""
        if item["kind"] == "phase":
            self._release()
            self.progress.begin(item["phase"])
            if "case" in item:
                self.position = self.positions[item["case"], item["process"]]
                if item["phase"] == "sampling":
                    # Clocks before steady state say nothing about the median while sampling.
                    self.tick()
                    self.tagger = self.tagger.fresh()
                if item["phase"] == "prepare":
                    self.taken = []
                    place = f"[{len(self.done) + 1}/{len(self.positions)}]"
                    say(f"{place} {item['case']}, process {item['process']}")
        elif item["kind"] == "sample":
            self.taken.append(item["seconds"])
            self.waiting.append((time.monotonic(), item))
        elif item["kind"] == "process":
            self._finish(item)
        elif item["kind"] == "refused":
            self.refused = item["message"]

    def end(self, ended: Ended) -> None:
        """Take note of how the child ended."""
        self.flush(wait=False)
        if self.held and ended.unfit:
            reason = "; then: ".join([*([self.held["reason"]] if wrong(self.held) else []), ended.unfit])
            self.held.update(status=SampleStatus.FAILED.value, reason=reason)
        elif self.held and ended.note:
            facts = self.held["facts"]
            facts["notes"] = [*facts.get("notes", []), ended.note]
        self._release()

    def tick(self) -> None:
        """Write the readings that have come, and the samples that they cover."""
        self.progress.tick()
        for reading in self.sampler.drain():
            self.tagger.add(reading)
            fields = {key: value for key, value in reading.items() if key != "throttle" or value}
            self.writer.write_object(
                {"kind": "telemetry", "process": max(self.position, 0), "device": self.device, **fields}
            )
        self.flush(wait=True)

    def flush(self, *, wait: bool) -> None:
        """Write the waiting samples: all, or those that a reading covers or that have waited long enough."""
        patient = wait and self.sampler.alive
        while self.waiting:
            since, item = self.waiting[0]
            if patient and not self.tagger.knows(item["at_s"]) and time.monotonic() - since < PATIENCE_S:
                break
            self.waiting.popleft()
            # The sample's own length is not in the record; the reading before its end covers it.
            tags = self.tagger.tags(item["at_s"] - item["seconds"], item["at_s"])
            self.writer.write_object({**item, "tags": tags} if tags else item)

    def _finish(self, item: dict[str, Any]) -> None:
        """Hold a child's process record, with what only the parent knows."""
        until = time.monotonic() + PATIENCE_S
        while self.waiting and self.sampler.alive and time.monotonic() < until:
            time.sleep(0.02)
            self.tick()
        self.flush(wait=False)
        facts = item.setdefault("facts", {})
        facts["telemetry"] = self.sampler.source
        if self.idle:
            facts["idle"] = self.idle
        held_back = self.tagger.verdict()
        if held_back:
            item["reason"] = "; ".join(filter(None, [item.get("reason"), held_back]))
            if SampleStatus(item["status"]) is SampleStatus.OK:
                item["status"] = SampleStatus.THROTTLED.value
        self.tagger = self.tagger.fresh()
        self.held = item

    def _release(self) -> None:
        held, self.held = self.held, {}
        if held:
            self.write_process(held)

    def write_process(self, item: dict[str, Any]) -> None:
        """Write a process record, in words that name no machine, and note that its position is done.

        A result that a check found wrong is invalid, whatever else its process says or does.
        """
        if wrong(item):
            item.update(status=SampleStatus.INVALID.value, reason=item.get("reason", "a check found its result wrong"))
        item.update({key: redact(item[key]) for key in ("reason", "facts") if key in item})
        self.writer.write_object(item)
        self.done[item["order"]] = item["status"]
        said = [item["status"]]
        if self.taken:
            said.append(f"{statistics.median(self.taken):.4g} s a step, {len(self.taken)} samples")
        if item.get("reason"):
            said.append(item["reason"])
        for line in ("; ".join(said), *item.get("facts", {}).get("notes", ())):
            say(f"    {line}")


def run(
    writer: Writer,
    protocol: dict[str, Any],
    job: dict[str, Any],
    sampler: Sampler,
    signals: Signals,
    *,
    shared: bool,
    cool_down_s: float,
) -> dict[int, str]:
    """Measure every position of the protocol's order; return the status of each. A signal ends it early, cleanly."""
    items = {item["case"]: item for item in protocol["cases"]}
    order, deadline_s = protocol["order"], protocol["deadline_s"]
    progress = Progress("waiting for the sensors", deadline_s)
    relay = Relay(
        writer,
        sampler,
        job["device"].get("pci") or job["device"]["name"],
        {(case, process): position for position, (case, process) in enumerate(order)},
        progress,
    )
    sampler.settle()
    start_c = sampler.last.get("temperature_c")
    groups = deque(plan.groups(protocol, shared=shared))
    while groups and not signals.name:
        group = groups.popleft()
        progress.begin("waiting for the device to cool down")
        idle = _idle(sampler, start_c, cool_down_s, signals, progress)
        relay.begin(idle, group[0])
        progress.begin("starting a process")
        tasks = [{"item": items[order[place][0]], "process": order[place][1], "order": place} for place in group]
        intake = Intake(((*order[place], place) for place in group), job["origin"])
        child = Fresh("benchmarks.child", {**job, "protocol": protocol, "tasks": tasks})
        try:
            ended = Watch(child, intake, relay.take, relay.tick, deadline_s).until_end(signals)
        finally:
            child.close()
        relay.end(ended)
        left = [place for place in group if place not in relay.done]
        if left:
            # The first one without a record is the one that ended it; those after it go on in a fresh process.
            status, reason = reason_of(ended, deadline_s, job.get("file", ""))
            if relay.refused:
                status, reason = "failed", relay.refused
            relay.write_process(_unmeasured(order, left[0], status, reason, sampler))
            if left[1:]:
                groups.appendleft(left[1:])
    for place in range(len(order)):
        if place not in relay.done:
            relay.write_process(
                _unmeasured(order, place, "killed", f"{signals.name} ended the run before it was measured", sampler)
            )
    return relay.done


def _unmeasured(order: list[Any], place: int, status: str, reason: str, sampler: Sampler) -> dict[str, Any]:
    case, process = order[place]
    record = {"kind": "process", "case": case, "process": process, "order": place, "status": status, "reason": reason}
    return {**record, "facts": {"telemetry": sampler.source}}


def _idle(
    sampler: Sampler, start_c: float | None, cool_down_s: float, signals: Signals, progress: Progress
) -> dict[str, Any]:
    """Wait until the device is cool, as long as the suite allows, and return the last reading before the process."""
    begin = time.monotonic()
    sampler.drain()
    while (
        start_c is not None
        and sampler.last.get("temperature_c", start_c) > start_c + COOL_K
        and time.monotonic() - begin < cool_down_s
        and not signals.name
    ):
        time.sleep(0.2)
        sampler.drain()
        progress.tick()
    idle = {key: sampler.last[key] for key in IDLE_KEYS if key in sampler.last}
    return {**idle, "cooled_s": time.monotonic() - begin} if idle else {}
