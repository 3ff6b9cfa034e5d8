"""Hold an output against a reference of higher precision. NaN and infinity never pass."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

PART = 1 << 24  # elements compared at once
#: One element may be off by so many tolerances of the largest in the reference: the tail of the errors whose size over
#: all elements the tolerance bounds. A few elements that were never written vanish in the norm, and show here.
ELEMENT = 2.0


def compare(output: Any, reference: Any, tolerance: float, name: str) -> dict[str, Any]:
    """Return the `correctness` object of results-1: ||output - reference|| / ||reference|| against `tolerance`.

    No element may be off by more than `ELEMENT` tolerances of the reference's largest either; where one is, `reference`
    says so. `output` and `reference` are tensors of one shape; `name` says what the reference is. Both are compared in
    float64 on the CPU, so that the device under test does not judge itself. A shape that differs fails: it never
    broadcasts.
    """
    found = {"passed": False, "error": None, "tolerance": tolerance, "finite": True, "reference": name}
    if tuple(output.shape) != tuple(reference.shape):
        seen = f"{name} (of shape {tuple(reference.shape)}, the output has {tuple(output.shape)})"
        return {**found, "reference": seen}
    squares, sizes, worst, largest = [], [], 0.0, 0.0
    for seen, expected in _parts(output, reference):
        if not (bool(seen.isfinite().all()) and bool(expected.isfinite().all())):
            return {**found, "finite": False}
        off = (seen - expected).abs()
        squares.append(float(off.square().sum()))
        sizes.append(float(expected.square().sum()))
        if off.numel():
            worst, largest = max(worst, float(off.max())), max(largest, float(expected.abs().max()))
    distance, size = math.sqrt(math.fsum(squares)), math.sqrt(math.fsum(sizes))
    error, element = (distance / size, worst / largest) if size > 0 else (distance, worst)
    if not math.isfinite(error):
        return found
    if element > ELEMENT * tolerance:
        found["reference"] = f"{name}; one element is off by {element:.3g} of the largest"
    return {**found, "error": error, "passed": error <= tolerance and element <= ELEMENT * tolerance}


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
