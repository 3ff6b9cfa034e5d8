"""Matrix product: how fast can this device multiply, on large squares and on the shapes of a transformer?"""

from __future__ import annotations

from typing import Any

from benchmarks.correctness import compare, rows_to_check
from benchmarks.workbench import Unsupported

GROUP = "compute"
UNIT = "FLOP/s"
#: m x k times k x n. The llama shapes are those of an 8-billion-parameter Llama 3 layer on 4096 tokens.
VARIANTS = {
    "fp32.256": {"dtype": "fp32", "m": 256, "n": 256, "k": 256},
    "bf16.256": {"dtype": "bf16", "m": 256, "n": 256, "k": 256},
    "fp32.1024": {"dtype": "fp32", "m": 1024, "n": 1024, "k": 1024},
    "bf16.1024": {"dtype": "bf16", "m": 1024, "n": 1024, "k": 1024},
    "bf16.4096": {"dtype": "bf16", "m": 4096, "n": 4096, "k": 4096},
    "fp32.4096": {"dtype": "fp32", "m": 4096, "n": 4096, "k": 4096},
    "bf16.8192": {"dtype": "bf16", "m": 8192, "n": 8192, "k": 8192},
    "fp16.8192": {"dtype": "fp16", "m": 8192, "n": 8192, "k": 8192},
    "tf32.8192": {"dtype": "tf32", "m": 8192, "n": 8192, "k": 8192},
    "fp32.8192": {"dtype": "fp32", "m": 8192, "n": 8192, "k": 8192},
    "bf16.llama-qkv": {"dtype": "bf16", "m": 4096, "n": 6144, "k": 4096},
    "bf16.llama-mlp": {"dtype": "bf16", "m": 4096, "n": 14336, "k": 4096},
}
BYTES = {"fp32": 4, "tf32": 4, "bf16": 2, "fp16": 2}
#: Inputs are exact in their type and sums are kept in float32, so what remains is rounding the result (2^-9 relative
#: for bf16, 2^-12 for fp16, at most) and, for float32, a sum over k that grows as sqrt(k) 2^-24. tf32 rounds inputs to
#: 2^-11. Each bound is some four times what that gives.
TOLERANCE = {"fp32": 1e-5, "tf32": 2e-3, "bf16": 1e-2, "fp16": 2e-3}
ROWS_IN_BLOCK = 64  # no tile of a library kernel is smaller in m than 16; most are 64 to 256


def work(p: dict[str, Any]) -> dict[str, float]:
    """2 m n k floating-point operations; both factors read, the product written, once each."""
    return {
        "flop": 2 * p["m"] * p["n"] * p["k"],
        "bytes": BYTES[p["dtype"]] * (p["m"] * p["k"] + p["k"] * p["n"] + p["m"] * p["n"]),
    }


def prepare(bench: Any, p: dict[str, Any]) -> Any:
    """Two random factors and a poisoned product for each set."""
    m, n, k, dtype = p["m"], p["n"], p["k"], p["dtype"]
    sets = [
        (bench.randn(m, k, dtype=dtype), bench.randn(k, n, dtype=dtype), bench.poisoned(m, n, dtype=dtype))
        for _ in bench.sets(int(work(p)["bytes"]))
    ]
    return {"multiply": bench.torch.matmul, "sets": sets, "dtype": dtype}


def step(state: Any, i: int) -> Any:
    """One product, into a buffer that was there."""
    a, b, out = state["sets"][i]
    return state["multiply"](a, b, out=out)


def check(state: Any, i: int, output: Any) -> dict[str, Any]:
    """One row of each 64, all its columns, against float64 on the CPU."""
    a, b, _ = state["sets"][i]
    rows = rows_to_check(len(a), ROWS_IN_BLOCK, seed=i)
    reference = a[rows].cpu().double() @ b.cpu().double()
    found = compare(output[rows], reference, TOLERANCE[state["dtype"]], f"float64 on the CPU, {len(rows)} rows")
    if state["dtype"] == "tf32" and found["passed"] and found["error"] <= TOLERANCE["fp32"]:
        # Better than rounded inputs can be: this device, or this library, has no tf32.
        raise Unsupported(f"computed in float32, not in tf32: its relative error is {found['error']:.1g}")
    return found
