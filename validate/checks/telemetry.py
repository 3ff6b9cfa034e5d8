"""Which of power, energy, clock, temperature, memory and throttling can be read here, and from what?"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Callable

from validate import amd, backends
from validate.outcome import passed, skip, warn
from validate.parsers import amd_smi, rocm_smi

if TYPE_CHECKING:
    from schema.records import Outcome
    from validate.machine import Machine

SHAPE = {"devices": dict, "reasons": dict}
QUANTITIES = ("power_w", "energy_j", "clock_hz", "temperature_c", "memory_used_bytes", "throttle")
#: A published figure needs these beside it; the others are welcome.
NEEDED = ("power_w", "clock_hz", "temperature_c")
RAPL = "/sys/class/powercap"


def gather(machine: Machine, lock: dict[str, Any] | None) -> dict[str, Any]:  # noqa: ARG001 - the interface
    """Try each source once; keep the readings by device and source, and why a source gives nothing."""
    backend = backends.detect(machine)
    return {"backend": backend, **LEARN[backend](machine)}


def _learn_amd(machine: Machine) -> dict[str, Any]:
    addresses = [gpu["pci"] for gpu in amd.nodes(machine)]
    devices: dict[str, Any] = {pci: {"sysfs": amd.sensors(machine, pci)} for pci in addresses}
    reasons = {}
    for source, (argv, parse) in TOOLS.items():
        ran = machine.run(argv, 20)
        cards = parse(ran.stdout)
        if source == "amd-smi" and cards:
            cards = _with_addresses(machine, cards)
        here = [card for card in cards if card.get("pci") in devices]
        for card in here:  # joined by address: each tool has an order of its own
            devices[card["pci"]][source] = {name: card[name] for name in QUANTITIES if name in card}
        if not here:
            reasons[source] = (
                f"{source} gives no bus address that the kernel lists, so its readings belong to no card"
                if cards
                else ran.why or f"{source} printed no JSON about a card"
            )
    return {"devices": devices, "reasons": reasons}


def _with_addresses(machine: Machine, cards: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add to amd-smi's readings the bus addresses, which its `list` tells and its `metric` does not."""
    listed = amd_smi.parse(machine.run(["amd-smi", "list", "--json"], 20).stdout)
    addresses = {card["index"]: card["pci"] for card in listed if "index" in card and "pci" in card}
    return [{"pci": addresses.get(card.get("index")), **card} for card in cards]


def _learn_nvidia(machine: Machine) -> dict[str, Any]:
    nvidia = backends.nvidia_facts(machine)
    used = {device.get("pci") for device in backends.torch_facts(machine).get("devices", [])}
    cards = {pci: card for pci, card in nvidia.get("cards", {}).items() if not used or pci in used}
    reasons = {"NVML": nvidia["error"]} if "error" in nvidia else {}
    return {"devices": {pci: {nvidia["source"]: card["sensors"]} for pci, card in cards.items()}, "reasons": reasons}


def _learn_cpu(machine: Machine) -> dict[str, Any]:
    """The processor's energy counter (RAPL) is readable by root only since 2020: it leaks secrets."""
    counters = machine.glob(f"{RAPL}/intel-rapl:*/energy_uj")
    readings = {
        path.split("/")[-2]: {"energy_j": value * 1e-6}
        for path in counters
        for value in [amd.number(machine, path)]
        if value is not None and machine.open_errno(path, os.O_RDONLY) == 0
    }
    reason = "the kernel shows no RAPL energy counter" if not counters else "the RAPL counter is readable by root only"
    return {"devices": {"cpu": readings} if readings else {}, "reasons": {} if readings else {"RAPL": reason}}


TOOLS: dict[str, tuple[list[str], Callable[[str], list[dict[str, Any]]]]] = {
    "amd-smi": (["amd-smi", "metric", "--json"], amd_smi.parse),
    "rocm-smi": (["rocm-smi", "--showbus", "-P", "-t", "-c", "--showmeminfo", "vram", "--json"], rocm_smi.parse),
}
LEARN = {"rocm": _learn_amd, "cuda": _learn_nvidia, "cpu": _learn_cpu}


def judge(facts: dict[str, Any], lock: dict[str, Any] | None) -> list[Outcome]:  # noqa: ARG001 - the interface
    """Say per device what a benchmark may report; what cannot be read is named, never given as zero."""
    if not facts["devices"]:
        reasons = "; ".join(f"{source}: {reason}" for source, reason in sorted(facts["reasons"].items()))
        return [skip("telemetry.none", reasons or "there is no device to read")]
    found = []
    for device, by_source in sorted(facts["devices"].items()):
        sources = {
            name: readers
            for name in QUANTITIES
            for readers in [sorted(source for source, values in by_source.items() if _was_read(name, values))]
            if readers
        }
        absent = [name for name in NEEDED_BY[facts["backend"]] if name not in sources]
        if absent:
            found.append(
                warn(
                    "telemetry.partial",
                    f"{device}: {', '.join(absent)} cannot be read here; figures will stand without it",
                    seen=sources,
                    remedy=REMEDY[facts["backend"]],
                )
            )
        else:
            found.append(passed("telemetry.readable", {"device": device, **sources}))
    return found


def _was_read(name: str, values: dict[str, Any]) -> bool:
    return isinstance(values.get(name), list if name == "throttle" else (int, float))


NEEDED_BY = {"rocm": NEEDED, "cuda": NEEDED, "cpu": ()}
REMEDY = {
    "rocm": "on the host: `cat /sys/class/drm/card*/device/hwmon/hwmon*/power1_*` shows whether the driver gives power",
    "cuda": "on the host: `nvidia-smi -q -d POWER,CLOCK,TEMPERATURE` shows whether the driver gives them",
    "cpu": None,
}
