"""Fix what will be measured, and in which order, before anything is. Pure."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from schema.errors import KitError


@dataclass(frozen=True)
class Suite:
    """How long and how often a suite measures; seconds. `shared` puts all cases of a repetition into one process."""

    processes: int
    warm_up_s: float
    warm_up_max_s: float
    sampling_s: float
    sampling_max_s: float
    half_width: float
    deadline_s: float
    cool_down_s: float = 0.0
    shared: bool = False


#: smoke shows that everything works; quick is for a look; publish is for a model card.
TIMING = {
    "smoke": Suite(2, 0.3, 1.0, 0.5, 1.0, half_width=0.05, deadline_s=180, shared=True),
    "quick": Suite(3, 2.0, 15.0, 3.0, 20.0, half_width=0.005, deadline_s=300),
    "publish": Suite(10, 2.0, 30.0, 3.0, 60.0, half_width=0.005, deadline_s=900, cool_down_s=60.0),
}
ALPHA = 0.05
MARGIN = 0.02  # a difference of 2 % is none in practice


def protocol(suite: str, timing: Suite, seed: int, cases: list[dict[str, Any]], deadline_s: float) -> dict[str, Any]:
    """Return the protocol of results-1."""
    return {
        "suite": suite,
        "processes": timing.processes,
        "seed": seed,
        "alpha": ALPHA,
        "margin": MARGIN,
        "test": "tost-log-process-medians",
        "warm_up_s": timing.warm_up_s,
        "warm_up_max_s": timing.warm_up_max_s,
        "sampling_s": timing.sampling_s,
        "sampling_max_s": timing.sampling_max_s,
        "half_width": timing.half_width,
        "deadline_s": deadline_s or timing.deadline_s,
        "order": order([case["case"] for case in cases], timing.processes, seed),
        "cases": cases,
    }


def order(names: list[str], processes: int, seed: int) -> list[list[Any]]:
    """Return [case, process] pairs: every case once a round, in an order of its own in each round.

    A drift of the machine then falls on all cases alike. Shuffled by Fisher and Yates on `Random.random()`, the only
    generator that every Python version promises to keep.
    """
    rng = random.Random(seed)  # noqa: S311 - an order, not a secret
    pairs: list[list[Any]] = []
    for process in range(processes):
        shuffled = list(names)
        for last in range(len(shuffled) - 1, 0, -1):
            other = int(rng.random() * (last + 1))
            shuffled[last], shuffled[other] = shuffled[other], shuffled[last]
        pairs += [[name, process] for name in shuffled]
    return pairs


def groups(protocol: dict[str, Any], *, shared: bool) -> list[list[int]]:
    """Return which positions of the order share a fresh process: one each, or all of a round."""
    count, cases = len(protocol["order"]), len(protocol["cases"])
    if not shared:
        return [[position] for position in range(count)]
    return [list(range(begin, begin + cases)) for begin in range(0, count, cases)]


def select(names: list[str], only: list[str]) -> list[str]:
    """Return the names that `only` asks for: a whole name, or what it begins with before a dot."""
    if not only:
        return names
    chosen = [name for name in names if any(name == want or name.startswith(want + ".") for want in only)]
    missing = [want for want in only if not any(name == want or name.startswith(want + ".") for name in names)]
    if missing:
        raise KitError(f"no case {', '.join(missing)} in this suite", f"cases here: {', '.join(names)}")
    return chosen
