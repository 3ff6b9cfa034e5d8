"""What times the samples: the host's clock around finished work, or a pair of events on the device's stream."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Any

from benchmarks import statistics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

#: A launch is hidden while the device needs longer for a step than the host to queue it, with this much to spare.
HIDDEN = 0.8
#: The delay kernel outlasts the queueing of a sample by this factor, and once more for each time that it did not.
DELAY_MARGIN = 1.5
LONGEST_MARGIN = 8.0
#: CUDA queues about 1024 launches before it makes the host wait, which would defeat the delay. A step may be many
#: launches, so this is where the search begins for how many steps really fit.
MAX_QUEUED_STEPS = 500
MAX_QUEUED_S = 0.2
#: Share of samples from which a delay that was too short makes the whole launch-bound.
EXPOSED = 0.05
HIDDEN_TIMING = "events on the stream, launches queued behind a delay kernel"
BOUND_TIMING = "events on the stream; launch-bound: the host queues steps slower than they run"
IN_FLIGHT = 2


class HostClock:
    """`perf_counter_ns` around the steps, which have finished when they return."""

    name = "host"
    max_inner = None

    def __init__(self) -> None:
        self.facts: dict[str, Any] = {"timing": "host clock around the steps"}
        self.resolution_s = 1e-9 * min(_positive_steps(time.perf_counter_ns, 1000), default=1)
        self.facts["clock_resolution_s"] = self.resolution_s

    def synchronize(self) -> None:
        """Wait until the device is idle: a CPU always is."""

    def survey(self, run: Callable[[int], None], *, may_delay: bool) -> float:
        """Return seconds of one step, roughly."""
        del may_delay
        return min(self._timed(run, 1) for _ in range(3))

    def samples(self, run: Callable[[int], None], inner: Callable[[], int]) -> Iterator[tuple[float, float]]:
        """Yield (seconds of one step, CLOCK_MONOTONIC at its end) for ever; `run(n)` does n steps."""
        while True:
            yield self._timed(run, inner()), time.monotonic()

    @staticmethod
    def _timed(run: Callable[[int], None], inner: int) -> float:
        begin = time.perf_counter_ns()
        run(inner)
        # A clock that did not tick gives its own resolution, not zero: zero seconds is never true.
        return max(time.perf_counter_ns() - begin, 1) * 1e-9 / inner


class EventClock:
    """Event pairs on the stream, with the queue never empty between the two.

    The host queues a sample while the one before it still runs (`IN_FLIGHT`), so the first kernel of a sample never
    waits for its launch. That is enough while a step takes the device longer than the host takes to queue it. For
    shorter steps a delay kernel is queued first, behind which all launches of the sample pile up. That they did is
    verified for each sample: its first event must be yet to come when its last launch is queued. How it was timed is
    recorded in `facts["timing"]`.
    """

    name = "event"

    def __init__(self, cuda: Any = None) -> None:
        if cuda is None:
            from torch import cuda
        self.cuda = cuda
        self.facts: dict[str, Any] = {"timing": "events on the stream, queue kept full"}
        self.resolution_s, overhead_s = self._resolution()
        # Stored, never subtracted: a correction would be a guess about how it overlaps with real work.
        self.facts["event_resolution_s"] = self.resolution_s
        self.facts["event_overhead_s"] = overhead_s
        #: Most steps in one sample: with a delay, as many as the queue takes without making the host wait.
        self.max_inner: int | None = None
        self._cycles_a_second = 0.0
        self._delay_s_a_step = 0.0
        self._host_step_s = 0.0
        self._queued = self._exposed = 0

    def synchronize(self) -> None:
        """Wait until the device is idle."""
        self.cuda.synchronize()

    def survey(self, run: Callable[[int], None], *, may_delay: bool) -> float:
        """Return device seconds of one step, roughly; decide whether launches must be hidden behind a delay."""
        self.synchronize()
        begin = time.perf_counter()
        run(1)
        self.synchronize()
        steps = max(3, min(20, int(0.1 / max(time.perf_counter() - begin, 1e-6))))
        start, end = self._event(), self._event()
        start.record()
        begin = time.perf_counter()
        run(steps)
        host_s = (time.perf_counter() - begin) / steps
        end.record()
        end.synchronize()
        device_s = max(start.elapsed_time(end) * 1e-3 / steps, 1e-9)
        self.facts["host_step_s"] = self._host_step_s = host_s
        if host_s > HIDDEN * device_s:
            if may_delay and hasattr(self.cuda, "_sleep") and self._hide(run):
                self.facts["timing"] = HIDDEN_TIMING
                steps = min(steps, self.max_inner or steps)
                device_s = min(self._timed(run, steps) for _ in range(3))
            else:
                self.facts["timing"] = BOUND_TIMING
        return device_s

    def _hide(self, run: Callable[[int], None]) -> bool:
        """Find how many steps can be queued behind a delay, and how long it must be; False when not even one can.

        Where the delay was over too early a longer one may do, else the queue was full and fewer steps may fit.
        """
        self._calibrate_delay()
        steps = max(1, min(MAX_QUEUED_STEPS, int(MAX_QUEUED_S / self._host_step_s)))
        while steps:
            self._delay_s_a_step, self.max_inner = self._host_step_s * DELAY_MARGIN, steps
            for _ in range(2):
                self._queued = self._exposed = 0
                self._timed(run, steps)
                if not self._exposed:
                    return True
            steps //= 2
        self._delay_s_a_step, self.max_inner = 0.0, None
        return False

    def samples(self, run: Callable[[int], None], inner: Callable[[], int]) -> Iterator[tuple[float, float]]:
        """Yield (seconds of one step, CLOCK_MONOTONIC at its end) for ever; `run(n)` queues n steps."""
        queued: deque[tuple[Any, Any, int]] = deque()
        while True:
            while len(queued) < IN_FLIGHT:
                queued.append(self._queue(run, inner()))
            start, end, steps = queued.popleft()
            end.synchronize()
            at = time.monotonic()
            yield self._elapsed(start, end) / steps, at

    def _queue(self, run: Callable[[int], None], steps: int) -> tuple[Any, Any, int]:
        start, end = self._event(), self._event()
        if self._delay_s_a_step:
            self.cuda._sleep(int(self._cycles_a_second * self._delay_s_a_step * steps) + 1)  # noqa: SLF001 - torch's only delay kernel
        start.record()
        run(steps)
        end.record()
        if self._delay_s_a_step:
            self._count(exposed=start.query())
        return start, end, steps

    def _count(self, *, exposed: bool) -> None:
        """Note whether the device began a sample before its last launch was queued; then make the next delay longer."""
        self._queued += 1
        if exposed:
            self._exposed += 1
            longest = LONGEST_MARGIN * self._host_step_s
            self._delay_s_a_step = min(longest, self._delay_s_a_step * DELAY_MARGIN)
        self.facts["exposed_samples"] = self._exposed
        self.facts["timing"] = BOUND_TIMING if self._exposed > EXPOSED * self._queued else HIDDEN_TIMING

    def _timed(self, run: Callable[[int], None], steps: int) -> float:
        start, end, steps = self._queue(run, steps)
        end.synchronize()
        return self._elapsed(start, end) / steps

    def _elapsed(self, start: Any, end: Any) -> float:
        # Events closer than their resolution read as zero, which is never true.
        return max(start.elapsed_time(end) * 1e-3, self.resolution_s)

    def _event(self) -> Any:
        return self.cuda.Event(enable_timing=True)

    def _calibrate_delay(self) -> None:
        # The delay counts clock cycles, and the clock moves: the margin covers that.
        cycles = 1_000_000
        times = []
        for _ in range(3):
            start, end = self._event(), self._event()
            start.record()
            self.cuda._sleep(cycles)  # noqa: SLF001 - torch's only delay kernel
            end.record()
            end.synchronize()
            times.append(start.elapsed_time(end) * 1e-3)
        self._cycles_a_second = cycles / min(times)

    def _resolution(self) -> tuple[float, float]:
        """Return the smallest step between readings of empty event pairs, and their median, in seconds."""
        pairs = []
        for _ in range(200):
            start, end = self._event(), self._event()
            start.record()
            end.record()
            pairs.append((start, end))
        self.synchronize()
        readings = [start.elapsed_time(end) * 1e-3 for start, end in pairs]
        ticks = sorted({round(reading * 1e9) for reading in readings})
        steps = [late - early for early, late in zip(ticks, ticks[1:])]
        # One value throughout: the resolution is no finer than what was seen, else CUDA's documented half microsecond.
        return max(min(steps, default=500) * 1e-9, 1e-9), statistics.median(readings)


def _positive_steps(clock: Callable[[], int], count: int) -> list[int]:
    readings = [clock() for _ in range(count)]
    return [late - early for early, late in zip(readings, readings[1:]) if late > early]


#: The clock of each backend.
CLOCKS: dict[str, Any] = {"rocm": EventClock, "cuda": EventClock, "cpu": HostClock}
