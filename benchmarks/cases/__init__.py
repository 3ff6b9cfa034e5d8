"""The cases, one file each, and which of them a suite measures.

The case protocol is told in docs/guide/own-case.md; a user's own file follows the same.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import json
import re
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks import blame
from benchmarks.cases import attention, copy, decode, groupnorm, matmul, resnet50
from benchmarks.correctness import plain
from schema.errors import KitError

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
#: The functions of a case, as they are called.
CALLS = {"work": ("p",), "prepare": ("bench", "p"), "step": ("state", "i"), "check": ("state", "i", "output")}
NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,99}")
#: Characters of a title, and of a variant's parameters as JSON: they are read in tables, and stand in every record.
LONGEST_TITLE, MOST_PARAMETERS = 100, 10_000
MOST_WORK = 1e30  # of one step: nothing does so much
WHOLE = "mend it there; docs/guide/own-case.md shows a whole one"


@dataclass(frozen=True)
class Loaded:
    """A case module with its name and, for a user's own, the path and the digest of its file."""

    name: str
    module: ModuleType
    path: str = ""
    file_sha256: str | None = None


def built_in() -> list[Loaded]:
    """Return the kit's own cases."""
    return [Loaded(module.__name__.rpartition(".")[2], module) for module in CASES]


def describe(case: Loaded) -> list[dict[str, Any]]:
    """Return the protocol's description of each variant of a case; KitError says what is wrong with it, and where."""
    module = case.module
    if case.path and case.name in {own.name for own in built_in()}:
        raise _refused(case, f"{case.name} is a case of the kit", "rename the file: its cases are called after it")
    if lacks := [name for name in ("GROUP", "UNIT", "VARIANTS", *CALLS) if not hasattr(module, name)]:
        raise _refused(case, f"it has no {', '.join(lacks)}")
    for name, allowed in (("GROUP", GROUPS), ("UNIT", tuple(UNITS))):
        if getattr(module, name) not in allowed:
            raise _refused(case, f"{name} is {getattr(module, name)!r}", f"use one of: {', '.join(allowed)}")
    for name, arguments in CALLS.items():
        _assert_callable(case, name, arguments)
    if not isinstance(module.VARIANTS, dict) or not module.VARIANTS:
        raise _refused(case, "it has no variants: VARIANTS maps names to parameters")
    # The first line of the file says what it measures; before a colon stands the name of it.
    title = (str(module.__doc__ or "").strip() or case.name).splitlines()[0].partition(": ")[0].rstrip(".?")
    if len(title) > LONGEST_TITLE:
        raise _refused(case, f"its first line is its title, and has {len(title)} characters: {LONGEST_TITLE} at most")
    found = [_variant(case, title, label, parameters) for label, parameters in module.VARIANTS.items()]
    (name, count), *_ = Counter(item["case"] for item in found).most_common()
    if count > 1:
        raise _refused(case, f"{count} of its variants are called {name}")
    return found


def _refused(case: Loaded, words: str, hint: str = WHOLE, error: BaseException | None = None) -> KitError:
    """Return the error that says what is wrong with a case, and in which line of its file if `error` tells."""
    where = case.name
    if case.path:
        where = blame.of_error(error, case.path) if error else Path(case.path).name
    return KitError(f"{where}: {words}", hint)


def _assert_callable(case: Loaded, name: str, arguments: tuple[str, ...]) -> None:
    function = getattr(case.module, name)
    if not callable(function):
        raise _refused(case, f"{name} is no function")
    with contextlib.suppress(ValueError):  # some built-in functions do not tell what they take
        try:
            inspect.signature(function).bind(*arguments)
        except TypeError as error:
            where = blame.of_function(function, case.path) if case.path else case.name
            raise KitError(f"{where}: {name}({', '.join(arguments)}) cannot be called: {error}", WHOLE) from error


def _variant(case: Loaded, title: str, label: Any, parameters: Any) -> dict[str, Any]:
    """Return the description of one variant."""
    module, name = case.module, f"{case.name}.{label}"
    if not NAME.fullmatch(name):
        raise _refused(case, f"{name!r} is no name of a case", "use lower-case letters, digits, '.', '_' and '-'")
    try:
        text = json.dumps(dict(parameters), allow_nan=False)
        parameters = json.loads(text)  # as the measuring process will see them
        work = {key: plain(number) for key, number in dict(module.work(parameters)).items()}
    except Exception as error:
        raise _refused(case, f"{name}: {_words(error)}", error=error) from error
    if len(text) > MOST_PARAMETERS:
        raise _refused(case, f"{name}: its parameters have {len(text)} characters: {MOST_PARAMETERS} at most")
    dtype, numerator = parameters.get("dtype", "fp32"), UNITS[module.UNIT]
    if not isinstance(dtype, str):
        raise _refused(case, f"{name}: the dtype {dtype!r} is no name")
    if wrong := [key for key, number in work.items() if not _positive(number)]:
        seen = f"{work[wrong[0]]!r}"[:100]
        raise _refused(
            case, f"{name}: work() counts {wrong[0]!r} in {seen}, which is not above 0 and at most {MOST_WORK:g}"
        )
    if numerator and numerator not in work:
        raise _refused(case, f"{name}: work() does not count {numerator!r}, of which {module.UNIT} is made")
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


def _words(error: BaseException) -> str:
    """Return the type and the first line of an error; its place is told beside it."""
    return f"{type(error).__name__}: {(blame.words(error) or 'it says no more')[:300]}"


def _positive(number: Any) -> bool:
    return isinstance(number, (int, float)) and not isinstance(number, bool) and 0 < number <= MOST_WORK


def load_file(path: Path, sha256: str) -> Loaded:
    """Import a user's case file of a digest. Whatever it raises on the way comes out as KitError saying where."""
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
    except BaseException as error:
        raise KitError(f"{blame.of_error(error, str(path))} cannot be imported: {_words(error)}", WHOLE) from error
    return Loaded(name, module, str(path), sha256)
