"""Does the speed of a process's samples fit the time between them, and its warm-up?

A device is busy nearly all the time, so work that fills little of it was not done at that speed. Two things leave it
idle: other programs on a shared processor, and the delay behind which the launches of a kernel pile up. A delay is not
believed of whoever says so: the measuring core has one for kernels alone, and it is no longer than the host needs.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from benchmarks.clocks import DELAY_MARGIN, LONGEST_MARGIN
from benchmarks.statistics import median
from bundle.ledger import Disagreement

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: Groups of cases whose launches may be hidden, as `benchmarks.measuring` has them, which would bring sockets with it.
KERNELS = frozenset({"compute", "memory"})
#: Fewer samples have no typical distance.
FEW = 10
#: Least share of the time between two samples that is theirs, and where something else may fill it.
BUSY, BUSY_LOOSE = 0.25, 0.05
#: How often over or under the warm-up's steps may fill its seconds, at the speed of the samples: clocks rise and fall,
#: machines stall.
WARM_UP, WARM_UP_LOOSE = 25.0, 100.0
#: A delay counts clock cycles, and lasts longer where the clock falls.
CLOCK_FALLS = 2.0
#: In `facts.timing` of a process without a delay, and with one.
KEPT_FULL, DELAYED = "queue kept full", "delay"


def disagreements(
    run: dict[str, Any], series: Sequence[float], times: Sequence[float], group: str | None
) -> Iterator[Disagreement]:
    """Yield what cannot be of the speed of one process whose case is of this group."""
    facts = run.get("facts", {})
    timing = str(facts.get("timing", ""))
    delayed = "exposed_samples" in facts or DELAYED in timing
    if delayed and (group not in KERNELS or run["clock"] == "host" or KEPT_FULL in timing):
        seen = f"{facts.get('exposed_samples', 'no')} exposed samples; {timing or 'nothing said'}"
        yield Disagreement("the timing", seen, "no delay: only kernels on a GPU have one, and then no queue kept full")
        delayed = False
    loose = delayed or run["clock"] == "host"  # a processor is shared with whatever else runs there
    step_s, idle_s = median(series), _delay(facts) if delayed else 0.0
    if len(series) >= FEW:
        inner, apart = run["inner"] * step_s, median([after - before for before, after in pairwise(times)])
        explained = inner + run["inner"] * idle_s >= apart if idle_s else False
        if not (inner >= (BUSY_LOOSE if loose else BUSY) * apart or explained):
            yield Disagreement("the inner steps of a sample", inner, f"about the {apart} s from one to the next")
    yield from _warm_up(run, step_s, idle_s, WARM_UP_LOOSE if loose else WARM_UP, few=len(series) < FEW)


def _warm_up(run: dict[str, Any], step_s: float, idle_s: float, factor: float, *, few: bool) -> Iterator[Disagreement]:
    steps, seconds = run["warm_up"]["steps"], run["warm_up"]["seconds"]
    if not run["inner"] <= steps:
        yield Disagreement("the steps of the warm-up", steps, f"at least one sample of {run['inner']}")
        return
    # few samples may all fall into one stall of the machine; a processor that others use may stall for a whole warm-up
    slow = seconds / factor <= steps * (step_s + idle_s) or run["clock"] == "host"
    fast = steps * step_s <= seconds * factor
    if not slow or not (few or fast):
        seen = f"{steps} steps in {seconds} s"
        yield Disagreement("the speed of the warm-up", seen, f"about that of its samples, {step_s} s a step")


def _delay(facts: dict[str, Any]) -> float:
    """Return the most seconds that the delay before a step lasts, by the process's own facts; 0 where they do not tell.

    It is some of the host's time for a step, more each time that it was too short. A host so busy that it needs a
    hundred times as long as the device is slow, not a liar.
    """
    host_s, exposed = facts.get("host_step_s"), facts.get("exposed_samples", 0)
    if not all(isinstance(number, (int, float)) and number >= 0 for number in (host_s, exposed)):
        return 0.0
    # twice when it was chosen, then once for each sample that was not hidden; beyond some ten it is the longest
    margin = min(LONGEST_MARGIN, DELAY_MARGIN ** (2 + min(exposed, 10)))
    return float(CLOCK_FALLS * margin * host_s)
