"""What computes: one small table, equal to the schema's enum. Nobody asks for a backend's name elsewhere.

ROCm and CUDA share torch's code (`torch.cuda`, device "cuda"); `torch.version.hip` tells them apart.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable

from validate import amd, context, probes
from validate.parsers import nvidia_smi

if TYPE_CHECKING:
    from validate.machine import Machine

PROBE_S = 120  # first contact with eight cards through a slow driver
CARD_FIELDS = ("vbios", "power_cap_w", "clock_max_hz", "memory_clock_max_hz")
AMD_FIELDS = (*CARD_FIELDS, "compute_partition", "memory_partition", "numa_node")


@dataclass(frozen=True)
class Backend:
    """A way to compute. `available` is for a process that has torch already; clocks are the benchmarks' own."""

    name: str
    torch_device: str
    devices: Callable[[Machine], list[dict[str, Any]]]
    driver: Callable[[Machine], str | None]
    available: Callable[[], bool]


def torch_facts(machine: Machine) -> dict[str, Any]:
    """Return what the `devices` probe learnt, asking it once: it takes seconds."""
    found: dict[str, Any] = machine.once("devices", lambda: probes.ask(machine, "devices", PROBE_S))
    return found


def torch_about(machine: Machine) -> dict[str, Any]:
    """Return what torch says of itself; `version` None and why as `error` where it cannot be imported."""
    found = torch_facts(machine)
    about = found.get("torch")
    if isinstance(about, dict):
        return about
    return {"version": None, "build": None, "error": found.get("error", "unknown")}  # the probe itself died


def nvidia_facts(machine: Machine) -> dict[str, Any]:
    """Return what NVML says, or in its place nvidia-smi: `driver`, `cards` by PCI address, `source`, maybe `error`."""
    return machine.once("nvidia", lambda: _nvidia(machine))  # type: ignore[no-any-return]


def _nvidia(machine: Machine) -> dict[str, Any]:
    found = probes.ask(machine, "nvidia", 30)
    if "error" not in found:
        return {**found, "source": "NVML"}
    rows = nvidia_smi.parse(machine.run(nvidia_smi.COMMAND, 30).stdout)
    cards = {
        pci: {
            "card": {
                "vbios": row.get("vbios_version"),
                "power_cap_w": row.get("power.limit"),
                "power_cap_default_w": row.get("power.default_limit"),
                "clock_max_hz": row.get("clocks.max.sm"),
                "memory_clock_max_hz": row.get("clocks.max.memory"),
            },
            "sensors": {},
            "processes": None,
        }
        for pci, row in rows.items()
    }
    driver = next((row.get("driver_version") for row in rows.values()), None)
    return {"driver": driver, "cards": cards, "source": "nvidia-smi", "error": found["error"]}


def _rocm_devices(machine: Machine) -> list[dict[str, Any]]:
    driver = amd.text(machine, "/sys/module/amdgpu/version")
    found = []
    for device in torch_facts(machine).get("devices", []):
        card = amd.card(machine, device["pci"]) if device.get("pci") else {}
        found.append({"backend": "rocm", **device, **{name: card.get(name) for name in AMD_FIELDS}, "driver": driver})
    return found


def _cuda_devices(machine: Machine) -> list[dict[str, Any]]:
    nvidia = nvidia_facts(machine)
    found = []
    for device in torch_facts(machine).get("devices", []):
        card = nvidia.get("cards", {}).get(device.get("pci"), {}).get("card", {})
        fields = {name: card.get(name) for name in CARD_FIELDS}
        numa = amd.numa_node(machine, str(device.get("pci")))
        found.append({"backend": "cuda", **device, **fields, "driver": nvidia.get("driver"), "numa_node": numa})
    return found


def _cpu_devices(machine: Machine) -> list[dict[str, Any]]:
    model = cpu_model(machine)
    return [
        {
            "backend": "cpu",
            "index": 0,
            "name": model or "unknown processor",
            "pci": None,
            "compute_units": usable_cores(machine),
            "memory_bytes": memory_bytes(machine),
        }
    ]


def cpu_model(machine: Machine) -> str | None:
    """Return the processor's model as the kernel names it; None where it does not (some Arm machines)."""
    found = re.search(r"^model name\s*:\s*(.+)$", machine.read("/proc/cpuinfo") or "", re.MULTILINE)
    return found[1].strip() if found else None


def usable_cores(machine: Machine) -> int:
    """Return how many processors' worth of time this process may use: its affinity, cut by a cgroup's quota."""
    cores = machine.processors()
    quota = (machine.read("/sys/fs/cgroup/cpu.max") or "").split()  # cgroup v2: "max 100000" or "150000 100000"
    if not quota:  # cgroup v1
        quota = [amd.text(machine, f"/sys/fs/cgroup/cpu/cpu.cfs_{name}_us") or "" for name in ("quota", "period")]
    if len(quota) == 2 and all(part.isdigit() for part in quota) and int(quota[1]):
        cores = min(cores, max(1, math.floor(int(quota[0]) / int(quota[1]))))
    return cores


def memory_bytes(machine: Machine) -> int | None:
    """Return the size of main memory."""
    found = re.search(r"^MemTotal:\s*(\d{1,15}) kB$", machine.read("/proc/meminfo") or "", re.MULTILINE)
    return int(found[1]) * 1024 if found else None


def _amd_driver(machine: Machine) -> str | None:
    """Name AMD's driver. One that comes with the kernel has no version file: that is a fact, not a fault."""
    if machine.stat("/sys/module/amdgpu") is None and not machine.glob("/sys/module/amdgpu/*"):
        return None
    version = amd.text(machine, "/sys/module/amdgpu/version")
    return f"amdgpu {version}" if version else f"amdgpu (in-tree, kernel {machine.kernel()['release']})"


def _nvidia_driver(machine: Machine) -> str | None:
    version = nvidia_facts(machine).get("driver")
    return f"nvidia {version}" if version else None


def _gpu_available() -> bool:
    import torch

    return bool(torch.cuda.is_available())


BACKENDS: dict[str, Backend] = {
    "rocm": Backend("rocm", "cuda", _rocm_devices, _amd_driver, _gpu_available),
    "cuda": Backend("cuda", "cuda", _cuda_devices, _nvidia_driver, _gpu_available),
    "cpu": Backend("cpu", "cpu", _cpu_devices, _amd_driver, lambda: True),
}


def of_torch(build: str | None, *, available: bool) -> str:
    """Return the backend of a torch build: a GPU build without a GPU computes on the CPU."""
    return build if build in BACKENDS and available else "cpu"


def detect(machine: Machine | None = None) -> str:
    """Return the backend: what the host handed over in the context, else what torch really has."""
    from validate.machine import Machine as Here

    machine = machine or Here()
    given = context.load(machine).get("backend")
    if given in BACKENDS:
        return str(given)
    found = torch_facts(machine)
    return of_torch(found.get("torch", {}).get("build"), available=bool(found.get("available")))


def missed(machine: Machine) -> bool:
    """Tell whether an AMD GPU should compute here and does not: torch is built for it, and the kernel lists one.

    Nobody has then said what computes, so it is the CPU; whoever started a container has.
    """
    found = torch_facts(machine)
    idle = found.get("torch", {}).get("build") == "rocm" and not found.get("available")
    return idle and context.load(machine).get("backend") not in BACKENDS and bool(amd.nodes(machine))
