"""Are matmul, convolution, GroupNorm, softmax and attention right in each precision on each device?"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from validate import backends, probes, variables
from validate.outcome import fail, passed, skip
from validate.probes.numerics import DTYPES, PLAN

if TYPE_CHECKING:
    from schema.records import Outcome
    from validate.machine import Machine

SHAPE = {"devices": list, "rows": list}
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
#: How Python ends a traceback.
ERROR = re.compile(r"([A-Za-z_]\w*\.)*[A-Za-z_]\w*(Error|Exception|Interrupt|Exit)\b")
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
    backend, torch = backends.detect(machine), backends.torch_about(machine)
    if not torch.get("version"):
        return {"backend": backend, "devices": [], "rows": [], "torch_error": torch.get("error") or "unknown"}
    found = probes.ask(machine, "numerics", PROBE_S, DEVICE[backend])
    personal = [machine.env.get(name, "") for name in ("HOME", "USER", "LOGNAME")]
    seen = [f"cuda:{device['index']}" for device in backends.torch_facts(machine).get("devices", [])]
    devices = ["cpu"] if DEVICE[backend] == "cpu" else seen
    facts = {"backend": backend, "devices": devices, "rows": found.get("rows", []), "repeats": found.get("repeats")}
    if "error" in found:
        facts["error"] = found["error"]
        facts["stderr"] = variables.redact(found.get("stderr", "").strip(), personal)
    return facts


def judge(facts: dict[str, Any], lock: dict[str, Any] | None) -> list[Outcome]:  # noqa: ARG001 - the interface
    """Judge each operator and precision on each device, over all its shapes and inputs together."""
    kind = DEVICE[facts["backend"]]
    if "error" in facts:
        reason = f"the computation did not come to its end: {facts['error']}. {_told(facts.get('stderr', ''))}".strip()
        remedy = f"python3 -m validate.probes.numerics {PROBE_S} {kind}   # where it ran, shows the operator"
        return [fail("numerics.stopped", reason, remedy=remedy)]
    if "torch_error" in facts and not facts["rows"]:
        return [skip("numerics.no_torch", "torch did not run: see torch_build", seen=facts["torch_error"])]
    devices = [name for name in facts["devices"] if name.split(":")[0] == kind]
    if not devices:
        reason = f"nothing was computed on {kind}: no device answered"
        return [fail("numerics.no_device", reason, remedy="repair what `device_counts` says first")]
    unknown = sorted({str(row["op"]) for row in facts["rows"]} - set(ROUNDINGS))
    if unknown:
        raise ValueError(f"no tolerance is known for {unknown[0]}"[:200])
    found = []
    for device in devices:
        for op, dtype in ((op, dtype) for op in ROUNDINGS for dtype in DTYPES):
            wanted = (op, dtype, device)
            rows = [row for row in facts["rows"] if (row["op"], row["dtype"], row["device"]) == wanted]
            found.append(_judge_group(op, dtype, device, rows))
    return found


def _told(stderr: str) -> str:
    """Return the line of a dead process's last words that says most: the exception's, or the last one."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    errors = [line for line in lines if ERROR.match(line)]
    return (errors or lines or [""])[-1][:300]


def _judge_group(op: str, dtype: str, device: str, rows: list[dict[str, Any]]) -> Outcome:
    code, about = f"numerics.{op}.{dtype}", f"{op} in {dtype} on {device}"
    done = [(row["shape"], row["distribution"]) for row in rows]
    left_out = [shape for name, shape, distribution in PLAN if name == op and (shape, distribution) not in done]
    if left_out:
        reason = f"{about} was not computed for {len(left_out)} of its cases"
        return fail(code, reason, seen={"cases": len(rows)}, expected={"also": left_out}, remedy=_again(device))
    stopped = [row for row in rows if row["status"] not in {"ran", "unsupported"}]
    if stopped:
        return fail(code, f"{about} stopped: {stopped[0]['error']}", seen=stopped[0], remedy=_again(device))
    refused = [row for row in rows if row["status"] == "unsupported"]
    if refused:
        return skip(code, f"{about} is refused by this PyTorch: {refused[0]['error']}", seen={"unsupported": dtype})
    for row in rows:
        if row["nonfinite"] != 0 or row["shape_ok"] is not True:
            what = f"{row['nonfinite']} of {row['elements']} elements are NaN, infinite, or never written"
            return fail(
                code, f"{about}, shape {row['shape']}: {what}", seen=row, expected="all finite", remedy=_again(device)
            )
        whole, element = tolerance(op, dtype, row["shape"])
        # `not <=` rather than `>`: a NaN that came this far must not pass
        if not (0 <= row["relative"] <= whole and 0 <= row["worst"] <= element):
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
        "repeats_identical": all(row["identical"] is True for row in rows),
    }
    return passed(code, seen, {"error_of_tolerance": 1})


def _again(device: str) -> str:
    kind = device.split(":", maxsplit=1)[0]
    return f"publish no figures of it; `python3 -m validate.probes.numerics 240 {kind}` in the container repeats it"
