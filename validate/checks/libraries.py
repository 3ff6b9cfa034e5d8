"""Does each GPU library that torch really loaded come from one place?"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from validate import backends, variables
from validate.outcome import fail, passed, skip, warn

if TYPE_CHECKING:
    from schema.records import Outcome
    from validate.machine import Machine

SHAPE = {"libraries": dict, "pinned": bool}
INJECTED = "/.singularity.d/libs/"
TORCH = ("libtorch_cpu", "libtorch_hip", "libtorch_cuda")
#: What computes. libamd_smi only reads sensors: torch takes the system's beside the libraries that a wheel brings.
STACK = ("libamdhip64", "libhsa-runtime64", "librocblas", "libhipblas", "libhipblaslt", "libMIOpen", "librccl")
#: Folders of one installation: a release under /opt, or the wheels of AMD's that are made for each other.
TOGETHER = re.compile(r"^(/opt/rocm[^/]*)/|^(.*(?:site|dist)-packages/_rocm_sdk)_")
PACKAGES = re.compile(r"^.*/((?:site|dist)-packages/)")


def gather(machine: Machine, lock: dict[str, Any] | None) -> dict[str, Any]:
    """Take the files that a process with torch has mapped after its first multiplication."""
    personal = [machine.env.get(name, "") for name in ("HOME", "USER", "LOGNAME")]
    found = backends.torch_facts(machine).get("libraries", {})
    return {
        "libraries": {name: [_public(path, personal) for path in paths] for name, paths in found.items()},
        "pinned": lock is not None,
    }


def _public(path: str, personal: list[str]) -> str:
    """Return a path without what only this machine has: the folders above its Python packages, homes, names."""
    return variables.redact(PACKAGES.sub(r"\1", path), personal)


def judge(facts: dict[str, Any], lock: dict[str, Any] | None) -> list[Outcome]:  # noqa: ARG001 - the interface
    """Two copies of one library in one process give undefined symbols, other kernels, other speed."""
    libraries = facts["libraries"]
    if not libraries:
        return [skip("libraries.unknown", "torch did not run, so nothing was loaded")]
    found = []
    twice = {name: paths for name, paths in libraries.items() if len(paths) > 1}
    if twice:
        name, paths = min(twice.items())
        # OpenMP runtimes are often doubled by wheels that bring their own: slow, seldom wrong
        say = warn if set(twice) <= {"libgomp"} else fail
        found.append(
            say(
                "libraries.mixed",
                f"{name} is loaded from {len(paths)} places",
                seen=twice,
                remedy=_one_of(paths, libraries),
            )
        )
    injected = sorted(path for paths in libraries.values() for path in paths if INJECTED in path)
    host = set(injected) if facts["pinned"] else set()
    if not set(twice) & set(STACK):
        found += _stacks({name: paths for name, paths in libraries.items() if not host & set(paths)})
    if injected and facts["pinned"]:
        found.append(
            fail(
                "libraries.injected",
                "Apptainer put the host's libraries over the image's",
                seen=injected,
                remedy="run without `--rocm`: `apptainer exec --bind /dev/kfd,/dev/dri IMAGE ...`",
            )
        )
    return found or [passed("libraries.one_place", {name: paths[0] for name, paths in libraries.items()})]


def _stacks(libraries: dict[str, list[str]]) -> list[Outcome]:
    """Libraries of two installations, each of them once, are built for each other no more than two copies are."""
    places: dict[str, list[str]] = {}
    for name in STACK:
        for path in libraries.get(name, []):
            places.setdefault(_installation(path), []).append(path)
    if len(places) < 2:
        return []
    told = " and ".join(sorted(places))
    remedy = f"unset LD_LIBRARY_PATH; if it stays so, install the PyTorch that is made for one of {told}"
    return [fail("libraries.stacks", f"ROCm's libraries come from {told}", seen=places, remedy=remedy)]


def _installation(path: str) -> str:
    found = TOGETHER.match(path)
    return next(filter(None, found.groups())) if found else _folder(path)


def _one_of(paths: list[str], libraries: dict[str, list[str]]) -> str:
    """Say which copy to keep: torch's own, which it was built and tested with; else say that both are there."""
    folders = {_folder(path) for name in TORCH for path in libraries.get(name, [])}
    own = [path for path in paths if _folder(path) in folders]
    others = [path for path in paths if path not in own]
    if own and others:
        return f"unset LD_LIBRARY_PATH, or remove {', '.join(others)}: torch brings {own[0]} and needs that one"
    return f"unset LD_LIBRARY_PATH; if it stays so, only one of {' and '.join(paths)} may be on the path"


def _folder(path: str) -> str:
    return path.rsplit("/", 1)[0]
