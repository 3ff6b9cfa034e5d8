"""Copy: how fast does device memory move, read and written?"""

from __future__ import annotations

from typing import Any

from benchmarks.correctness import compare

GROUP = "memory"
UNIT = "B/s"
VARIANTS = {
    "fp32.16mib": {"dtype": "fp32", "elements": 4 << 20},
    "fp32.1gib": {"dtype": "fp32", "elements": 256 << 20},
}
TOLERANCE = {"fp32": 0.0}  # the same bits


def work(p: dict[str, Any]) -> dict[str, float]:
    """Every byte is read once and written once; nothing is computed."""
    return {"bytes": 2 * 4 * p["elements"]}


def prepare(bench: Any, p: dict[str, Any]) -> Any:
    """A random source and a poisoned target for each set."""
    count, dtype = p["elements"], p["dtype"]
    return [
        (bench.randn(count, dtype=dtype), bench.poisoned(count, dtype=dtype)) for _ in bench.sets(int(work(p)["bytes"]))
    ]


def step(state: Any, i: int) -> Any:
    """One copy."""
    source, target = state[i]
    return target.copy_(source)


def check(state: Any, i: int, output: Any) -> dict[str, Any]:
    """A copy is exact: the source must come out, every bit."""
    source, _ = state[i]
    return compare(output, source, TOLERANCE["fp32"], "the source, every element")
