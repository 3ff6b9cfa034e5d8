"""Do the kernel, the runtime and torch count the same GPUs, and do the visibility variables mean what they say?"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from validate import amd, backends, variables
from validate.outcome import fail, passed, skip, warn
from validate.parsers import rocminfo

if TYPE_CHECKING:
    from schema.records import Outcome
    from validate.machine import Machine

NOT_HERE = {"cpu": "nothing here computes on a GPU"}
DRIVER_WORDS = {"rocm": "amdgpu|kfd", "cuda": "nvrm|nvidia"}
MASKS = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL")


def gather(machine: Machine, lock: dict[str, Any] | None) -> dict[str, Any]:  # noqa: ARG001 - the interface
    """Ask each layer by itself. The kernel's list is not cut by a container, so usable nodes are counted too."""
    backend = backends.detect(machine)
    facts: dict[str, Any] = {"backend": backend}
    if backend in NOT_HERE:
        return facts
    torch = backends.torch_facts(machine)
    facts["torch"] = [{"pci": d.get("pci"), "gfx": d.get("gfx")} for d in torch.get("devices", [])]
    facts["torch_error"] = torch.get("error") or torch.get("torch", {}).get("error")
    facts["masks"] = {name: variables.redact(machine.env[name], [""]) for name in MASKS if name in machine.env}
    facts["build"] = torch.get("torch", {}).get("build")
    facts["proof"] = torch.get("proof", [])
    facts.update(LEARN[backend](machine))
    return facts


def _learn_amd(machine: Machine) -> dict[str, Any]:
    gpus = amd.nodes(machine)
    usable = [gpu for gpu in gpus if gpu["render"] and machine.open_errno(gpu["render"]) == 0]
    ran = machine.run(["rocminfo"], 30)
    found = rocminfo.parse(ran.stdout + ran.stderr)
    runtime = [{"pci": agent["pci"], "gfx": agent["name"]} for agent in found["agents"] if agent["gpu"]]
    return {"kernel": usable, "runtime": None if ran.missing else runtime, "runtime_error": found["failure"] or ran.why}


def _learn_nvidia(machine: Machine) -> dict[str, Any]:
    nvidia = backends.nvidia_facts(machine)
    cards = [{"pci": pci} for pci in sorted(nvidia.get("cards", {}))]
    return {"kernel": cards, "runtime": None, "runtime_error": nvidia.get("error", "")}


LEARN = {"rocm": _learn_amd, "cuda": _learn_nvidia}


def judge(facts: dict[str, Any], lock: dict[str, Any] | None) -> list[Outcome]:  # noqa: ARG001 - the interface
    """Judge the counts, the masks, and that each device really computes."""
    if facts["backend"] in NOT_HERE:
        return [skip("device_counts.not_here", NOT_HERE[facts["backend"]])]
    masks = {name: value for name, value in facts["masks"].items() if isinstance(value, str)}
    found = [finding for name, value in masks.items() for finding in _judge_mask(name, value, len(facts["kernel"]))]
    found.append(_judge_counts(facts, masks))
    found += [_judge_proof(item) for item in facts["proof"]]
    archs = sorted({str(gpu["gfx"]).split(":")[0] for gpu in facts["torch"] if gpu.get("gfx")})
    if len(archs) > 1:
        found.append(
            warn(
                "device_counts.mixed",
                "GPUs of several architectures are visible, an integrated one perhaps; one may lack kernels",
                seen=archs,
                remedy="set ROCR_VISIBLE_DEVICES to the GPU-... ids (from `rocminfo`) of the GPUs to use",
            )
        )
    return found


def _judge_counts(facts: dict[str, Any], masks: dict[str, str]) -> Outcome:
    kernel, torch, runtime = len(facts["kernel"]), len(facts["torch"]), facts["runtime"]
    seen = {"kernel": kernel, "runtime": None if runtime is None else len(runtime), "torch": torch}
    if torch == 0:
        return fail(
            "device_counts.torch_none",
            f"torch sees no GPU: {facts['torch_error'] or facts['runtime_error'] or 'the runtime gives no reason'}",
            seen=seen,
            remedy=_none_remedy(facts, masks),
        )
    if torch == kernel or masks:
        return passed("device_counts.agree", {**seen, **masks})
    return warn(
        "device_counts.differ",
        "torch uses another number of GPUs than the kernel offers here, and no visibility variable is set",
        seen=seen,
        remedy="compare `rocminfo` and the `device_nodes` finding: a render node that is missing hides its GPU",
    )


def _none_remedy(facts: dict[str, Any], masks: dict[str, str]) -> str | None:
    hiding = [name for name, value in masks.items() if value.strip() in {"", "-1"}]
    if hiding:
        return f"unset {' '.join(hiding)}"
    if not facts["kernel"]:
        return "repair what `driver` and `device_nodes` say first"
    if facts["build"] == facts["backend"]:
        return f"on the host: `sudo dmesg | grep -iE '{DRIVER_WORDS[facts['backend']]}'` shows what the driver said"
    return "repair what `torch_build` says first: this PyTorch is built for something else"


def _judge_mask(name: str, value: str, present: int) -> list[Outcome]:
    """Judge one list: empty and -1 hide all GPUs; an index beyond the last cuts the list there."""
    items = [item.strip() for item in value.split(",")]
    if value.strip() in {"", "-1"}:
        return [
            fail("device_counts.mask_hides", f"{name}={value!r} hides every GPU", seen=value, remedy=f"unset {name}")
        ]
    beyond = [item for item in items if re.match(r"^\d{1,9}$", item) and int(item) >= present]
    if beyond:
        reason = f"{name} names GPU {beyond[0]}, but there are {present} (0 to {present - 1}): the list is cut there"
        return [
            fail("device_counts.mask_range", reason, seen=value, remedy=f"unset {name}, or name GPUs below {present}")
        ]
    odd = [item for item in items if not re.match(r"^(\d{1,9}|GPU-[0-9a-fA-F-]{1,40}|MIG-\S{1,60})$", item)]
    if odd:
        reason = f"{name} has {odd[0]!r}, which is neither an index nor a GPU-... id: the list is cut there"
        return [fail("device_counts.mask_form", reason, seen=value, remedy=f"unset {name}, or list indices: 0,1")]
    return []


def _judge_proof(item: dict[str, Any]) -> Outcome:
    """A device that is counted must also compute: 64 ones times 64 ones."""
    if item.get("error"):
        return fail("device_counts.computes", f"{item['device']}: {item['error']}", seen=item)
    if item["total"] != item["expected"]:
        return fail(
            "device_counts.computes",
            f"{item['device']} multiplies ones to a wrong sum",
            seen=item["total"],
            expected=item["expected"],
        )
    return passed("device_counts.computes", item["device"])
