"""Do /dev/kfd and the render node of each GPU open for reading and writing?"""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Any

from validate import access, amd, backends, context
from validate.outcome import fail, passed, skip

if TYPE_CHECKING:
    from schema.records import Outcome
    from validate.machine import Machine

KFD = "/dev/kfd"
SHAPE = {"gpus": list, "opens": dict, "nodes": dict, "identity": dict}
NOT_HERE = {
    "cuda": "NVIDIA GPUs are reached through /dev/nvidia*, which the engine hands over; /dev/kfd is AMD's",
    "cpu": "nothing here computes on a GPU",
}


def gather(machine: Machine, lock: dict[str, Any] | None) -> dict[str, Any]:  # noqa: ARG001 - the interface
    """Open each node and keep the error number. Never read from one: a healthy /dev/kfd refuses that."""
    facts: dict[str, Any] = {"backend": backends.detect(machine), "missed": backends.missed(machine)}
    if not_here(facts):
        return facts
    gpus = amd.nodes(machine)
    present = machine.glob("/dev/dri/renderD*")
    paths = [KFD, *present]
    return {
        **facts,
        "runtime": context.load(machine)["runtime"],
        "gpus": gpus,
        "opens": {path: machine.open_errno(path, os.O_RDWR) for path in paths},
        "nodes": {path: machine.stat(path) for path in paths},
        "identity": machine.identity(),
        "uid_map": machine.read("/proc/self/uid_map"),
        "kfd_in_sysfs": bool(machine.glob("/sys/class/kfd/*")),
        "driver_loaded": bool(machine.glob("/sys/module/amdgpu*")),
        "slurm": "SLURM_JOB_ID" in machine.env,
        "apptainer": bool({"APPTAINER_CONTAINER", "SINGULARITY_CONTAINER"} & set(machine.env)),
        "wsl": machine.stat("/dev/dxg") is not None,
    }


def not_here(facts: dict[str, Any]) -> str | None:
    """Return why nobody asks for the nodes; None where a GPU is to compute, or would if it could."""
    return None if facts.get("missed") is True else NOT_HERE.get(facts["backend"])


def judge(facts: dict[str, Any], lock: dict[str, Any] | None) -> list[Outcome]:  # noqa: ARG001 - the interface
    """Judge /dev/kfd by the error number, then the render nodes of the GPUs that the kernel lists."""
    if reason := not_here(facts):
        return [skip("device_nodes.not_here", reason)]
    found = [_judge_kfd(facts)]
    opens = facts["opens"]
    usable = [gpu["render"] for gpu in facts["gpus"] if gpu["render"] and opens.get(gpu["render"]) == 0]
    refused = [gpu["render"] for gpu in facts["gpus"] if opens.get(gpu["render"], errno.ENOENT) == errno.EACCES]
    if refused:
        cause, reason, remedy = access.explain_refusal(refused[0], facts)
        found.append(fail(f"device_nodes.render_{cause}", reason, seen=refused, remedy=remedy))
    elif usable:
        # fewer nodes than the kernel's GPUs is what a container of some of them looks like
        found.append(passed("device_nodes.render", {"usable": usable, "in_sysfs": len(facts["gpus"])}))
    elif facts["gpus"]:
        wanted = facts["gpus"][0]["render"]
        found.append(
            fail(
                "device_nodes.render_absent",
                f"a GPU is used through its render node too, and none of {len(facts['gpus'])} is here",
                seen=sorted(opens),
                expected=wanted,
                remedy=_give(wanted, facts),
            )
        )
    return found


def _judge_kfd(facts: dict[str, Any]) -> Outcome:
    code = facts["opens"][KFD]
    name = errno.errorcode.get(code, str(code))
    if code == 0:
        return passed("device_nodes.kfd", "opens")
    if code == errno.EACCES:
        cause, reason, remedy = access.explain_refusal(KFD, facts)
        return fail(f"device_nodes.permission_{cause}", reason, seen=name, expected="opens", remedy=remedy)
    if code == errno.ENOENT:
        what, reason, remedy = _absent(facts)
    else:
        what, reason, remedy = access.FAULTS.get(
            code, ("other", f"opening it failed: {os.strerror(code)}", "on the host: `sudo dmesg | grep -i kfd`")
        )
    remedy = remedy.format(cgroup=access.CGROUP_REMEDIES[bool(facts["slurm"])].format(path=KFD))
    return fail(f"device_nodes.{what}", f"{KFD}: {reason}", seen=name, expected="opens", remedy=remedy)


def _give(path: str, facts: dict[str, Any]) -> str:
    """Say how a container is given a node; Apptainer has no flag for devices, and binds files."""
    if facts.get("apptainer"):
        return "start it with the nodes bound: `apptainer exec --bind /dev/kfd,/dev/dri IMAGE ...`"
    return f"start the container with `--device {path}`"


def _absent(facts: dict[str, Any]) -> tuple[str, str, str]:
    """Tell the four ways apart in which /dev/kfd is not there; flags of a container help in one only."""
    if facts["wsl"]:
        return (
            "wsl",
            "this is WSL, whose GPU is behind /dev/dxg; there is no /dev/kfd",
            "install librocdxg, pass /dev/dxg and /usr/lib/wsl into the container, and set HSA_ENABLE_DXG_DETECTION=1",
        )
    if facts["kfd_in_sysfs"]:
        return ("not_passed", "the kernel has it, this container was not given it", _give(KFD, facts))
    if facts["driver_loaded"]:
        return (
            "no_kfd",
            "amdgpu is loaded without KFD: the kernel lacks CONFIG_HSA_AMD, or the GPU is not supported by it",
            "on the host: `grep HSA_AMD /boot/config-$(uname -r); sudo dmesg | grep -i kfd` tells which",
        )
    return ("no_driver", "the host's amdgpu driver is not loaded", "on the host: `sudo modprobe amdgpu`")
