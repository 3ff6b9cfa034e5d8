"""ResNet-50: images a second through a whole model in inference, random weights at true size."""

from __future__ import annotations

import copy
from typing import Any

from benchmarks.correctness import compare
from benchmarks.workbench import Unsupported

GROUP = "models"
UNIT = "items/s"
#: bf16 and fp16 run under autocast, as a user's model would; the weights stay in float32.
VARIANTS = {
    "fp32.b1": {"dtype": "fp32", "batch": 1},
    "bf16.b1": {"dtype": "bf16", "batch": 1},
    "bf16.b32": {"dtype": "bf16", "batch": 32},
    "fp32.b256": {"dtype": "fp32", "batch": 256},
    "bf16.b256": {"dtype": "bf16", "batch": 256},
    "fp16.b256": {"dtype": "fp16", "batch": 256},
}
#: 53 convolutions one after another: float32 gathers the rounding of long sums, half precision a rounding a layer. Some
#: four times what is seen (5e-3 for bf16, 7e-4 for fp16), and never more than half of how far two images are apart:
#: what was computed from the wrong image must fail.
TOLERANCE = {"fp32": 1e-4, "bf16": 2e-2, "fp16": 3e-3}
PIXELS = 224
#: Multiply-adds of one image at 224 x 224 (He et al., Deep Residual Learning, table 1 counts 3.8e9; torchvision's
#: variant strides in the 3x3 convolution and has 4.09e9), times two.
FLOP_AN_ITEM = 2 * 4.09e9


def work(p: dict[str, Any]) -> dict[str, float]:
    """A batch of images."""
    return {"items": p["batch"], "flop": p["batch"] * FLOP_AN_ITEM}


def prepare(bench: Any, p: dict[str, Any]) -> Any:
    """The model, seeded, in evaluation; one batch.

    One set, not many: a served model keeps its weights where they are, and a step's activations displace the cache.
    """
    try:
        from torchvision.models import resnet50
    except ImportError as error:
        raise Unsupported(f"torchvision cannot be imported here: {error}") from error
    torch, batch = bench.torch, p["batch"]
    torch.manual_seed(bench.seed)
    model = resnet50(weights=None).eval().requires_grad_(requires_grad=False)
    images = _images(bench, batch)
    chosen = [0, -1] if batch > 1 else [0]
    # A batch of one has no second image to tell it from, so another is made.
    compared = torch.cat([images[chosen], _images(bench, 1)]).cpu().double()
    return {
        "torch": torch,
        "chosen": chosen,
        "logits": copy.deepcopy(model).double()(compared),
        "model": model.to(bench.device),
        "images": images,
        "dtype": p["dtype"],
        "autocast": {
            "device_type": bench.device.type,
            "dtype": bench.dtype(p["dtype"]),
            "enabled": p["dtype"] != "fp32",
        },
    }


def _images(bench: Any, count: int) -> Any:
    """N(0, 1), half of the variance common to a channel of an image, as pictures have colours.

    Pictures of independent pixels would all look alike to a network that averages over them: their logits differ by as
    little as bf16 rounds.
    """
    pixels, colours = bench.randn(count, 3, PIXELS, PIXELS, dtype="fp32"), bench.randn(count, 3, 1, 1, dtype="fp32")
    return (pixels + colours) / 2**0.5


def step(state: Any, _: int) -> Any:
    """One batch through the model."""
    with state["torch"].autocast(**state["autocast"]):
        return state["model"](state["images"])


def check(state: Any, _: int, output: Any) -> dict[str, Any]:
    """The logits of the first and the last image, from the same weights in float64 on the CPU."""
    chosen, logits = state["chosen"], state["logits"]
    apart = min(float((other - logits[0]).norm() / logits[0].norm()) for other in logits[1:])
    tolerance = min(TOLERANCE[state["dtype"]], apart / 2)
    name = f"float64 on the CPU, {len(chosen)} images, {apart:.0%} from another"
    return compare(output[chosen], logits[:-1], tolerance, name)
