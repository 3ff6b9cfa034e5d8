"""Hold the times that a child claims against its parent's own clock, which is the same: CLOCK_MONOTONIC. Pure.

A case shares its process with the clocks that time it, and may bend them. Bounds are far from what honest processes
show, busy machines included: a parent that is held up knows less of when something was sent, and doubts less.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from benchmarks.clocks import IN_FLIGHT
from benchmarks.statistics import median

if TYPE_CHECKING:
    from collections.abc import Sequence

AHEAD_S = 0.05  # two readings of one clock, subtracted again
#: Most of the samples are sent as soon as they are taken: the middle one's delay is not that of a busy machine.
BEHIND_S = 1.0
#: Seconds by which the device's clock may disagree with the host's over a whole sampling, and as a share of it.
DEVICE_S, DEVICE = 1.0, 0.02
#: Least share of the time between two samples that is theirs, by clock: others may have a processor in between, and a
#: device may wait behind a delay.
BUSY = {"host": 0.05, "event": 0.02}
FEW = 10  # samples; fewer have no typical distance, and share the time of all


class Seen(NamedTuple):
    """A sample as claimed, and between which two times it was sent; seconds since the run began."""

    seconds: float
    at_s: float
    after_s: float
    by_s: float


def doubt(samples: Sequence[Seen], sampled_s: float, inner: int, clock: str) -> str:
    """Return why the times of a sampling cannot be; empty where they can.

    It says that it lasted `sampled_s`, and that each sample is `inner` steps.
    """
    ahead = max(sample.at_s - sample.by_s for sample in samples)
    if ahead > AHEAD_S:
        return f"its clock runs ahead: a sample says that it was taken {ahead:.3g} s after it came"
    behind = median([sample.after_s - sample.at_s for sample in samples])
    if behind > BEHIND_S:
        return f"its clock falls behind: samples say that they were taken {behind:.3g} s before they were sent"
    took = [inner * sample.seconds for sample in samples]
    claimed, had = sum(took[IN_FLIGHT:]), samples[-1].by_s - samples[0].after_s
    if claimed > had * (1 + DEVICE) + DEVICE_S:
        return f"its samples say that they took {claimed:.3g} s, and came within {had:.3g} s"
    typical, apart = sum(took) / len(took), sampled_s / len(took)
    if len(samples) >= FEW:
        typical = median(took)
        apart = median([late.at_s - early.at_s for early, late in zip(samples, samples[1:])])
    if typical < BUSY[clock] * apart:
        return f"its samples say that they took {typical:.3g} s each, and are {apart:.3g} s apart"
    return ""
