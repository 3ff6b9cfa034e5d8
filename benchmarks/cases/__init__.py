"""The cases, one file each, and which of them a suite measures.

The case protocol is told in docs/guide/own-case.md; a user's own file follows the same.
"""

from __future__ import annotations

import importlib.util
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmarks.cases import attention, copy, decode, groupnorm, matmul, resnet50
from schema.errors import KitError

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

#: Every case: arithmetic, memory, models.
CASES = (matmul, attention, copy, groupnorm, decode, resnet50)

#: What a suite measures, on a GPU and on a CPU. CPU sizes are small: they show that the chain works, nothing more.
SUITES: dict[str, dict[str, tuple[str, ...]]] = {
    "smoke": {
        "gpu": (
            "matmul.bf16.4096", "matmul.fp32.4096", "copy.fp32.1gib", "groupnorm.bf16.unet",
            "attention.bf16.4096", "decode.bf16.4096", "resnet50.bf16.b32",
        ),
        "cpu": (
            "matmul.fp32.256", "matmul.bf16.256", "copy.fp32.16mib", "groupnorm.fp32.small",
            "attention.fp32.128", "decode.fp32.512", "resnet50.fp32.b1",
        ),
    },
    "quick": {
        "gpu": (
            "matmul.bf16.8192", "matmul.bf16.llama-mlp", "matmul.bf16.1024", "matmul.fp32.4096",
            "copy.fp32.1gib", "groupnorm.bf16.unet", "attention.bf16.4096", "decode.bf16.4096",
            "resnet50.bf16.b256", "resnet50.fp32.b256",
        ),
        "cpu": (
            "matmul.fp32.256", "matmul.fp32.1024", "matmul.bf16.256", "copy.fp32.16mib", "groupnorm.fp32.small",
            "attention.fp32.128", "decode.fp32.512", "resnet50.fp32.b1",
        ),
    },
    "publish": {
        "gpu": (
            "matmul.bf16.8192", "matmul.bf16.4096", "matmul.bf16.llama-qkv", "matmul.bf16.llama-mlp",
            "matmul.bf16.1024", "matmul.fp16.8192", "matmul.tf32.8192", "matmul.fp32.8192", "matmul.fp32.4096",
            "copy.fp32.1gib", "groupnorm.bf16.unet", "groupnorm.fp32.unet", "attention.bf16.4096",
            "decode.bf16.4096", "attention.fp16.4096", "resnet50.bf16.b1", "resnet50.bf16.b32",
            "resnet50.bf16.b256", "resnet50.fp16.b256", "resnet50.fp32.b256",
        ),
        "cpu": (
            "matmul.fp32.256", "matmul.fp32.1024", "matmul.bf16.256", "copy.fp32.16mib", "groupnorm.fp32.small",
            "attention.fp32.128", "decode.fp32.512", "resnet50.fp32.b1",
        ),
    },
}  # fmt: skip
#: Sizes are chosen by what computes.
SIZES = {"rocm": "gpu", "cuda": "gpu", "cpu": "cpu"}
#: The unit of a headline, and the key of `work` that counts its numerator.
UNITS = {"FLOP/s": "flop", "B/s": "bytes", "items/s": "items", "tokens/s": "tokens", "s": None}
NAME = re.compile(r"^[a-z0-9][a-z0-9_.-]{0,99}$")


@dataclass(frozen=True)
class Loaded:
    """A case module with its name and, for a user's own, the digest of its file."""

    name: str
    module: ModuleType
    file_sha256: str | None = None


def built_in() -> list[Loaded]:
    """Return the kit's own cases."""
    return [Loaded(module.__name__.rpartition(".")[2], module) for module in CASES]


def describe(case: Loaded) -> list[dict[str, Any]]:
    """Return the protocol's description of each variant of a case; KitError says what its file lacks."""
    module = case.module
    lacks = [
        name for name in ("GROUP", "UNIT", "VARIANTS", "work", "prepare", "step", "check") if not hasattr(module, name)
    ]
    if lacks:
        raise KitError(f"the case {case.name} has no {', '.join(lacks)}", "docs/guide/own-case.md shows a whole one")
    if module.UNIT not in UNITS:
        raise KitError(f"the case {case.name} has UNIT {module.UNIT!r}", f"use one of: {', '.join(UNITS)}")
    # The first line of the file says what it measures; before a colon stands the name of it.
    title = (module.__doc__ or case.name).strip().splitlines()[0].partition(": ")[0].rstrip(".?")
    out = []
    for label, parameters in module.VARIANTS.items():
        name = f"{case.name}.{label}"
        if not NAME.match(name):
            raise KitError(f"{name!r} is no name of a case", "use lower-case letters, digits, '.', '_' and '-'")
        work, numerator = module.work(parameters), UNITS[module.UNIT]
        item = {
            "case": name,
            "title": title,
            "group": module.GROUP,
            "parameters": {key: value for key, value in parameters.items() if key != "dtype"},
            "dtype": parameters.get("dtype", "fp32"),
            "unit": module.UNIT,
            "direction": "lower" if module.UNIT == "s" else "higher",
            "work": work.get(numerator) if numerator else None,
            "flop": work.get("flop"),
            "bytes": work.get("bytes"),
        }
        if numerator and not item["work"]:
            raise KitError(f"{name}: work() does not count {numerator!r}, of which {module.UNIT} is made")
        out.append({**item, "file_sha256": case.file_sha256} if case.file_sha256 else item)
    return out


def load_file(path: Path, sha256: str) -> Loaded:
    """Import a user's case file. Whatever it raises on the way comes out as KitError naming it."""
    name = re.sub(r"[^a-z0-9_-]", "-", path.stem.lower()).lstrip("-_") or "own"
    spec = importlib.util.spec_from_file_location(f"own_case_{name.replace('-', '_')}", path)
    if spec is None or spec.loader is None:
        raise KitError(f"{path.name} cannot be imported", "name a Python file: --case FILE.py")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise KitError(f"{path.name} cannot be imported: {type(error).__name__}: {error}") from error
    return Loaded(name, module, sha256)
