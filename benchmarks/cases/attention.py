"""Attention over a prompt: causal prefill, as PyTorch's scaled dot-product attention does it."""

from __future__ import annotations

from typing import Any

from benchmarks.correctness import compare, rows_to_check

GROUP = "compute"
UNIT = "FLOP/s"
#: Heads as in Llama 3 8B, each with keys of its own; causal where all positions are new.
VARIANTS = {
    "fp32.128": {"dtype": "fp32", "batch": 1, "heads": 4, "queries": 128, "keys": 128, "width": 64},
    "bf16.4096": {"dtype": "bf16", "batch": 4, "heads": 32, "queries": 4096, "keys": 4096, "width": 128},
    "fp16.4096": {"dtype": "fp16", "batch": 4, "heads": 32, "queries": 4096, "keys": 4096, "width": 128},
}
BYTES = {"fp32": 4, "bf16": 2, "fp16": 2}
#: Weights are rounded to the type before they meet the values, and the result once more: some 2^-8 for bf16.
TOLERANCE = {"fp32": 1e-5, "bf16": 2e-2, "fp16": 3e-3}
ROWS_IN_BLOCK = 64


def work(p: dict[str, Any]) -> dict[str, float]:
    """Two products of 2 q k d operations a head, half of them masked away when causal; softmax not counted."""
    heads, q, k, d = p["batch"] * p["heads"], p["queries"], p["keys"], p["width"]
    seen = q * (q + 1) / 2 if q == k else q * k
    return {"flop": 4 * heads * seen * d, "bytes": BYTES[p["dtype"]] * heads * d * (2 * q + 2 * k)}


def prepare(bench: Any, p: dict[str, Any]) -> Any:
    """Random queries, keys and values for each set."""
    dtype = p["dtype"]
    q = (p["batch"], p["heads"], p["queries"], p["width"])
    k = (p["batch"], p["heads"], p["keys"], p["width"])
    return {
        "attend": bench.torch.nn.functional.scaled_dot_product_attention,
        "causal": p["queries"] == p["keys"],
        "dtype": dtype,
        "sets": [
            (bench.randn(*q, dtype=dtype), bench.randn(*k, dtype=dtype), bench.randn(*k, dtype=dtype))
            for _ in bench.sets(int(work(p)["bytes"]))
        ],
    }


def step(state: Any, i: int) -> Any:
    """One attention."""
    q, k, v = state["sets"][i]
    return state["attend"](q, k, v, is_causal=state["causal"])


def check(state: Any, i: int, output: Any) -> dict[str, Any]:
    """First and last head of the batch, one query of each 64, from the definition in float64 on the CPU."""
    q, k, v = (tensor.flatten(0, 1)[[0, -1]].cpu().double() for tensor in state["sets"][i])
    rows = rows_to_check(q.shape[1], ROWS_IN_BLOCK, seed=i)
    scores = q[:, rows] @ k.transpose(1, 2) / q.shape[-1] ** 0.5
    if state["causal"]:
        for place, row in enumerate(rows):
            scores[:, place, row + 1 :] = float("-inf")
    reference = scores.softmax(-1) @ v
    seen = output.flatten(0, 1)[[0, -1]][:, rows]
    name = f"the definition in float64 on the CPU, 2 heads, {len(rows)} queries"
    return compare(seen, reference, TOLERANCE[state["dtype"]], name)
