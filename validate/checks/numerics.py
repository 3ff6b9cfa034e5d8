"""Are matmul, convolution, GroupNorm, softmax and attention right in each precision on each device?"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from validate import backends, probes, variables
from validate.outcome import fail, passed, skip

if TYPE_CHECKING:
    from schema.records import Outcome
    from validate.machine import Machine

PROBE_S = 240
#: Unit roundoff: half the distance from 1 to the next number, 2**-p for p bits of significand.
ROUNDOFF = {"float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
#: All of these operators accumulate in float32 or better, whatever the type of inputs and outputs.
ACCUMULATOR = ROUNDOFF["float32"]
#: Error of a whole output, ||out-ref||/||ref||: rounding of the result to its type is at most one roundoff an element,
#: on average 0.4. Twice that leaves room for a second rounding (split accumulation, fused scale).
WHOLE = 2.0
#: A single element against the largest of the reference: the tail of the same errors over up to 2 million elements.
ELEMENT = 4.0
#: Roundings to the output's type on the way. Attention kernels round the probabilities before the second product,
#: GroupNorm kernels keep mean and deviation in the output's type.
ROUNDINGS = {"matmul": 1, "conv2d": 1, "group_norm": 2, "softmax": 1, "attention": 2}
DEVICE = {"rocm": "cuda", "cuda": "cuda", "cpu": "cpu"}


def terms(op: str, shape: dict[str, int]) -> int:
    """Return how many numbers are accumulated into one element (in a chain of two sums, both)."""
    return {
        "matmul": lambda s: s["k"],
        "conv2d": lambda s: s["inputs"] * s["kernel"] ** 2,
        "group_norm": lambda s: s["channels"] // s["groups"] * s["height"] * s["width"],
        "softmax": lambda s: s["columns"],
        "attention": lambda s: s["width"] + s["length"],
    }[op](shape)


def tolerance(op: str, dtype: str, shape: dict[str, int]) -> tuple[float, float]:
    """Return the bounds for the whole output and for one element.

    Rounding errors of n accumulated terms grow like sqrt(n) (Higham, Accuracy and Stability of Numerical Algorithms,
    section 2.6), so each bound is factor * (roundings * u(type) + sqrt(n) * u(accumulator)).
    """
    scale = ROUNDINGS[op] * ROUNDOFF[dtype] + math.sqrt(terms(op, shape)) * ACCUMULATOR
    return WHOLE * scale, ELEMENT * scale


def gather(machine: Machine, lock: dict[str, Any] | None) -> dict[str, Any]:  # noqa: ARG001 - the interface
    """Let a child compute, so that a kernel that aborts or hangs ends the child and not the report."""
    backend = backends.detect(machine)
    found = probes.ask(machine, "numerics", PROBE_S, DEVICE[backend])
    personal = [machine.env.get(name, "") for name in ("HOME", "USER", "LOGNAME")]
    facts = {"backend": backend, "rows": found.get("rows", []), "repeats": found.get("repeats")}
    if "error" in found:
        facts["error"] = variables.redact(f"{found['error']}. {found.get('stderr', '')}".strip(), personal)
    return facts


def judge(facts: dict[str, Any], lock: dict[str, Any] | None) -> list[Outcome]:  # noqa: ARG001 - the interface
    """Judge each operator and precision on each device, over all its shapes and inputs together."""
    if "error" in facts:
        return [
            fail(
                "numerics.stopped",
                f"the computation did not come to its end: {facts['error']}",
                remedy="python3 -m validate.probes.numerics 240 cuda   # inside the container, shows the operator",
            )
        ]
    device = DEVICE[facts["backend"]]
    rows = [row for row in facts["rows"] if row["device"].split(":")[0] == device]
    if not rows:
        reason = f"nothing was computed on {device}: no device answered"
        return [fail("numerics.no_device", reason, remedy="repair what `device_counts` says first")]
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["op"], row["dtype"], row["device"]), []).append(row)
    return [_judge_group(*key, members) for key, members in groups.items()]


def _judge_group(op: str, dtype: str, device: str, rows: list[dict[str, Any]]) -> Outcome:
    code, about = f"numerics.{op}.{dtype}", f"{op} in {dtype} on {device}"
    if op not in ROUNDINGS or dtype not in ROUNDOFF:
        raise ValueError(f"no tolerance is known for {about}"[:200])
    stopped = [row for row in rows if row["status"] not in {"ran", "unsupported"}]
    if stopped:
        return fail(code, f"{about} stopped: {stopped[0]['error']}", seen=stopped[0], remedy=_again(device))
    refused = [row for row in rows if row["status"] == "unsupported"]
    if refused:
        return skip(code, f"{about} is refused by this PyTorch: {refused[0]['error']}", seen={"unsupported": dtype})
    for row in rows:
        if row["nonfinite"] or not row["shape_ok"]:
            what = f"{row['nonfinite']} of {row['elements']} elements are NaN, infinite, or never written"
            return fail(
                code, f"{about}, shape {row['shape']}: {what}", seen=row, expected="all finite", remedy=_again(device)
            )
        whole, element = tolerance(op, dtype, row["shape"])
        # `not <=` rather than `>`: a NaN that came this far must not pass
        if not (row["relative"] <= whole and row["worst"] <= element):
            return fail(
                code,
                f"{about}, shape {row['shape']}: the error is {row['relative']:.2g} (worst element {row['worst']:.2g})",
                seen=row,
                expected={"relative": whole, "worst": element},
                remedy=_again(device),
            )
    margin = max(row["relative"] / tolerance(op, dtype, row["shape"])[0] for row in rows)
    seen = {
        "dtype": dtype,
        "device": device,
        "cases": len(rows),
        "error_of_tolerance": float(f"{margin:.3g}"),
        "repeats_identical": all(row["identical"] for row in rows),
    }
    return passed(code, seen, {"error_of_tolerance": 1})


def _again(device: str) -> str:
    kind = device.split(":", maxsplit=1)[0]
    return f"publish no figures of it; `python3 -m validate.probes.numerics 240 {kind}` in the container repeats it"
