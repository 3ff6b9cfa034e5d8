"""Hold an output against a reference of higher precision. NaN and infinity never pass."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

PART = 1 << 24  # elements compared at once


def compare(output: Any, reference: Any, tolerance: float, name: str) -> dict[str, Any]:
    """Return the `correctness` object of results-1: ||output - reference|| / ||reference|| against `tolerance`.

    `output` and `reference` are tensors of one shape; `name` says what the reference is. Both are compared in float64
    on the CPU, so that the device under test does not judge itself. A shape that differs fails: it never broadcasts.
    """
    if tuple(output.shape) != tuple(reference.shape):
        name = f"{name} (of shape {tuple(reference.shape)}, the output has {tuple(output.shape)})"
        return {"passed": False, "error": None, "tolerance": tolerance, "finite": True, "reference": name}
    squares: list[float] = []
    sizes: list[float] = []
    for seen, expected in _parts(output, reference):
        if not (bool(seen.isfinite().all()) and bool(expected.isfinite().all())):
            return {"passed": False, "error": None, "tolerance": tolerance, "finite": False, "reference": name}
        squares.append(float((seen - expected).square().sum()))
        sizes.append(float(expected.square().sum()))
    distance, size = math.sqrt(math.fsum(squares)), math.sqrt(math.fsum(sizes))
    error = distance / size if size > 0 else distance
    passed = math.isfinite(error) and error <= tolerance
    return {
        "passed": passed,
        "error": error if math.isfinite(error) else None,
        "tolerance": tolerance,
        "finite": True,
        "reference": name,
    }


def _parts(output: Any, reference: Any) -> Iterator[tuple[Any, Any]]:
    """Yield both, part by part, in float64 on the CPU: large tensors would need eight bytes an element at once."""
    seen, expected = output.detach().reshape(-1), reference.detach().reshape(-1)
    for begin in range(0, max(seen.numel(), 1), PART):
        yield seen[begin : begin + PART].cpu().double(), expected[begin : begin + PART].cpu().double()


def every_value_finite(output: Any) -> bool:
    """Return whether no tensor in a step's output (a tensor, or a tuple, list or dict of them) has NaN or infinity.

    `check` may look at a part of a large output; this looks at all of it, where it lies.
    """
    if isinstance(output, dict):
        output = list(output.values())
    if isinstance(output, (list, tuple)):
        return all(every_value_finite(item) for item in output)
    if not hasattr(output, "isfinite") or not (output.is_floating_point() or output.is_complex()):
        return True
    return bool(output.isfinite().all())


def rows_to_check(count: int, block: int, seed: int) -> list[int]:
    """Return one random row of each block of `block` consecutive rows: no tile of a kernel goes unseen.

    The reference of a whole large product would take minutes on a CPU; whole rows still cover every column.
    """
    rng = random.Random(seed)  # noqa: S311 - a choice of rows, not a secret
    return [min(start + int(rng.random() * block), count - 1) for start in range(0, count, block)]
