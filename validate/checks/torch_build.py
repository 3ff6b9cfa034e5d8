"""Is this the PyTorch that the lock names, built for what should compute here?"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from schema import facts as data
from validate import amd, backends, context, masks
from validate.outcome import fail, passed, skip, warn
from validate.versions import agrees

if TYPE_CHECKING:
    from schema.records import Outcome
    from validate.machine import Machine

UNSEEN = {
    "rocm": "repair what `driver`, `device_nodes` and `groups` say first",
    "cuda": "start the container with `--gpus all`, or on a host: `nvidia-smi` shows whether the driver answers",
}
SHAPE = {"torch": dict, "switches": dict, "torches": list, "gpus": list, "devices": list, "nvidia": bool}
#: PyTorch's index of a build is named like the local label of its version: 2.11.0+cu128, 2.7.0+rocm6.3.
LABEL = re.compile(r"^(\d+\.\d+)[\w.]*\+(cpu|cu\d{2,3}|rocm\d[\d.]*)$")
INDEX = "https://download.pytorch.org/whl/"
NEWEST_ROCM = "rocm7.2"  # for which PyTorch has an index
FROM_LOCK = "run inside the image that was built from this lock: `./kit build --force`, then `./kit validate`"


def gather(machine: Machine, lock: dict[str, Any] | None) -> dict[str, Any]:  # noqa: ARG001 - the interface
    """Take torch's own words, and the architectures that the kernel gives the GPUs."""
    found = backends.torch_facts(machine)
    return {
        "backend": backends.detect(machine),
        "runtime": context.load(machine)["runtime"],
        "torch": backends.torch_about(machine),
        "switches": found.get("switches", {}),
        "gpus": [{"pci": gpu["pci"], "gfx": gpu["gfx"]} for gpu in amd.nodes(machine)],
        "nvidia": bool(machine.glob("/proc/driver/nvidia/gpus/*")),
        "devices": [{"gfx": d.get("gfx")} for d in found.get("devices", [])],
        "hiding": sorted(name for name in masks.NAMES if masks.hides_all(machine.env.get(name, "0"))),
        "torches": [item["version"] for item in machine.distributions() if item["name"].lower() == "torch"],
    }


def judge(facts: dict[str, Any], lock: dict[str, Any] | None) -> list[Outcome]:
    """Judge that it imports, is the build and version of the lock, has kernels for the GPU, and keeps MIOpen on."""
    torch = facts["torch"]
    if not torch.get("version"):
        return [_not_importable(facts, lock)]
    found = [_judge_build(facts, lock)]
    if lock:
        found.append(_judge_version(facts, lock))
    if len(facts["torches"]) > 1:
        reason = "more than one torch is on the path: the first found wins"
        found.append(
            warn("torch_build.several", reason, seen=facts["torches"], remedy=SEVERAL[facts["runtime"] == "container"])
        )
    if torch["build"] in ARCHITECTURES:
        found.append(_judge_arch(facts))
    found += _judge_switches(facts)
    return found


def _not_importable(facts: dict[str, Any], lock: dict[str, Any] | None) -> Outcome:
    """What pip installs unasked is a build for CUDA: on other machines the index must be named."""
    wanted, reason = (lock or {}).get("torch"), f"torch cannot be imported: {facts['torch'].get('error')}"
    if lock:
        remedy = FROM_LOCK
    elif facts["runtime"] == "container":
        remedy = "use an image that has PyTorch: `./kit doctor` names its lock"
    else:
        label = "" if facts["nvidia"] else f" --index-url {INDEX}{NEWEST_ROCM if facts['gpus'] else 'cpu'}"
        remedy = f"python3 -m pip install torch{label}   # or run this with a Python that has PyTorch"
    return fail("torch_build.import", reason, expected=wanted, remedy=remedy)


def _judge_build(facts: dict[str, Any], lock: dict[str, Any] | None) -> Outcome:
    """A build for something else than the lock's is the silent fault: it runs, on the CPU or not at all."""
    torch, build = facts["torch"], facts["torch"]["build"]
    seen = {"version": torch["version"], "build": build, "hip": torch.get("hip"), "cuda": torch.get("cuda")}
    if lock and build != lock["torch"]["build"]:
        wanted = lock["torch"]
        return fail(
            "torch_build.build",
            f"this PyTorch was built for {build}, the lock's for {wanted['build']}",
            seen=seen,
            expected=wanted,
            remedy=_reinstall(facts, wanted["version"]),
        )
    if not lock and facts["gpus"] and build != "rocm" and not facts["nvidia"]:
        return fail(
            "torch_build.silent_cpu",
            f"there is a {facts['gpus'][0]['gfx']}, but this PyTorch was built for {build}: it would use the CPU",
            seen=seen,
            expected={"build": "rocm"},
            remedy=BESIDE_AMD[facts["runtime"] == "container"],
        )
    present = {"rocm": bool(facts["gpus"]), "cuda": facts["nvidia"]}
    if present.get(build) and not facts["devices"]:
        return fail(
            "torch_build.gpu_unseen",
            f"built for {build}, and the machine has such a GPU, but torch sees none: it would use the CPU",
            seen={**seen, "hidden_by": facts["hiding"]},
            remedy=f"unset {' '.join(facts['hiding'])}" if facts["hiding"] else UNSEEN[build],
        )
    return passed("torch_build.build", seen, lock["torch"] if lock else None)


def _reinstall(facts: dict[str, Any], version: str) -> str:
    """Name the index that has this very build; in a container, or where no index has it, the lock's image."""
    label = label_of(version)
    if facts["runtime"] == "container" or not label:
        return FROM_LOCK
    return f"python3 -m pip install --force-reinstall torch=={version} --index-url {INDEX}{label}"


def label_of(version: str) -> str | None:
    """Return the name of the index of PyTorch's that has a version; None for AMD's and Debian's builds, or unknown.

    AMD's wheels have labels of the same form (+rocm10.0.0), so those for ROCm must stand in the dated table.
    """
    found = LABEL.match(version)
    if not found or not found[2].startswith("rocm"):
        return found[2] if found else None
    rows = [row for row in data.load("compat")["pytorch_releases"] if row["torch"] == found[1]]
    built = {rocm for row in rows for rocm in (row.get("rocm_stable"), *row.get("rocm_wheels", ()))}
    return found[2] if found[2].removeprefix("rocm") in built else None


#: Inside a container or not -> remedy. A container's files are the image's: pip changes nothing that lasts.
SEVERAL = {
    True: "take one of them out of the image's pin or base, then `./kit build --force`",
    False: "python3 -m pip uninstall torch   # again until none is left, then install the wanted one",
}
BESIDE_AMD = {
    True: "use an image whose torch is built for rocm: `./kit doctor` names its lock",
    False: f"python3 -m pip install --force-reinstall torch --index-url {INDEX}{NEWEST_ROCM}",
}


def _judge_version(facts: dict[str, Any], lock: dict[str, Any]) -> Outcome:
    seen, wanted = facts["torch"]["version"], lock["torch"]["version"]
    if agrees(seen, wanted):
        return passed("torch_build.version", seen, wanted)
    reason = f"torch is {seen}, the lock says {wanted}"
    return fail("torch_build.version", reason, seen=seen, expected=wanted, remedy=_reinstall(facts, wanted))


ARCHITECTURES = {"rocm": "gfx"}  # a CUDA build can compile its PTX for newer devices, so its list proves nothing


def _judge_arch(facts: dict[str, Any]) -> Outcome:
    """Compare base targets: suffixes like `:sramecc+` are features that a kernel without them serves as well."""
    arch = sorted({str(item).split(":")[0] for item in facts["torch"].get("arch_list", [])})
    real = sorted({gpu["gfx"] for gpu in facts["gpus"] if gpu["gfx"]})
    claimed = sorted({str(device["gfx"]).split(":")[0] for device in facts["devices"] if device.get("gfx")})
    if not arch:
        return warn("torch_build.arch", "this PyTorch does not tell its architectures", seen=claimed)
    if not (real or claimed):
        return skip("torch_build.arch", "no GPU is visible to compare with", seen=arch)
    missing = sorted(set(real or claimed) - set(arch))
    if missing:
        return fail(
            "torch_build.arch",
            f"this PyTorch has no kernels for {', '.join(missing)}: the first one stops as an invalid device function",
            seen=arch,
            expected=real or claimed,
            remedy=f"choose a lock or wheel whose targets include {missing[0]}: `./kit doctor` names one",
        )
    return passed("torch_build.arch", arch, real or claimed)


def _judge_switches(facts: dict[str, Any]) -> list[Outcome]:
    """`torch.backends.cudnn.enabled` is MIOpen's switch in a ROCm build: advice to turn it off turns MIOpen off."""
    if facts["torch"]["build"] == "cpu" or "cudnn_enabled" not in facts["switches"]:
        return []
    if facts["switches"]["cudnn_enabled"] is True:
        return [passed("torch_build.cudnn_switch", True)]  # noqa: FBT003 - a fact, not a flag
    return [
        fail(
            "torch_build.cudnn_switch",
            "torch.backends.cudnn.enabled is off, which turns MIOpen off: convolutions run without it",
            seen=facts["switches"]["cudnn_enabled"],
            expected=True,
            remedy="remove `torch.backends.cudnn.enabled = False` (from sitecustomize or the image)",
        )
    ]
