"""GroupNorm: the memory-bound norm of diffusion models, at a shape of Stable Diffusion XL's UNet."""

from __future__ import annotations

from typing import Any

from benchmarks.correctness import compare

GROUP = "memory"
UNIT = "B/s"
VARIANTS = {
    "fp32.small": {"dtype": "fp32", "batch": 2, "channels": 64, "size": 32, "groups": 8},
    "fp32.unet": {"dtype": "fp32", "batch": 16, "channels": 320, "size": 128, "groups": 32},
    "bf16.unet": {"dtype": "bf16", "batch": 16, "channels": 320, "size": 128, "groups": 32},
}
BYTES = {"fp32": 4, "bf16": 2, "fp16": 2}
#: Statistics are kept in float32 over some 1e5 elements; the result is rounded once. Four times that.
TOLERANCE = {"fp32": 1e-5, "bf16": 1e-2, "fp16": 2e-3}
EPSILON = 1e-5


def work(p: dict[str, Any]) -> dict[str, float]:
    """Read once, written once: an implementation that reads twice is slower by this measure, as it should be."""
    return {"bytes": 2 * BYTES[p["dtype"]] * p["batch"] * p["channels"] * p["size"] ** 2}


def prepare(bench: Any, p: dict[str, Any]) -> Any:
    """Random activations for each set; weight and bias are shared, they are small."""
    dtype, channels = p["dtype"], p["channels"]
    return {
        "norm": bench.torch.nn.functional.group_norm,
        "groups": p["groups"],
        "dtype": dtype,
        "weight": bench.randn(channels, dtype=dtype),
        "bias": bench.randn(channels, dtype=dtype),
        "sets": [
            bench.randn(p["batch"], channels, p["size"], p["size"], dtype=dtype)
            for _ in bench.sets(int(work(p)["bytes"]))
        ],
    }


def step(state: Any, i: int) -> Any:
    """One norm."""
    return state["norm"](state["sets"][i], state["groups"], state["weight"], state["bias"], EPSILON)


def check(state: Any, i: int, output: Any) -> dict[str, Any]:
    """First and last item of the batch, from the definition, in float64 on the CPU."""
    items = state["sets"][i][[0, -1]].cpu().double()
    grouped = items.reshape(len(items), state["groups"], -1)
    mean = grouped.mean(-1, keepdim=True)
    variance = grouped.var(-1, unbiased=False, keepdim=True)
    normal = ((grouped - mean) / (variance + EPSILON).sqrt()).reshape(items.shape)
    weight, bias = (state[name].cpu().double()[None, :, None, None] for name in ("weight", "bias"))
    return compare(
        output[[0, -1]],
        normal * weight + bias,
        TOLERANCE[state["dtype"]],
        "the definition in float64 on the CPU, 2 items",
    )
