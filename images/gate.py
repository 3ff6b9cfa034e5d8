"""Is what is in an image what its lock says? Asked before anything is built on a base, and of what came out. Pure.

What is seen was written inside the image (images/inside/look.py): it is judged, and trusted with nothing else.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pins.lock import Lock

#: Distributions that must be built for the backend: their versions say so behind a plus sign.
LABELLED = ("torch", "torchvision", "torchaudio", "vllm")
#: What a wheel must not stand in front of: the image was validated with these.
KEPT = frozenset({"numpy", "torch", "torchvision", "torchaudio", "triton", "pytorch-triton", "pytorch-triton-rocm"})
#: NVIDIA's packages that are bindings and do nothing without a GPU of theirs; validate's check has the same.
HARMLESS = frozenset({"nvidia-ml-py", "pynvml"})
OTHER_LABELS = {
    "rocm": re.compile(r"\+(cu\d|cpu)"),
    "cuda": re.compile(r"\+(rocm|cpu)"),
    "cpu": re.compile(r"\+(rocm|cu\d)"),
}
EXACT = re.compile(r"([A-Za-z0-9._-]+)\s*\(?==\s*([A-Za-z0-9.!+_-]+)\)?\s*(?:;(.*))?")
#: What a marker may ask of the target, and the answers; `python_version` is what was seen.
TARGET = {
    "platform_system": "Linux", "sys_platform": "linux", "os_name": "posix", "platform_machine": "x86_64",
    "platform_python_implementation": "CPython", "implementation_name": "cpython",
}  # fmt: skip
CLAUSE = re.compile(r"\s*([a-z_]+)\s*(==|!=|<=|>=|<|>)\s*([\"'])([^\"']*)\3\s*")
PIN = "correct the pin, then make the lock again: ./kit lock --pin NAME"


class Seen(NamedTuple):
    """What was seen in an image."""

    python: str
    torch: dict[str, Any] | None
    rocm: list[tuple[str, str]]
    distributions: list[dict[str, Any]]
    imports: dict[str, str]
    shared: dict[str, list[str]]
    triton_amd: bool | None


def seen(document: dict[str, Any]) -> Seen:
    """Return what an image answered; KitError when it is not in the form of our scripts."""
    try:
        torch = document["torch"]
        return Seen(
            str(document["python"]),
            None if torch is None else {key: torch.get(key) for key in ("version", "hip", "cuda")},
            [(str(source), str(version)) for source, version in document["rocm"]],
            _first(
                [
                    {
                        "name": str(one["name"]),
                        "version": str(one["version"]),
                        "requires": list(map(str, one["requires"])),
                    }
                    for one in document["distributions"]
                ]
            ),
            {str(name): str(said) for name, said in document.get("imports", {}).items()},
            {str(path): list(map(str, names)) for path, names in document.get("shared", {}).items()},
            document.get("triton_amd"),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise KitError(f"the image answers otherwise than our scripts: {error!r}", "choose another base") from error


def _first(distributions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return of several distributions of one name the first on the path: that is the one which is imported."""
    named: dict[str, dict[str, Any]] = {}
    for one in distributions:
        named.setdefault(one["name"], one)
    return list(named.values())


def refuse_base(found: Seen, lock: Lock, name: str) -> None:
    """Raise KitError, naming both, where a base is not what its lock says, or a wheel would stand before its torch."""
    comes = {item["name"] for item in lock.wheels} | {item["name"].removeprefix("python3-") for item in lock.debs}
    differ = []
    if not agrees(found.python, lock.document["python"]):
        differ.append(f"Python {found.python}, and the lock says {lock.document['python']}")
    if "torch" not in comes and found.torch and not agrees(found.torch["version"] or "", _torch(lock)):
        differ.append(f"PyTorch {found.torch['version']}, and the lock says {_torch(lock)}")
    elif "torch" not in comes and found.torch and (wrong := _wrong_build(found.torch, lock.torch_build)):
        differ.append(f"{wrong}, and the lock says {lock.torch_build}")
    if not found.torch and comes.isdisjoint({"torch", "torch-cuda", "torch-rocm"}):  # the latter two are Debian's
        differ.append("no PyTorch in it, and the lock brings none")
    if lock.torch_build == "rocm" and found.rocm and not any(agrees(seen, lock.rocm) for _, seen in found.rocm):
        told = ", ".join(f"{version} ({source})" for source, version in found.rocm)
        differ.append(f"ROCm {told}, and the lock says {lock.rocm}")
    if differ:
        raise KitError(f"{name} has {'; '.join(differ)}: nothing is built on it", PIN)
    there = {one["name"]: one["version"] for one in found.distributions}
    if hidden := [f"{item['name']} {there[item['name']]}" for item in lock.wheels if item["name"] in KEPT & set(there)]:
        raise KitError(f"wheels of {lock.name} would stand before what {name} has: {', '.join(sorted(hidden))}", PIN)


def refuse_result(found: Seen, lock: Lock) -> None:
    """Raise KitError, naming every package at fault, where what was installed is no image of this lock."""
    if problems := list(faults(found, lock)):
        listed = "\n  ".join(problems)
        raise KitError(f"what was installed is not what {lock.name} says: no image is made of it\n  {listed}", PIN)


def faults(found: Seen, lock: Lock) -> Iterator[str]:
    """Yield what is wrong with PyTorch's family, in words that name packages; the image has it by now."""
    own = {item["name"] for item in lock.wheels}
    there = {one["name"]: one["version"] for one in found.distributions}
    if found.torch and not agrees(found.torch["version"] or "", _torch(lock)):
        yield f"torch is {found.torch['version']}, not {_torch(lock)}"
    if found.torch and (wrong := _wrong_build(found.torch, lock.torch_build)):
        yield f"torch {there.get('torch', '')}: {wrong}, not {lock.torch_build}"
    if lock.torch_build == "rocm":
        yield from _not_for_rocm(found, own, there)
    for name, version in sorted(there.items()):
        if OTHER_LABELS[lock.torch_build].search(version):
            yield f"{name} {version} is built for something else than {lock.torch_build}"
    yield from (f"import {name}: {said}" for name, said in sorted(found.imports.items()) if said)
    for path, names in sorted(found.shared.items()):
        yield f"{path} belongs to {' and '.join(names)}: the last one installed wins"
    yield from _unmet(found, there)


def _not_for_rocm(found: Seen, own: set[str], there: dict[str, str]) -> Iterator[str]:
    for name in LABELLED:
        if name in own and "+" not in there.get(name, ""):
            yield f"{name} {there.get(name)} has no +rocm in its version: a build for something else"
    if foreign := sorted(name for name in there if name.startswith("nvidia-") and name not in HARMLESS):
        yield f"packages of NVIDIA's in an image for ROCm: {', '.join(foreign)}"
    if found.triton_amd is False:
        yield "triton has no back end for AMD"


def warnings(found: Seen, lock: Lock) -> list[str]:
    """Return what is worth a word and no fault."""
    there = sorted({one["name"] for one in found.distributions} & HARMLESS)
    if lock.torch_build == "rocm" and there:
        return [f"{', '.join(there)} is in an image for ROCm: some programs then take it for one of NVIDIA's"]
    return []


def _unmet(found: Seen, there: dict[str, str]) -> Iterator[str]:
    """Yield exact requirements within the family that something else than asked for stands for."""
    for one in found.distributions:
        for requirement in one["requires"]:
            match = EXACT.fullmatch(requirement.strip())
            name = re.sub(r"[-_.]+", "-", match[1]).lower() if match else ""
            asked = match and name in KEPT and name in there and applies(match[3] or "", found.python)
            if match and asked and not _meets(there[name], match[2]):
                yield f"{one['name']} {one['version']} needs {name} {match[2]}, and {there[name]} is there"


def applies(marker: str, python: str) -> bool:
    """Say whether a requirement's marker surely holds for the target: clauses of known names, joined by `and`."""
    return not marker.strip() or all(_holds(clause, python) for clause in re.split(r"\band\b", marker))


def _holds(clause: str, python: str) -> bool:
    match = CLAUSE.fullmatch(clause)
    if not match:  # `or`, brackets, `in`: not judged
        return False
    name, sign, wanted = match[1], match[2], match[4]
    if name in TARGET:
        return {"==": TARGET[name] == wanted, "!=": TARGET[name] != wanted}.get(sign, False)
    parts = {"python_version": 2, "python_full_version": 3}.get(name)
    if not parts or not re.fullmatch(r"[0-9]{1,4}(\.[0-9]{1,4}){0,2}", wanted):  # `extra`, and what nobody knows
        return False
    here, there = (_numbers(text)[:parts] for text in (python, wanted))
    order = (here > there) - (here < there)
    return {"==": order == 0, "!=": order != 0, "<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0}[
        sign
    ]


def _numbers(version: str) -> list[int]:
    """Return three numbers of a version, 0 where it has fewer."""
    return [*map(int, re.findall(r"[0-9]{1,4}", version)[:3]), 0, 0, 0][:3]


def _meets(version: str, wanted: str) -> bool:
    """Say whether a version is the one wanted; one without a label is met by any build of it, and 2.9 by 2.9.0."""
    (seen, label), (asked, build) = (text.split("+", 1) if "+" in text else (text, "") for text in (version, wanted))
    return re.sub(r"(\.0+)+$", "", seen) == re.sub(r"(\.0+)+$", "", asked) and build in {"", label}


def _wrong_build(torch: dict[str, Any], build: str) -> str:
    """Return for what torch was built, where that is not `build`; empty where it is, or is not told."""
    built = "rocm" if torch["hip"] else "cuda" if torch["cuda"] else "cpu"
    return "" if built == build else f"PyTorch built for {built}"


def _torch(lock: Lock) -> str:
    return str(lock.document["torch"]["version"])


def agrees(seen: str, expected: str) -> bool:
    """Say whether a version is the expected one, or that told in more detail: 5.7.1-98 is 5.7.1, and is 5.7."""
    parts = [re.split(r"[.+~_-]", text.strip()) for text in (seen, expected)]
    return parts[0][: len(parts[1])] == parts[1]
