"""Is another process using the GPU?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from validate import amd, backends
from validate.outcome import passed, skip, warn

if TYPE_CHECKING:
    from schema.records import Outcome
    from validate.machine import Machine

KFD_PROC = "/sys/class/kfd/kfd/proc"
NOT_HERE = {"cpu": "nothing here computes on a GPU"}
SHAPE = {"cards": dict}
OCCUPIED = 0.05  # share of a card's memory; drivers and firmware keep below 2 % for themselves


def gather(machine: Machine, lock: dict[str, Any] | None) -> dict[str, Any]:  # noqa: ARG001 - the interface
    """Count by PCI address. Our own probes have ended: whoever is there is somebody else. Names are not recorded."""
    backend = backends.detect(machine)
    facts: dict[str, Any] = {"backend": backend}
    if backend not in NOT_HERE:
        used = {device["pci"] for device in backends.torch_facts(machine).get("devices", []) if device.get("pci")}
        facts["cards"] = {pci: card for pci, card in LEARN[backend](machine).items() if not used or pci in used}
    return facts


def _learn_amd(machine: Machine) -> dict[str, Any]:
    """Read the KFD's list: a process holds a card when it has memory on it; monitors open the device and hold none."""
    known = machine.glob(KFD_PROC) != []
    ids = {}
    for node in amd.nodes(machine):
        ids[amd.text(machine, f"{amd.NODES}/{node['node']}/gpu_id")] = node["pci"]
    cards: dict[str, Any] = {}
    for pci in ids.values():
        card = amd.card(machine, pci)
        cards[pci] = {
            "processes": [] if known else None,
            "memory_used_bytes": card["memory_used_bytes"],
            "memory_bytes": card["memory_bytes"],
        }
    for path in machine.glob(f"{KFD_PROC}/*/vram_*"):
        pci, held = ids.get(path.rsplit("_", 1)[1]), amd.number(machine, path)
        if pci and held:
            cards[pci]["processes"].append({"pid": int(path.split("/")[-2]), "memory_bytes": held})
    return cards


def _learn_nvidia(machine: Machine) -> dict[str, Any]:
    torch = {d.get("pci"): d for d in backends.torch_facts(machine).get("devices", [])}
    return {
        pci: {
            "processes": item["processes"],
            "memory_used_bytes": item["sensors"].get("memory_used_bytes"),
            "memory_bytes": torch.get(pci, {}).get("memory_bytes"),
        }
        for pci, item in backends.nvidia_facts(machine).get("cards", {}).items()
    }


LEARN = {"rocm": _learn_amd, "cuda": _learn_nvidia}


def judge(facts: dict[str, Any], lock: dict[str, Any] | None) -> list[Outcome]:  # noqa: ARG001 - the interface
    """Warn of a process that holds memory, or of memory that nobody visible holds. A false alarm is worse than none."""
    if facts["backend"] in NOT_HERE:
        return [skip("processes.not_here", NOT_HERE[facts["backend"]])]
    if not facts["cards"]:
        return [skip("processes.unknown", "no card could be looked at")]
    return [_judge_card(pci, card) for pci, card in sorted(facts["cards"].items())]


def _judge_card(pci: str, card: dict[str, Any]) -> Outcome:
    others, used, total = card["processes"], card["memory_used_bytes"], card["memory_bytes"]
    share = used / total if used is not None and total else None
    seen = {"pci": pci, "processes": others, "memory_used_bytes": used}
    if others:
        return warn(
            "processes.in_use",
            f"{len(others)} other process(es) hold {pci}",
            seen=seen,
            remedy="end them, or measure another GPU: `ps -p "
            + ",".join(str(item["pid"]) for item in others[:8])
            + " -o pid,user,args` on the host shows whose they are",
        )
    if share is not None and share > OCCUPIED:
        return warn(
            "processes.memory",
            f"{used / 2**30:.1f} GiB of {pci} are in use, and no process is visible that holds them",
            seen=seen,
            remedy="look on the host: `sudo fuser -v /dev/kfd /dev/dri/renderD* /dev/nvidia*`",
        )
    if not isinstance(others, list):
        return skip("processes.unknown", f"who uses {pci} cannot be known from here", seen=seen)
    return passed("processes.free", seen)
