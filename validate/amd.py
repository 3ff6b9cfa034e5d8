"""AMD GPUs as the kernel shows them: KFD topology and each card's PCI folder, joined by PCI address.

sysfs is the authority here: the tools number cards in orders of their own, and read these same files.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from validate.parsers import kfd

if TYPE_CHECKING:
    from validate.machine import Machine

NODES = "/sys/class/kfd/kfd/topology/nodes"
PCI = "/sys/bus/pci/devices"
VENDOR = "0x1002"
MICRO, MILLI, MEGA = 1e-6, 1e-3, 1e6
STEP = re.compile(r"^\s*(?:\d{1,3}|S):\s*(\d{1,6})\s*Mhz\s*(\*?)", re.IGNORECASE)


def nodes(machine: Machine) -> list[dict[str, Any]]:
    """Return the GPUs of the KFD topology in its order; empty without a KFD."""
    paths = machine.glob(f"{NODES}/*/properties")
    numbered = sorted((int(path.split("/")[-2]), path) for path in paths if path.split("/")[-2].isdigit())
    parsed = [(number, kfd.parse(machine.read(path) or "")) for number, path in numbered]
    return [kfd.describe(number, properties) for number, properties in parsed if kfd.gpu(properties)]


def cards(machine: Machine) -> list[str]:
    """Return the PCI addresses of AMD's display and accelerator functions, whether or not a driver holds them."""
    found = []
    for path in machine.glob(f"{PCI}/*/class"):
        folder = path.rsplit("/", 1)[0]
        display = (machine.read(path) or "").strip().startswith(("0x03", "0x12"))  # display; processing accelerator
        if display and text(machine, f"{folder}/vendor") == VENDOR:
            found.append(folder.rsplit("/", 1)[1])
    return found


def card(machine: Machine, pci: str) -> dict[str, Any]:
    """Return what one card's folder says, in base units; what is not there is None (not every card has everything)."""
    folder = f"{PCI}/{pci}"
    return {
        "memory_bytes": number(machine, f"{folder}/mem_info_vram_total"),
        "memory_used_bytes": number(machine, f"{folder}/mem_info_vram_used"),
        "vbios": text(machine, f"{folder}/vbios_version"),
        "numa_node": numa_node(machine, pci),
        "performance_level": text(machine, f"{folder}/power_dpm_force_performance_level"),
        "compute_partition": text(machine, f"{folder}/current_compute_partition"),
        "memory_partition": text(machine, f"{folder}/current_memory_partition"),
        "power_cap_w": sensor(machine, folder, "power1_cap", MICRO),
        "power_cap_default_w": sensor(machine, folder, "power1_cap_default", MICRO),
        "clock_max_hz": max(steps(machine.read(f"{folder}/pp_dpm_sclk") or "")[0], default=None),
        "memory_clock_max_hz": max(steps(machine.read(f"{folder}/pp_dpm_mclk") or "")[0], default=None),
    }


def numa_node(machine: Machine, pci: str) -> int | None:
    """Return the NUMA node that a card hangs on; the kernel's -1 means that it does not know."""
    found = number(machine, f"{PCI}/{pci}/numa_node")
    return None if found is None or found < 0 else found


def sensors(machine: Machine, pci: str) -> dict[str, Any]:
    """Return one reading by `source name: value`; only what can be read. Watts, hertz, degrees Celsius, bytes."""
    folder = f"{PCI}/{pci}"
    power = sensor(machine, folder, "power1_average", MICRO)
    if power is None:  # MI300 and newer report the present power only
        power = sensor(machine, folder, "power1_input", MICRO)
    heat = sensor(machine, folder, "temp2_input", MILLI)  # junction; MI300 has no edge sensor
    if heat is None:
        heat = sensor(machine, folder, "temp1_input", MILLI)
    clock = sensor(machine, folder, "freq1_input", 1.0)
    values = {
        "power_w": power,
        "temperature_c": heat,
        "clock_hz": steps(machine.read(f"{folder}/pp_dpm_sclk") or "")[1] if clock is None else clock,
        "memory_used_bytes": number(machine, f"{folder}/mem_info_vram_used"),
        "energy_j": sensor(machine, folder, "energy1_input", MICRO),
    }
    return {name: value for name, value in values.items() if value is not None}


def steps(table: str) -> tuple[list[float], float | None]:
    """Return a clock table's steps in hertz, and the present one (`*`); `S:` is a sleeping clock."""
    found = [match for match in map(STEP.match, table.splitlines()) if match]
    present = [float(match[1]) * MEGA for match in found if match[2]]
    return [float(match[1]) * MEGA for match in found], present[0] if present else None


def text(machine: Machine, path: str) -> str | None:
    """Return a one-line file; None when absent or empty."""
    return (machine.read(path) or "").strip() or None


def number(machine: Machine, path: str) -> int | None:
    """Return a file's whole number; None when absent or no number."""
    found = text(machine, path) or ""
    return int(found) if re.match(r"^-?\d{1,19}$", found) else None


def sensor(machine: Machine, folder: str, name: str, scale: float) -> float | None:
    """Return a hwmon value in base units; None where the card has no such sensor or it gives nothing."""
    for path in machine.glob(f"{folder}/hwmon/hwmon*/{name}"):
        found = number(machine, path)
        if found is not None:
            return found * scale
    return None
