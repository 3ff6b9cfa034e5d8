"""Measure one case in this process: correct first, warm until steady, sample until precise, correct afterwards.

The numbers of the method (docs/concepts/measuring.md) are the constants here and the fields of the protocol.
"""

from __future__ import annotations

import gc
import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from benchmarks import statistics
from benchmarks.correctness import correctness, every_value_finite, judged, tensors, why_wrong
from benchmarks.endings import AFTER_WRONG
from benchmarks.steps import Steps
from schema.records import SampleStatus

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.workbench import Workbench

SHORTEST_SAMPLE_S = 100e-6
RESOLUTIONS_A_SAMPLE = 1000  # a reading is then good to 0.1 %
#: About so many samples in the shortest sampling, so 30 ms each in `quick`. A card at its power cap hops between clock
#: steps every 10 to 20 ms: shorter samples fall on a few levels, and their median flips between two of them.
SAMPLES_WANTED = 100
BLOCK = 20  # samples of a warm-up block
SMALLEST_BLOCK = 3
STEADY = 0.005  # relative change between blocks that counts as none
FEWEST_SAMPLES = 30
MOST_SAMPLES = 10_000
LOOK_AGAIN = 1.1  # sampling looks at its precision each time the samples have grown by this factor
#: What these groups measure is a kernel, whose launch may be hidden. A model, or a case of unknown kind, is measured as
#: its user has it, who waits for the launches too.
KERNELS = frozenset({"compute", "memory"})
#: Flags of a measured process, mildest first; its status is the last that applies.
SEVERITY = (
    SampleStatus.OK,
    SampleStatus.THROTTLED,
    SampleStatus.DRIFT,
    SampleStatus.NOT_STEADY,
    SampleStatus.NOT_CONVERGED,
)


class Misfit(Exception):  # noqa: N818 - named for what the case is
    """A function of a case does not keep to the case protocol: the function, and what is wrong with it."""

    def __init__(self, function: Any, words: str) -> None:
        super().__init__(words)
        self.function = function


@dataclass
class Run:
    """One case in one process on its way: what `measure` fills, and what is left when it is cut short."""

    case: str
    process: int
    fields: dict[str, Any] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    flags: list[tuple[SampleStatus, str]] = field(default_factory=list)

    def end(self, status: SampleStatus | None = None, reason: str = "") -> dict[str, Any]:
        """Return the fields of the process record: the given status, or the worst of the flags with all reasons."""
        flags = [(status, reason)] if status else sorted(self.flags, key=lambda flag: SEVERITY.index(flag[0]))
        out = {**self.fields, "status": (flags[-1][0] if flags else SampleStatus.OK).value}
        if flags:
            out["reason"] = "; ".join(text for _, text in reversed(flags))
        if self.facts:
            out["facts"] = self.facts
        return out


def measure(
    case: Any,
    item: dict[str, Any],
    bench: Workbench,
    clock: Any,
    *,
    protocol: dict[str, Any],
    run: Run,
    emit: Callable[[int, float, float], None],
    phase: Callable[[str], None],
    origin: float,
) -> dict[str, Any]:
    """Measure `case` (a module of the case protocol) as `item` of the protocol describes; return the process fields.

    `emit(index, seconds, at_s)` gets each sample as it is taken, `phase(name)` what begins. Whatever the case raises
    comes out as it is; `run` then holds what was learnt before.
    """
    begin = time.perf_counter()
    phase("prepare")
    state = case.prepare(bench, item["parameters"])
    clock.synchronize()
    run.fields["setup_s"] = run.fields.get("setup_s", 0.0) + time.perf_counter() - begin
    run.fields["cache"] = bench.cache
    steps = Steps(case.step, state, bench.cache["sets"])
    phase("first step")
    begin = time.perf_counter()
    steps.run(1)
    clock.synchronize()
    run.fields["first_call_s"] = time.perf_counter() - begin
    if steps.output is None:
        raise Misfit(case.step, "step() returned None: return the output")
    phase("check before")
    if reason := _check(case, steps, bench, run.fields, "check_before"):
        phase(AFTER_WRONG)
        return run.end(SampleStatus.INVALID, f"before timing: {reason}")
    phase("warm-up")
    gc.collect()
    gc.disable()
    try:
        samples = warm_up(clock, steps, protocol, run, may_delay=item["group"] in KERNELS)
        phase("sampling")
        sample(samples, protocol, run, emit, origin)
    finally:
        gc.enable()
        run.facts.update(clock.facts)
    clock.synchronize()
    phase("check after")
    reason = _check(case, steps, bench, run.fields, "check_after")
    if not reason and bench.poison():
        # What the timed steps left may be older than they are: a kernel that stopped writing leaves NaN now.
        steps.run(len(steps.outputs))
        clock.synchronize()
        reason = _check(case, steps, bench, run.fields, "check_after")
    if reason:
        phase(AFTER_WRONG)
        return run.end(SampleStatus.INVALID, f"after timing: {reason}")
    return run.end()


def _check(case: Any, steps: Steps, bench: Workbench, fields: dict[str, Any], name: str) -> str:
    """Check the last output as the steps left it; return why it is wrong, or an empty text."""
    elsewhere = {tensor.device.type for tensor in tensors(steps.output)} - {bench.device.type}
    if elsewhere:
        return f"output lies on {', '.join(sorted(elsewhere))}, not on {bench.device.type}: another device did the work"
    said = case.check(steps.state, steps.last, steps.output)
    try:
        found = judged(said)
    except (TypeError, ValueError) as error:
        raise Misfit(
            case.check, f"check() returned {error}: return what benchmarks.correctness.compare does"
        ) from error
    if not every_value_finite(steps.outputs):
        found = correctness(found["error"], found["tolerance"], found["reference"], finite=False)
    fields[name] = found
    return why_wrong(found)


def warm_up(clock: Any, steps: Steps, protocol: dict[str, Any], run: Run, *, may_delay: bool) -> Any:
    """Run until blocks of samples agree; return the stream of samples, still flowing."""
    begin, before = time.monotonic(), steps.done
    step_s = clock.survey(steps.run, may_delay=may_delay)
    floor_s = max(SHORTEST_SAMPLE_S, RESOLUTIONS_A_SAMPLE * clock.resolution_s)
    wanted_s = max(floor_s, protocol["sampling_s"] / SAMPLES_WANTED)
    inner = _inner(wanted_s, step_s, clock.max_inner)
    samples = clock.samples(steps.run, lambda: inner)
    least, most = protocol["warm_up_s"], protocol.get("warm_up_max_s", 30.0)
    size = max(SMALLEST_BLOCK, min(BLOCK, int(least / 3 / (inner * step_s))))
    block: list[float] = []
    medians: list[float] = []
    while True:
        seconds, at = next(samples)
        block.append(seconds)
        if len(block) == size:
            medians.append(statistics.median(block))
            block = []
        steady = len(medians) >= 3 and all(
            abs(late / early - 1) < STEADY for early, late in ((medians[-3], medians[-2]), (medians[-2], medians[-1]))
        )
        elapsed = at - begin
        if (steady and elapsed >= least) or elapsed >= most:
            break
        if not block and medians[-1] * inner < wanted_s:
            # The device got faster than it was in its first steps: its clocks were still rising.
            inner = _inner(wanted_s, medians[-1], clock.max_inner)
    run.fields["warm_up"] = {"seconds": elapsed, "steps": steps.done - before, "steady": steady}
    run.fields["inner"], run.fields["clock"] = inner, clock.name
    if not steady:
        run.flags.append(
            (SampleStatus.NOT_STEADY, f"blocks of {size} samples still differed by {STEADY:.1%} after {elapsed:.1f} s")
        )
    return samples


def _inner(wanted_s: float, step_s: float, most: int | None) -> int:
    count = max(1, math.ceil(wanted_s / step_s))
    return min(count, most) if most else count


def sample(
    samples: Any,
    protocol: dict[str, Any],
    run: Run,
    emit: Callable[[int, float, float], None],
    origin: float,
) -> None:
    """Take samples until the median's interval is narrow, or time or count run out; flag what is not as it should."""
    values: list[float] = []
    times: list[float] = []
    begin = time.monotonic()
    look, rule = FEWEST_SAMPLES, ""
    while not rule:
        seconds, at = next(samples)
        values.append(seconds)
        times.append(at - begin)
        emit(len(values) - 1, seconds, at - origin)
        over = times[-1] >= protocol["sampling_max_s"] or len(values) >= MOST_SAMPLES
        if over or (len(values) >= look and times[-1] >= protocol["sampling_s"]):
            width = statistics.median_half_width(values)
            look = 10 * math.ceil(len(values) * LOOK_AGAIN / 10)
            if len(values) >= FEWEST_SAMPLES and width.relative <= protocol["half_width"]:
                rule = "precision"
            elif over:
                rule = "count" if len(values) >= MOST_SAMPLES else "time"
    if rule != "precision":
        run.flags.append((SampleStatus.NOT_CONVERGED, _not_converged(len(values), times[-1], width, protocol)))
    run.fields["stop"] = {
        "rule": rule,
        "samples": len(values),
        "seconds": times[-1],
        "half_width": width.relative if math.isfinite(width.relative) else None,
        "autocorrelation": width.autocorrelation,
    }
    run.facts["sampling_s"] = [begin - origin, begin - origin + times[-1]]
    drift = statistics.drift(times, values)
    if math.isfinite(drift.low) and math.isfinite(drift.high):
        run.facts["drift"] = {"relative": drift.relative, "low": drift.low, "high": drift.high}
    if drift.flagged:
        run.flags.append((SampleStatus.DRIFT, f"the second half is {drift.relative:+.1%} against the first"))


def _not_converged(count: int, seconds: float, width: statistics.HalfWidth, protocol: dict[str, Any]) -> str:
    if count < FEWEST_SAMPLES:
        return (
            f"{count} samples in {seconds:.1f} s, fewer than {FEWEST_SAMPLES}: too few to know the median's precision"
        )
    seen = f"{width.relative:.3%}" if math.isfinite(width.relative) else "unknown: they depend on each other too much"
    return (
        f"after {count} samples in {seconds:.1f} s the median's half-width is {seen}, "
        f"wanted at most {protocol['half_width']:.3%}"
    )
