"""Compute each operator on each device and compare with float64 on the processor, from the same rounded inputs.

Only facts are taken here: errors, counts, refusals. What they are worth is judged in `checks/numerics.py`.
"""

from __future__ import annotations

import sys
from typing import Any

from validate.probes import answer

REPEATS = 3
SEED = 20240229
DTYPES = ("float32", "float16", "bfloat16")
#: Odd sizes leave partial tiles; the others are the sizes of transformers, ResNet and diffusion networks.
CASES: tuple[tuple[str, dict[str, int]], ...] = (
    ("matmul", {"m": 127, "k": 129, "n": 131}),
    ("matmul", {"m": 128, "k": 4096, "n": 1024}),
    ("conv2d", {"batch": 2, "inputs": 3, "outputs": 7, "height": 33, "width": 35, "kernel": 3, "stride": 2}),
    ("conv2d", {"batch": 1, "inputs": 64, "outputs": 64, "height": 56, "width": 56, "kernel": 3, "stride": 1}),
    ("group_norm", {"batch": 2, "channels": 30, "height": 17, "width": 19, "groups": 5}),
    ("group_norm", {"batch": 2, "channels": 320, "height": 32, "width": 32, "groups": 32}),
    ("softmax", {"rows": 33, "columns": 1025}),
    ("softmax", {"rows": 64, "columns": 32003}),
    ("attention", {"batch": 1, "heads": 3, "length": 127, "width": 64, "causal": 0}),
    ("attention", {"batch": 1, "heads": 8, "length": 512, "width": 64, "causal": 1}),
)
DISTRIBUTIONS = ("normal", "shifted")  # N(0,1), and uniform in [0, 1): sums that grow instead of cancelling
PLAN = [
    (op, shape, distribution)
    for number, (op, shape) in enumerate(CASES)
    for distribution in (DISTRIBUTIONS if number % 2 == 0 else DISTRIBUTIONS[:1])
]
REFUSED = ("not implemented for", "not supported", "unsupported", "not currently supported")
#: A GPU that has no kernels, or that stopped, is faulty, in whatever words: it has not refused a precision.
FAULTS = ("hip error", "cuda error", "no kernel image", "invalid device function")


def learn() -> dict[str, Any]:
    """Return one row per operator, shape, distribution, dtype and device."""
    import torch

    wanted = sys.argv[2] if len(sys.argv) > 2 else "cpu"
    torch.manual_seed(SEED)
    torch.backends.cuda.matmul.allow_tf32 = False  # float32 is judged as float32; TF32 is another precision
    torch.backends.cudnn.allow_tf32 = False
    count = torch.cuda.device_count() if wanted == "cuda" else 0
    devices = [f"cuda:{index}" for index in range(count)] if wanted == "cuda" else ["cpu"]
    rows: list[dict[str, Any]] = []
    for op, shape, distribution in PLAN:
        exact = make(torch, op, shape, distribution)
        for dtype in DTYPES:
            inputs = [item.to(getattr(torch, dtype)) for item in exact]
            reference = OPERATORS[op](torch, [item.double() for item in inputs], shape, None)
            for device in devices:
                row = {"op": op, "shape": shape, "distribution": distribution, "dtype": dtype, "device": device}
                rows.append({**row, **measure(torch, op, shape, inputs, reference=reference, device=device)})
    return {"rows": rows, "repeats": REPEATS}


def make(torch: Any, op: str, shape: dict[str, int], distribution: str) -> list[Any]:
    """Return seeded inputs in float64."""
    draw = torch.randn if distribution == "normal" else torch.rand
    return [draw(*size, dtype=torch.float64) for size in SIZES[op](shape)]


SIZES: dict[str, Any] = {
    "matmul": lambda s: [(s["m"], s["k"]), (s["k"], s["n"])],
    "conv2d": lambda s: [
        (s["batch"], s["inputs"], s["height"], s["width"]),
        (s["outputs"], s["inputs"], s["kernel"], s["kernel"]),
    ],
    "group_norm": lambda s: [(s["batch"], s["channels"], s["height"], s["width"]), (s["channels"],), (s["channels"],)],
    "softmax": lambda s: [(s["rows"], s["columns"])],
    "attention": lambda s: [(s["batch"], s["heads"], s["length"], s["width"])] * 3,
}


def _matmul(torch: Any, inputs: list[Any], shape: dict[str, int], out: Any) -> Any:  # noqa: ARG001 - one signature
    return torch.matmul(*inputs, out=out)


def _conv2d(torch: Any, inputs: list[Any], shape: dict[str, int], out: Any) -> Any:  # noqa: ARG001 - one signature
    return torch.nn.functional.conv2d(*inputs, stride=shape["stride"], padding=1)


def _group_norm(torch: Any, inputs: list[Any], shape: dict[str, int], out: Any) -> Any:  # noqa: ARG001 - one signature
    return torch.nn.functional.group_norm(inputs[0], shape["groups"], inputs[1], inputs[2])


def _softmax(torch: Any, inputs: list[Any], shape: dict[str, int], out: Any) -> Any:  # noqa: ARG001 - one signature
    return torch.softmax(inputs[0], dim=-1)


def _attention(torch: Any, inputs: list[Any], shape: dict[str, int], out: Any) -> Any:  # noqa: ARG001 - one signature
    """Written out for the reference, so that a fault of the fused kernel cannot be on both sides."""
    query, key, value = inputs
    if query.dtype != torch.float64:
        attend = torch.nn.functional.scaled_dot_product_attention
        return attend(query, key, value, is_causal=bool(shape["causal"]))
    scores = query @ key.transpose(-1, -2) / shape["width"] ** 0.5
    if shape["causal"]:
        hidden = torch.ones(shape["length"], shape["length"], dtype=torch.bool).triu(1)
        scores = scores.masked_fill(hidden, float("-inf"))
    return torch.softmax(scores, dim=-1) @ value


OPERATORS: dict[str, Any] = {
    "matmul": _matmul,
    "conv2d": _conv2d,
    "group_norm": _group_norm,
    "softmax": _softmax,
    "attention": _attention,
}
TAKES_OUT = {"matmul"}


def measure(
    torch: Any, op: str, shape: dict[str, int], inputs: list[Any], *, reference: Any, device: str
) -> dict[str, Any]:
    """Return `status` ran, unsupported or failed; for what ran the errors, and whether repeats agreed bit by bit."""
    try:
        here = [item.to(device) for item in inputs]
        outs = []
        for _ in range(REPEATS):
            poison = torch.full(reference.shape, float("nan"), dtype=here[0].dtype, device=device)
            out = poison if op in TAKES_OUT else None
            del poison  # freed memory is handed out again as a rule: an element that is not written shows its NaN
            outs.append(OPERATORS[op](torch, here, shape, out).cpu())
    except Exception as error:  # noqa: BLE001 - torch raises many types; which one is the fact
        text = str(error).strip().splitlines()[0][:200] if str(error).strip() else ""
        return {"status": "unsupported" if refuses(error) else "failed", "error": f"{type(error).__name__}: {text}"}
    worst_of = [compare(torch, out, reference) for out in outs]
    row = max(worst_of, key=lambda item: (item["nonfinite"], item["relative"] or 0.0))
    identical = all(bool(torch.equal(outs[0], out)) for out in outs[1:])
    return {"status": "ran", "elements": outs[0].numel(), "identical": identical, **row}


def refuses(error: Exception) -> bool:
    """Tell whether an exception says that this PyTorch does not offer the operator in this type, and nothing worse."""
    text = str(error).lower()
    refused = isinstance(error, NotImplementedError) or any(word in text for word in REFUSED)
    return refused and not any(word in text for word in FAULTS)


def compare(torch: Any, out: Any, reference: Any) -> dict[str, Any]:
    """Return ||out - ref|| / ||ref||, the worst element against the reference's largest, and what is not finite."""
    value = out.double()
    nonfinite = int((~torch.isfinite(value)).sum())
    if nonfinite or value.shape != reference.shape:
        return {"nonfinite": nonfinite, "relative": None, "worst": None, "shape_ok": value.shape == reference.shape}
    off = value - reference
    return {
        "nonfinite": 0,
        "relative": float(off.norm() / reference.norm()),
        "worst": float(off.abs().max() / reference.abs().max()),
        "shape_ok": True,
    }


if __name__ == "__main__":
    answer(learn)
