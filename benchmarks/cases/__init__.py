"""The cases, one file each, and which of them a suite measures.

The case protocol is told in docs/guide/own-case.md; a user's own file follows the same.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any

from benchmarks.cases import attention, copy, decode, groupnorm, matmul, resnet50
from schema.errors import KitError

if TYPE_CHECKING:
    from pathlib import Path

#: Every case: arithmetic, memory, models.
CASES = (matmul, attention, copy, groupnorm, decode, resnet50)

#: The longer suites differ on a CPU in their patience only.
ON_CPU = (
    "matmul.fp32.256", "matmul.fp32.1024", "matmul.bf16.256", "copy.fp32.16mib", "groupnorm.fp32.small",
    "attention.fp32.128", "decode.fp32.512", "resnet50.fp32.b1",
)  # fmt: skip
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
        "cpu": ON_CPU,
    },
    "publish": {
        "gpu": (
            "matmul.bf16.8192", "matmul.bf16.4096", "matmul.bf16.llama-qkv", "matmul.bf16.llama-mlp",
            "matmul.bf16.1024", "matmul.fp16.8192", "matmul.tf32.8192", "matmul.fp32.8192", "matmul.fp32.4096",
            "copy.fp32.1gib", "groupnorm.bf16.unet", "groupnorm.fp32.unet", "attention.bf16.4096",
            "decode.bf16.4096", "attention.fp16.4096", "resnet50.bf16.b1", "resnet50.bf16.b32",
            "resnet50.bf16.b256", "resnet50.fp16.b256", "resnet50.fp32.b256",
        ),
        "cpu": ON_CPU,
    },
}  # fmt: skip
#: Sizes are chosen by what computes.
SIZES = {"rocm": "gpu", "cuda": "gpu", "cpu": "cpu"}
#: What may bound a case, as results-1 has it.
GROUPS = ("compute", "memory", "launch", "transfer", "collectives", "models", "precision", "capacity", "custom")
#: The unit of a headline, and the key of `work` that counts its numerator.
UNITS = {"FLOP/s": "flop", "B/s": "bytes", "items/s": "items", "tokens/s": "tokens", "s": None}
NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,99}")
WHOLE = "docs/guide/own-case.md shows a whole one"


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
        raise KitError(f"the case {case.name} has no {', '.join(lacks)}", WHOLE)
    for name, allowed in (("GROUP", GROUPS), ("UNIT", tuple(UNITS))):
        if getattr(module, name) not in allowed:
            raise KitError(
                f"the case {case.name} has {name} {getattr(module, name)!r}", f"use one of: {', '.join(allowed)}"
            )
    if not isinstance(module.VARIANTS, dict) or not module.VARIANTS:
        raise KitError(f"the case {case.name} has no variants: VARIANTS maps names to parameters", WHOLE)
    # The first line of the file says what it measures; before a colon stands the name of it.
    title = (module.__doc__ or case.name).strip().splitlines()[0].partition(": ")[0].rstrip(".?")
    return [_variant(case, title, label, parameters) for label, parameters in module.VARIANTS.items()]


def _variant(case: Loaded, title: str, label: Any, parameters: Any) -> dict[str, Any]:
    """Return the description of one variant."""
    module, name = case.module, f"{case.name}.{label}"
    if not NAME.fullmatch(name):
        raise KitError(f"{name!r} is no name of a case", "use lower-case letters, digits, '.', '_' and '-'")
    try:
        parameters = json.loads(json.dumps(dict(parameters), allow_nan=False))  # as the measuring process will see them
        work = dict(module.work(parameters))
    except Exception as error:
        raise KitError(f"{name}: {type(error).__name__}: {error}", WHOLE) from error
    dtype, numerator = parameters.get("dtype", "fp32"), UNITS[module.UNIT]
    if not isinstance(dtype, str):
        raise KitError(f"{name}: the dtype {dtype!r} is no name", WHOLE)
    if wrong := [key for key, number in work.items() if not _positive(number)]:
        raise KitError(f"{name}: work() counts {wrong[0]!r} in {work[wrong[0]]!r}, which is no positive number", WHOLE)
    if numerator and numerator not in work:
        raise KitError(f"{name}: work() does not count {numerator!r}, of which {module.UNIT} is made")
    item = {
        "case": name,
        "title": title,
        "group": module.GROUP,
        "parameters": {key: value for key, value in parameters.items() if key != "dtype"},
        "dtype": dtype,
        "unit": module.UNIT,
        "direction": "lower" if module.UNIT == "s" else "higher",
        "work": work[numerator] if numerator else None,
        "flop": work.get("flop"),
        "bytes": work.get("bytes"),
    }
    return {**item, "file_sha256": case.file_sha256} if case.file_sha256 else item


def _positive(number: Any) -> bool:
    return isinstance(number, (int, float)) and not isinstance(number, bool) and 0 < number < float("inf")


def load_file(path: Path, sha256: str) -> Loaded:
    """Import a user's case file of a digest. Whatever it raises on the way comes out as KitError naming it."""
    name = re.sub(r"[^a-z0-9_-]", "-", path.stem.lower()).lstrip("-_") or "own"
    try:
        source = path.read_bytes()
        if hashlib.sha256(source).hexdigest() != sha256:
            raise KitError(f"{path.name} is not what it was when the run began", "leave it alone until the run ends")
        module = ModuleType(f"own_case_{name.replace('-', '_')}")
        module.__file__ = str(path)
        sys.modules[module.__name__] = module  # where dataclasses look for it
        # The bytes that were hashed, not a second reading of the file or a compiled copy of an earlier one.
        exec(compile(source, str(path), "exec", dont_inherit=True), module.__dict__)  # noqa: S102 - the user's own case
    except KitError:
        raise
    except (Exception, SystemExit) as error:
        raise KitError(f"{path.name} cannot be imported: {type(error).__name__}: {error}") from error
    return Loaded(name, module, sha256)
