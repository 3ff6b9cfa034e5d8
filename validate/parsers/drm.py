"""Read dumps of a card's folder in sysfs (`/sys/class/drm/cardN/device`), and debugfs' `amdgpu_pm_info`."""

from __future__ import annotations

import re
from typing import Any

from validate.parsers import dump, kfd
from validate.parsers.reading import Reading
from validate.parsers.values import device_id, known, lines, number, pci, plain, quantity, whole, words

CARD = re.compile(r"(?:\S{0,200}/)?card(\d{1,4})/device/(\S{1,300})")
AT_ROOT = re.compile(r"[a-z]\w{0,60}")  # a dump that began inside the card's folder has some files without the path
SENSOR = re.compile(r"(?:hwmon/)?hwmon\d{1,4}/(\w{1,60})")
STEP = re.compile(r"\s{0,8}(\d{1,3}|S):\s{0,8}(\d{1,6})\s{0,4}mhz\s{0,8}(\*?)", re.IGNORECASE)
PM_INFO = re.compile(r"\s{0,8}([\d.]{1,12}) (MHz|mV|W) \(([\w ]{1,40})\)")
PM_NAMES = {"MCLK": "memory_clock_hz", "SCLK": "clock_hz", "average GPU": "power_w", "VDDGFX": "voltage_v"}
MICRO, MILLI = 1e6, 1e3
AMD = "0x1002"


def read(text: str) -> Reading:
    """Return the cards: memory in bytes, W, Hz, V, degrees Celsius, links in transfers/s. `gpu_metrics` is not read.

    That file is binary, and the unit of its power changes with its version: hwmon's is watts in all.
    """
    reading, files = Reading(), dump.files(text)
    devices = [_device(index, card) for index, card in sorted(_cards(files).items())]
    reading.devices = [device for device in devices if device.get("vendor_id", AMD) == AMD]
    if len(devices) > len(reading.devices):
        reading.facts["cards_of_other_vendors"] = len(devices) - len(reading.devices)
    info = next((content for path, content in files.items() if path.endswith("amdgpu_pm_info")), None)
    if not files and "GFX Clocks and Power" in text[:2000]:
        info = text
    if info is not None:
        _pm_info(reading, info)
    reading.form = "sysfs" if devices else "pm_info" if info is not None else ""
    if any("kfd/" in path for path in files):
        _joined(reading, kfd.read(text))
    return reading


def _cards(files: dict[str, str]) -> dict[int, dict[str, str]]:
    """Return the files of each card by the path within its folder."""
    cards: dict[int, dict[str, str]] = {}
    for path, content in files.items():
        match = CARD.fullmatch(path)
        if match:
            cards.setdefault(int(match[1]), {})[match[2]] = content.strip()
    if len(cards) == 1:
        card = next(iter(cards.values()))
        for path, content in files.items():
            if AT_ROOT.fullmatch(path) and path != "uevent":
                card.setdefault(path, content.strip())
    return cards


def _joined(reading: Reading, topology: Reading) -> None:
    """Add what KFD tells of the same devices, told by their addresses."""
    reading.links, nodes = topology.links, {node.get("pci"): node for node in topology.devices}
    for device in reading.devices:
        node = nodes.get(device.get("pci"), {})
        device.update({name: node[name] for name in ("gfx", "compute_units") if name in node})


def steps(table: str) -> tuple[list[float], float | None]:
    """Return a clock table's steps in hertz, and the present one (`*`); `S:` is a sleeping clock."""
    found = [match for match in map(STEP.match, lines(table)) if match]
    present = [float(match[2]) * 1e6 for match in found if match[3]]
    return [float(match[2]) * 1e6 for match in found], present[0] if present else None


def _device(index: int, card: dict[str, str]) -> dict[str, Any]:
    sensors = {match[1]: value for path, value in card.items() for match in [SENSOR.fullmatch(path)] if match}
    labels = {value: name.partition("_")[0] for name, value in sensors.items() if name.endswith("_label")}
    event = dict(line.partition("=")[::2] for line in lines(card.get("uevent", "")))
    number_of = event.get("PCI_ID", "").partition(":")
    core, memory = (steps(card.get(f"pp_dpm_{name}", "")) for name in ("sclk", "mclk"))
    numa = whole(card.get("numa_node"))
    clock, memory_clock = (_sensor(sensors, f"{labels.get(name)}_input", 1.0) for name in ("sclk", "mclk"))
    return known({
        "index": index,
        "pci": pci(event.get("PCI_SLOT_NAME")),
        "device_id": device_id(card.get("device") or number_of[2].lower()),
        "vendor_id": device_id(card.get("vendor") or number_of[0].lower()),
        "name": words(card.get("product_name")),
        "vbios": words(card.get("vbios_version")),
        "unique_id": words(card.get("unique_id", "").strip("0")) and card["unique_id"],  # zeros: it has none
        "numa_node": numa if numa is not None and numa >= 0 else None,
        "memory_bytes": number(card.get("mem_info_vram_total")),
        "memory_used_bytes": number(card.get("mem_info_vram_used")),
        "busy_fraction": quantity(card.get("gpu_busy_percent"), "%"),
        "power_w": _first(_sensor(sensors, "power1_average", MICRO), _sensor(sensors, "power1_input", MICRO)),
        "power_cap_w": _sensor(sensors, "power1_cap", MICRO),
        "power_cap_default_w": _sensor(sensors, "power1_cap_default", MICRO),
        "energy_j": _sensor(sensors, "energy1_input", MICRO),
        "temperature_c": _first(*(_sensor(sensors, f"{labels.get(name, name)}_input", MILLI)
                                  for name in ("junction", "edge", "temp2", "temp1"))),
        "voltage_v": _sensor(sensors, "in0_input", MILLI) or None,  # integrated GPUs say 0
        "clock_hz": core[1] if clock is None else clock,
        "clock_max_hz": max(core[0], default=None),
        "memory_clock_hz": memory[1] if memory_clock is None else memory_clock,
        "memory_clock_max_hz": max(memory[0], default=None),
        "link_transfers_per_s": _speed(card.get("current_link_speed")),
        "link_width": whole(card.get("current_link_width")),
        "performance_level": words(card.get("power_dpm_force_performance_level")),
        "compute_partition": words(card.get("current_compute_partition")),
        "memory_partition": words(card.get("current_memory_partition")),
        "raw": {path: value[:2000] for path, value in card.items()},
    })  # fmt: skip


def _sensor(sensors: dict[str, str], name: str, divisor: float) -> float | None:
    value = number(sensors.get(name))
    return None if value is None else value / divisor


def _first(*values: float | None) -> float | None:
    return next((value for value in values if value is not None), None)


def _speed(text: str | None) -> float | None:
    """Read `16.0 GT/s PCIe`."""
    return quantity(" ".join((text or "").split()[:2]))


def _pm_info(reading: Reading, text: str) -> None:
    """Read the text that root finds in debugfs; it is about one card, which sysfs may have told of."""
    found: dict[str, Any] = {}
    for line in lines(plain(text)):
        match = PM_INFO.match(line)
        if match and match[3] in PM_NAMES:
            found.update(known({PM_NAMES[match[3]]: quantity(f"{match[1]} {match[2]}")}))
        elif line.startswith("GPU Temperature:"):
            heat = quantity(line.partition(":")[2])
            found.update(known({"temperature_c": heat}))
    if len(reading.devices) == 1:
        for name, value in found.items():
            reading.devices[0].setdefault(name, value)
    elif not reading.devices:
        reading.devices.append({**found, "raw": {"amdgpu_pm_info": text[:20_000]}})
