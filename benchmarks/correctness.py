"""Hold an output against a reference of higher precision. NaN and infinity never pass."""

from __future__ import annotations

import math
import random
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PART = 1 << 24  # elements compared at once
#: Where the record of a process has what its checks found.
CHECKS = ("check_before", "check_after")
#: One element may be off by so many tolerances of the largest in the reference: the tail of the errors whose size over
#: all elements the tolerance bounds. A few elements that were never written vanish in the norm, and show here.
ELEMENT = 2.0


def correctness(error: float | None, tolerance: float, reference: str, *, finite: bool = True) -> dict[str, Any]:
    """Return the `correctness` object of results-1. This is the only place where a result passes.

    It passes when every value is finite and `error` is a number that is at most `tolerance`.
    """
    if error is not None and not -sys.float_info.max <= error <= sys.float_info.max:
        error = None
    passed = finite and error is not None and error <= tolerance
    return {"passed": passed, "error": error, "tolerance": tolerance, "finite": finite, "reference": reference}


def judged(found: Any) -> dict[str, Any]:
    """Return a `correctness` object of unknown origin, judged by its own numbers.

    Raises TypeError or ValueError, saying what is odd, for what is none and for one whose `passed` denies its numbers.
    """
    if not isinstance(found, dict):
        raise TypeError(f"{_short(found)}, which is no dict")
    found = {name: plain(value) for name, value in found.items()}
    if lacks := [name for name in KINDS if name not in found]:
        raise ValueError(f"{_short(found)}, which has no {', '.join(lacks)}")
    if added := [str(name) for name in found if name not in KINDS]:
        raise ValueError(f"{_short(found)}, in which {', '.join(added)} means nothing")
    for name, (kinds, words) in KINDS.items():
        if not isinstance(found[name], kinds) or (isinstance(found[name], bool) and kinds is not bool):
            raise TypeError(f"{name} {_short(found[name])}, which is {words}")
    if not 0 <= found["tolerance"] <= sys.float_info.max:
        raise ValueError(f"tolerance {found['tolerance']}, which is no number from 0 up")
    if found["error"] is not None and found["error"] < 0:
        raise ValueError(f"error {found['error']}, which is less than nothing")
    right = correctness(found["error"], found["tolerance"], found["reference"], finite=found["finite"])
    if right["passed"] is not found["passed"]:
        numbers = f"error {found['error']}, tolerance {found['tolerance']}, finite {found['finite']}"
        raise ValueError(f"passed {found['passed']}, and {numbers} say otherwise")
    return right


#: What each part of a `correctness` object may be, and how it is said that it is not.
KINDS: dict[str, tuple[Any, str]] = {
    "passed": (bool, "neither True nor False"),
    "error": ((int, float, type(None)), "neither a number nor None"),
    "tolerance": ((int, float), "no number"),
    "finite": (bool, "neither True nor False"),
    "reference": (str, "no text"),
}


def plain(value: Any) -> Any:
    """Return the number or truth value in what numpy and torch compute, as Python's own; anything else as it is."""
    return value.item() if hasattr(value, "item") and getattr(value, "shape", None) == () else value


def wrong(process: Mapping[str, Any]) -> bool:
    """Return whether the record of a process proves its result wrong, whatever its status says."""
    return any(not process[name]["passed"] for name in CHECKS if name in process)


def why_wrong(found: dict[str, Any]) -> str:
    """Return why a `correctness` object does not pass; empty when it does."""
    if found["passed"]:
        return ""
    if not found["finite"]:
        return "the output has NaN or infinity"
    error, allowed = found["error"], found["tolerance"]
    # in as many digits as tell the two apart
    said = (
        [[f"{number:.{digits}g}" for number in (error, allowed)] for digits in range(3, 18)]
        if error is not None
        else []
    )
    seen, most = next((pair for pair in said if pair[0] != pair[1]), ("that is no number", f"{allowed:.3g}"))
    return f"relative error {seen}, allowed {most}, against {found['reference']}"


def _short(value: Any) -> str:
    return repr(value)[:100]


def compare(output: Any, reference: Any, tolerance: float, name: str) -> dict[str, Any]:
    """Return the `correctness` object of `output` against `reference`, two tensors; `name` says what the latter is.

    Its `error` is ||output - reference|| / ||reference||. No element may be off by more than `ELEMENT` tolerances of
    the reference's largest either: that share, divided by `ELEMENT`, is the error where it is larger. Both are compared
    in float64 on the CPU, so that the device under test does not judge itself. A shape that differs fails: it never
    broadcasts.
    """
    if tuple(output.shape) != tuple(reference.shape):
        seen = f"{name} (of shape {tuple(reference.shape)}, the output has {tuple(output.shape)})"
        return correctness(None, tolerance, seen)
    squares, sizes, worst, largest = [], [], 0.0, 0.0
    for seen, expected in _parts(output, reference):
        if not (bool(seen.isfinite().all()) and bool(expected.isfinite().all())):
            return correctness(None, tolerance, name, finite=False)
        off = (seen - expected).abs()
        squares.append(float(off.square().sum()))
        sizes.append(float(expected.square().sum()))
        if off.numel():
            worst, largest = max(worst, float(off.max())), max(largest, float(expected.abs().max()))
    distance, size = math.sqrt(math.fsum(squares)), math.sqrt(math.fsum(sizes))
    error, element = (distance / size, worst / largest) if size > 0 else (distance, worst)
    if element > ELEMENT * tolerance:
        name = f"{name}; one element is off by {element:.3g} of the largest"
    return correctness(max(error, element / ELEMENT), tolerance, name)


def _parts(output: Any, reference: Any) -> Iterator[tuple[Any, Any]]:
    """Yield both, part by part, in float64 on the CPU: large tensors would need eight bytes an element at once."""
    seen, expected = output.detach().reshape(-1), reference.detach().reshape(-1)
    for begin in range(0, max(seen.numel(), 1), PART):
        yield seen[begin : begin + PART].cpu().double(), expected[begin : begin + PART].cpu().double()


def tensors(output: Any) -> Iterator[Any]:
    """Yield every tensor in a step's output: a tensor, or tuples, lists and dicts of them, however deep."""
    if isinstance(output, dict):
        output = list(output.values())
    if isinstance(output, (list, tuple)):
        for item in output:
            yield from tensors(item)
    elif hasattr(output, "device"):
        yield output


def every_value_finite(output: Any) -> bool:
    """Return whether no tensor in a step's output has NaN or infinity.

    `check` may look at a part of a large output; this looks at all of it, where it lies.
    """
    return all(
        bool(tensor.isfinite().all()) for tensor in tensors(output) if tensor.is_floating_point() or tensor.is_complex()
    )


def rows_to_check(count: int, block: int, seed: int) -> list[int]:
    """Return one random row of each block of `block` consecutive rows: no tile of a kernel goes unseen.

    The reference of a whole large product would take minutes on a CPU; whole rows still cover every column.
    """
    rng = random.Random(seed)  # noqa: S311 - a choice of rows, not a secret
    return [min(start + int(rng.random() * block), count - 1) for start in range(0, count, block)]
