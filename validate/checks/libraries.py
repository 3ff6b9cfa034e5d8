"""Does each GPU library that torch really loaded come from one place?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from validate import backends, variables
from validate.outcome import fail, passed, skip, warn

if TYPE_CHECKING:
    from schema.records import Outcome
    from validate.machine import Machine

INJECTED = "/.singularity.d/libs/"


def gather(machine: Machine, lock: dict[str, Any] | None) -> dict[str, Any]:
    """Take the files that a process with torch has mapped after its first multiplication."""
    personal = [machine.env.get(name, "") for name in ("HOME", "USER", "LOGNAME")]
    found = backends.torch_facts(machine).get("libraries", {})
    return {
        "libraries": {name: [variables.redact(path, personal) for path in paths] for name, paths in found.items()},
        "pinned": lock is not None,
    }


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
                remedy=f"unset LD_LIBRARY_PATH, or remove the copy that the lock does not name: {paths[-1]}",
            )
        )
    injected = sorted(path for paths in libraries.values() for path in paths if INJECTED in path)
    if injected and facts["pinned"]:
        found.append(
            fail(
                "libraries.injected",
                "Apptainer put the host's libraries over the image's",
                seen=injected,
                remedy="run without `--rocm` or `--nv`: `apptainer exec --bind /dev/kfd,/dev/dri IMAGE ...`",
            )
        )
    return found or [passed("libraries.one_place", {name: paths[0] for name, paths in libraries.items()})]
