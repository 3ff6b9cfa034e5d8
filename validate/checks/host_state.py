"""Is the machine in a state in which figures can be repeated?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from validate import amd, backends
from validate.outcome import passed, skip, warn

if TYPE_CHECKING:
    from schema.records import Outcome
    from validate.machine import Machine

SHAPE = {"numa_balancing": (str, type(None)), "numa_nodes": int, "governor": (str, type(None)), "gpus": list}
GOVERNOR = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"
#: Levels at which the driver itself holds or bounds the clocks.
PINNED = {"high", "perf_determinism", "profile_standard", "profile_peak"}
FLOATING = {
    "low": "are held at their lowest",
    "manual": "are what somebody chose by hand, which may be any range",
}
TOLERANCE_W = 0.5  # caps are set in whole watts


def gather(machine: Machine, lock: dict[str, Any] | None) -> dict[str, Any]:  # noqa: ARG001 - the interface
    """Read settings; nothing is ever set here."""
    backend = backends.detect(machine)
    return {
        "backend": backend,
        "numa_balancing": amd.text(machine, "/proc/sys/kernel/numa_balancing"),
        "numa_nodes": len(machine.glob("/sys/devices/system/node/node[0-9]*")),
        "governor": amd.text(machine, GOVERNOR),
        "gpus": LEARN[backend](machine),
    }


def _learn_amd(machine: Machine) -> list[dict[str, Any]]:
    names = (
        "performance_level",
        "power_cap_w",
        "power_cap_default_w",
        "compute_partition",
        "memory_partition",
        "numa_node",
    )
    addresses = sorted({gpu["pci"] for gpu in amd.nodes(machine)})
    cards = [(pci, amd.card(machine, pci)) for pci in addresses]
    return [{"pci": pci, **{name: card[name] for name in names}} for pci, card in cards]


def _learn_nvidia(machine: Machine) -> list[dict[str, Any]]:
    names = ("power_cap_w", "power_cap_default_w", "clock_max_hz", "persistence")
    cards = backends.nvidia_facts(machine).get("cards", {})
    return [{"pci": pci, **{name: item["card"].get(name) for name in names}} for pci, item in sorted(cards.items())]


LEARN = {"rocm": _learn_amd, "cuda": _learn_nvidia, "cpu": lambda machine: []}  # noqa: ARG005 - one signature


def judge(facts: dict[str, Any], lock: dict[str, Any] | None) -> list[Outcome]:  # noqa: ARG001 - the interface
    """Warn, with the exact command and its undo, of what makes two runs differ."""
    found = [_judge_numa(facts), _judge_governor(facts["governor"])]
    for gpu in facts["gpus"]:
        found.append(_judge_cap(gpu, facts["backend"]))
        found += PER_GPU[facts["backend"]](gpu)
    return found


def _judge_numa(facts: dict[str, Any]) -> Outcome:
    value = facts["numa_balancing"]
    if value is None:
        return skip("host_state.numa_balancing", "this kernel has no automatic NUMA balancing")
    if value != "0" and facts["numa_nodes"] != 1:
        return warn(
            "host_state.numa_balancing",
            "automatic NUMA balancing moves memory while a program runs",
            seen=value,
            expected="0",
            remedy=f"sudo sysctl kernel.numa_balancing=0   # undo: sudo sysctl kernel.numa_balancing={value}",
        )
    return passed("host_state.numa_balancing", {"value": value, "nodes": facts["numa_nodes"]})


def _judge_governor(governor: str | None) -> Outcome:
    if governor is None:
        return skip("host_state.governor", "the processor's clock is not managed here (a virtual machine, perhaps)")
    if governor == "performance":
        return passed("host_state.governor", governor)
    return warn(
        "host_state.governor",
        f"the processor's clock follows the governor {governor}",
        seen=governor,
        expected="performance",
        remedy=f"sudo cpupower frequency-set -g performance   # undo: sudo cpupower frequency-set -g {governor}",
    )


def _judge_cap(gpu: dict[str, Any], backend: str) -> Outcome:
    cap, default = gpu["power_cap_w"], gpu["power_cap_default_w"]
    seen = {"pci": gpu["pci"], "power_cap_w": cap}
    if cap is None or default is None:
        return skip("host_state.power_cap", f"{gpu['pci']} does not tell its power cap and default", seen=seen)
    if abs(cap - default) <= TOLERANCE_W:
        return passed("host_state.power_cap", seen, {"power_cap_w": default})
    return warn(
        "host_state.power_cap",
        f"{gpu['pci']} is capped at {cap:g} W, its default is {default:g} W",
        seen=seen,
        expected={"power_cap_w": default},
        remedy=CAP[backend].format(
            pci=gpu["pci"], default=default, cap=cap, micro=round(default * 1e6), now=round(cap * 1e6)
        ),
    )


CAP = {
    "rocm": "echo {micro} | sudo tee /sys/bus/pci/devices/{pci}/hwmon/hwmon*/power1_cap   # undo: the same with {now}",
    "cuda": "sudo nvidia-smi -i {pci} -pl {default:g}   # undo: sudo nvidia-smi -i {pci} -pl {cap:g}",
}


def _judge_amd(gpu: dict[str, Any]) -> list[Outcome]:
    """Pinning the level is advice for a measurement, said with its undo; `auto` is how every card starts."""
    level, path = gpu["performance_level"], f"{amd.PCI}/{gpu['pci']}/power_dpm_force_performance_level"
    partitions = {"pci": gpu["pci"], "compute": gpu["compute_partition"], "memory": gpu["memory_partition"]}
    found = [
        passed("host_state.partition", partitions)
        if all(partitions.values())
        else skip("host_state.partition", f"{gpu['pci']} has no partitions, or does not tell them", seen=partitions)
    ]
    if level is None:
        return [*found, skip("host_state.performance_level", f"{gpu['pci']} does not tell its performance level")]
    if level in PINNED:
        return [*found, passed("host_state.performance_level", {"pci": gpu["pci"], "level": level})]
    return [
        *found,
        warn(
            "host_state.performance_level",
            f"the clocks of {gpu['pci']} {FLOATING.get(level, 'float')} (performance level {level})",
            seen=level,
            expected="high",
            remedy=f"echo high | sudo tee {path}   # undo: echo {level} | sudo tee {path}",
        ),
    ]


def _judge_nvidia(gpu: dict[str, Any]) -> list[Outcome]:
    if gpu["persistence"] == 0:
        return [
            warn(
                "host_state.persistence",
                f"the driver forgets {gpu['pci']} between processes: first calls are slow",
                seen=0,
                expected=1,
                remedy=f"sudo nvidia-smi -i {gpu['pci']} -pm 1   # undo: sudo nvidia-smi -i {gpu['pci']} -pm 0",
            )
        ]
    return []


PER_GPU = {"rocm": _judge_amd, "cuda": _judge_nvidia, "cpu": lambda gpu: []}  # noqa: ARG005 - one signature
