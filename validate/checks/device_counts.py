"""Do the kernel, the runtime and torch count the same GPUs, and do the visibility variables mean what they say?"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from validate import amd, backends, masks, variables
from validate.outcome import fail, passed, skip, warn
from validate.parsers import rocminfo

if TYPE_CHECKING:
    from schema.records import Outcome
    from validate.machine import Machine

NOT_HERE = {"cpu": "nothing here computes on a GPU"}
DRIVER_WORDS = {"rocm": "amdgpu|kfd", "cuda": "nvrm|nvidia"}
SHAPE = {"masks": dict, "kernel": list, "runtime": (list, type(None)), "torch": list, "proof": list}
PRODUCT = 64.0**3  # the sum of a product of ones
COMPARE = "compare `rocminfo` and the `device_nodes` finding: a render node that is missing hides its GPU"
FIRST_KERNEL = "see `torch_build`; `sudo dmesg | tail` on the host shows a fault of the GPU"


def gather(machine: Machine, lock: dict[str, Any] | None) -> dict[str, Any]:  # noqa: ARG001 - the interface
    """Ask each layer by itself. The kernel's list is not cut by a container, so usable nodes are counted too."""
    backend = backends.detect(machine)
    facts: dict[str, Any] = {"backend": backend}
    if backend in NOT_HERE:
        return facts
    torch = backends.torch_facts(machine)
    facts["torch"] = [{"pci": d.get("pci"), "gfx": d.get("gfx")} for d in torch.get("devices", [])]
    facts["torch_error"] = torch.get("error") or torch.get("torch", {}).get("error")
    facts["masks"] = {name: variables.redact(machine.env[name], [""]) for name in masks.NAMES if name in machine.env}
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
    """Judge the masks, what each layer sees through them, and that each device really computes."""
    if facts["backend"] in NOT_HERE:
        return [skip("device_counts.not_here", NOT_HERE[facts["backend"]])]
    filters = masks.in_force(facts["masks"], facts["backend"])
    found = masks.judge(filters, facts["kernel"])
    found += _judge_layers(facts, filters)
    found += [_judge_proof(f"cuda:{index}", facts["proof"]) for index in range(len(facts["torch"]))]
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


def _judge_layers(facts: dict[str, Any], filters: dict[str, str]) -> list[Outcome]:
    """Hold the runtime and torch against what the kernel has and the masks let through."""
    kernel, torch, runtime = facts["kernel"], facts["torch"], facts["runtime"]
    seen = {name: _addresses(facts[name]) for name in ("kernel", "runtime", "torch")}
    if not torch:
        return [
            fail(
                "device_counts.torch_none",
                f"torch sees no GPU: {facts['torch_error'] or facts['runtime_error'] or 'the runtime gives no reason'}",
                seen=seen,
                remedy=_none_remedy(facts, filters),
            )
        ]
    below = {name: value for name, value in filters.items() if name in masks.RUNTIME}
    through = masks.apply(filters, kernel, facts["backend"])
    found = [_judge_layer("torch", torch, through, kernel, facts["torch_error"])]
    if runtime is not None:
        through = masks.apply(below, kernel, facts["backend"])
        found.append(_judge_layer("the runtime", runtime, through, kernel, facts["runtime_error"]))
    wrong = [item for item in found if item]
    return wrong or [passed("device_counts.agree", {**seen, **filters})]


def _judge_layer(
    layer: str,
    found: list[dict[str, Any]],
    expected: list[dict[str, Any] | None],
    kernel: list[dict[str, Any]],
    why: str | None,
) -> Outcome | None:
    """More than expected are other GPUs than those that were asked for; fewer are a GPU that does not answer."""
    seen, wanted = Counter(_addresses(found)), Counter(_addresses(expected))
    unknown_here, unknown_there = seen.pop(None, 0), wanted.pop(None, 0)
    foreign = sorted((seen - Counter(_addresses(kernel))).elements()) if None not in _addresses(kernel) else []
    surplus = sum((seen - wanted).values())
    say = {"seen": _addresses(found), "expected": _addresses(expected)}
    if foreign or surplus > unknown_there or len(found) > len(expected):
        reason = f"{layer} sees {len(found)} GPUs, {len(expected)} are offered" + (
            f"; the kernel does not offer {', '.join(foreign)} here" if foreign else ""
        )
        return fail("device_counts.differ", reason, **say, remedy=COMPARE)
    if len(found) < len(expected) or sum((wanted - seen).values()) > unknown_here:
        reason = f"{layer} sees {len(found)} of {len(expected)} GPUs" + (f": {why}" if why else "")
        return warn("device_counts.differ", reason, **say, remedy=COMPARE)
    return None


def _addresses(devices: list[Any] | None) -> list[str | None] | None:
    """Return the PCI addresses in their order; None for a device that is known by its id alone, or not at all."""
    return None if devices is None else [device["pci"] if device else None for device in devices]


def _none_remedy(facts: dict[str, Any], filters: dict[str, str]) -> str | None:
    hiding = [name for name, value in filters.items() if masks.hides_all(value)]
    if hiding:
        return f"unset {' '.join(hiding)}"
    if not facts["kernel"]:
        return "repair what `driver` and `device_nodes` say first"
    if facts["build"] == facts["backend"]:
        return f"on the host: `sudo dmesg | grep -iE '{DRIVER_WORDS[facts['backend']]}'` shows what the driver said"
    return "repair what `torch_build` says first: this PyTorch is built for something else"


def _judge_proof(device: str, proof: list[dict[str, Any]]) -> Outcome:
    """A device that is counted must also compute: 64 ones times 64 ones."""
    found = next((item for item in proof if item.get("device") == device), None)
    if found is None or found.get("error"):
        reason = found["error"] if found else "nothing was computed on it"
        return fail("device_counts.computes", f"{device}: {reason}", seen=found, remedy=FIRST_KERNEL)
    if found.get("total") != PRODUCT:
        return fail(
            "device_counts.computes",
            f"{device} multiplies ones to a wrong sum",
            seen=found.get("total"),
            expected=PRODUCT,
            remedy=FIRST_KERNEL,
        )
    return passed("device_counts.computes", device)
