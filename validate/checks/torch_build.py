"""Is this the PyTorch that the lock names, built for what should compute here?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from validate import amd, backends, context
from validate.checks.device_counts import MASKS
from validate.outcome import fail, passed, skip, warn
from validate.versions import agrees

if TYPE_CHECKING:
    from schema.records import Outcome
    from validate.machine import Machine

UNSEEN = {
    "rocm": "repair what `driver`, `device_nodes` and `groups` say first",
    "cuda": "start the container with `--gpus all`, or on a host: `nvidia-smi` shows whether the driver answers",
}
INDEX = {
    "rocm": "--index-url https://download.pytorch.org/whl/rocm{rocm}",
    "cuda": "--index-url https://download.pytorch.org/whl/cu130",
    "cpu": "--index-url https://download.pytorch.org/whl/cpu",
}


def gather(machine: Machine, lock: dict[str, Any] | None) -> dict[str, Any]:  # noqa: ARG001 - the interface
    """Take torch's own words, and the architectures that the kernel gives the GPUs."""
    found = backends.torch_facts(machine)
    return {
        "backend": backends.detect(machine),
        "runtime": context.load(machine)["runtime"],
        "torch": found.get("torch", {"version": None, "build": None, "error": found.get("error", "unknown")}),
        "switches": found.get("switches", {}),
        "gpus": [{"pci": gpu["pci"], "gfx": gpu["gfx"]} for gpu in amd.nodes(machine)],
        "nvidia": bool(machine.glob("/proc/driver/nvidia/gpus/*")),
        "devices": [{"gfx": d.get("gfx")} for d in found.get("devices", [])],
        "hiding": sorted(name for name in MASKS if machine.env.get(name, "0").strip() in {"", "-1"}),
        "torches": [item["version"] for item in machine.distributions() if item["name"].lower() == "torch"],
    }


def judge(facts: dict[str, Any], lock: dict[str, Any] | None) -> list[Outcome]:
    """Judge that it imports, is the build and version of the lock, has kernels for the GPU, and keeps MIOpen on."""
    torch = facts["torch"]
    if not torch.get("version"):
        return [_not_importable(torch, lock)]
    found = [_judge_build(facts, lock)]
    if lock:
        found.append(_judge_version(torch, lock))
    if len(facts["torches"]) > 1:
        reason = "more than one torch is on the path: the first found wins"
        found.append(
            warn("torch_build.several", reason, seen=facts["torches"], remedy="python3 -m pip uninstall torch")
        )
    if torch["build"] in ARCHITECTURES:
        found.append(_judge_arch(facts))
    found += _judge_switches(facts)
    return found


def _not_importable(torch: dict[str, Any], lock: dict[str, Any] | None) -> Outcome:
    wanted = (lock or {}).get("torch")
    remedy = "install PyTorch into this Python: `python3 -m pip install torch`" if not lock else "invoke build --force"
    return fail("torch_build.import", f"torch cannot be imported: {torch.get('error')}", expected=wanted, remedy=remedy)


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
            remedy=_reinstall(wanted["version"], wanted["build"], str(lock["rocm"])),
        )
    if not lock and facts["gpus"] and build != "rocm" and not facts["nvidia"]:
        return fail(
            "torch_build.silent_cpu",
            f"there is a {facts['gpus'][0]['gfx']}, but this PyTorch was built for {build}: it would use the CPU",
            seen=seen,
            expected={"build": "rocm"},
            remedy="python3 -m pip install --force-reinstall torch --index-url https://download.pytorch.org/whl/rocm7.2",
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


def _reinstall(version: str, build: str, rocm: str) -> str:
    index = INDEX[build].format(rocm=".".join(rocm.split(".")[:2]))
    return f"python3 -m pip install --force-reinstall torch=={version} {index}"


def _judge_version(torch: dict[str, Any], lock: dict[str, Any]) -> Outcome:
    wanted = lock["torch"]["version"]
    if agrees(torch["version"], wanted):
        return passed("torch_build.version", torch["version"], wanted)
    return fail(
        "torch_build.version",
        f"torch is {torch['version']}, the lock says {wanted}",
        seen=torch["version"],
        expected=wanted,
        remedy="run inside the image that was built from this lock: `invoke build`, then `invoke validate`",
    )


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
            remedy=f"choose a lock or wheel whose targets include {missing[0]}: `invoke doctor` names one",
        )
    return passed("torch_build.arch", arch, real or claimed)


def _judge_switches(facts: dict[str, Any]) -> list[Outcome]:
    """`torch.backends.cudnn.enabled` is MIOpen's switch in a ROCm build: advice to turn it off turns MIOpen off."""
    if facts["torch"]["build"] == "cpu" or "cudnn_enabled" not in facts["switches"]:
        return []
    if facts["switches"]["cudnn_enabled"]:
        return [passed("torch_build.cudnn_switch", True)]  # noqa: FBT003 - a fact, not a flag
    return [
        fail(
            "torch_build.cudnn_switch",
            "torch.backends.cudnn.enabled is off, which turns MIOpen off: convolutions run without it",
            seen=False,
            expected=True,
            remedy="remove `torch.backends.cudnn.enabled = False` (from sitecustomize or the image)",
        )
    ]
