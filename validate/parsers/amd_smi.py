"""Read amd-smi: `--json` is a list until 6.4, `{"gpu_data": [...]}` from 7.0, and other keys may come; and its texts.

`metric` tells no bus address, only the tool's own number of a card; `list` (`bdf`) and `static` (`bus.bdf`) tell both.
"""

from __future__ import annotations

from typing import Any

from validate.parsers import amd_smi_text
from validate.parsers.amd_json import documents, found
from validate.parsers.reading import Reading
from validate.parsers.values import device_id, gfx, known, pci, plain, quantity, whole, words

Cards = dict[Any, dict[str, Any]]  # by the tool's number
DEEPEST = 12
MOST_NOISE = 200_000  # characters in which messages are looked for
OLD = ("index", "pci", "power_w", "temperature_c", "clock_hz", "memory_used_bytes", "energy_j")
#: What holds each value: paths of all releases, the first that holds a number counts, and the unit that is meant.
QUANTITIES: dict[str, tuple[str, str]] = {
    "power_w": ("power.socket_power power.current_socket_power power.average_socket_power", "W"),
    "power_cap_w": ("limit.socket_power limit.ppt0.socket_power_limit limit.power_cap power_cap.power_cap", "W"),
    "power_cap_max_w": ("limit.max_power limit.ppt0.max_power_limit power_limit.max_power", "W"),
    "temperature_c": (
        "temperature.hotspot temperature.hotspot_temperature temperature.edge temperature.edge_temperature", "C",
    ),
    "temperature_edge_c": ("temperature.edge temperature.edge_temperature", "C"),
    "temperature_memory_c": ("temperature.mem temperature.mem_temperature", "C"),
    "clock_hz": ("clock.gfx_0.clk clock.gfx.clk clock.gfx_0.cur_clk", "MHz"),
    "memory_clock_hz": ("clock.mem_0.clk clock.mem.clk", "MHz"),
    "memory_bytes": ("vram.size vram.vram_size mem_usage.total_vram fb_memory_usage.total_memory", "MB"),
    "memory_used_bytes": ("mem_usage.used_vram fb_memory_usage.used_memory vram.vram_used", "MB"),
    "memory_bandwidth_bytes_per_s": ("vram.max_bandwidth", "GB/s"),
    "energy_j": ("energy.total_energy_consumption", "J"),
    "busy_fraction": ("usage.gfx_activity usage.gfx_usage", "%"),
    "memory_busy_fraction": ("usage.umc_activity usage.mem_usage", "%"),
}  # fmt: skip
TEXTS: dict[str, str] = {
    "name": "asic.market_name market_name board.product_name",
    "vbios": "vbios.part_number ifwi.part_number vbios.vbios_part_number",
    "uuid": "uuid gpu_uuid",
    "compute_partition": "partition.accelerator_partition partition.compute_partition",
    "memory_partition": "partition.memory_partition",
    "driver": "driver.version driver.driver_version driver_version",
    "throttle": "power.throttle_status throttle.status",
}
VERSIONS = {
    "version": "amd_smi", "amdsmi_tool": "amd_smi", "amdsmi_library_version": "amd_smi_library",
    "rocm_version": "rocm", "amdgpu_version": "driver", "amd_hsmp_driver_version": "hsmp", "amd_hsmp_version": "hsmp",
}  # fmt: skip


def parse(text: str) -> list[dict[str, Any]]:
    """Return one entry a GPU of `--json` in base units; what is "N/A" or absent is left out. A block may be "N/A"."""
    entries = [entry for document in documents(text) for entry in _entries(document)]
    return [{name: values[name] for name in OLD if name in values} for values in map(device, entries)]


def read(text: str) -> Reading:
    """Return the GPUs in base units (memory is printed as MB and counted in MiB), links, processes, versions.

    `index` is the tool's number, no HIP index. Links: `from` and `to` are PCI addresses, or numbers for want of them.
    """
    reading, text = Reading(), plain(text)
    cards: Cards = {}
    items, warnings = found(text)
    items = [item for item in items if _about(item)]
    for line in text[:MOST_NOISE].split("\n"):
        if amd_smi_text.NOISE.match(line):
            reading.form = "messages"
            reading.warn(line.strip())
    if items:
        reading.form = "json"
        reading.warnings += warnings
        for item in items:
            _document(reading, cards, _lower(item))
    else:
        for entry in amd_smi_text.read(reading, text):
            _gpu(reading, cards, entry)
    drivers = {card["driver"] for card in reading.devices if "driver" in card}
    if len(drivers) == 1:
        reading.versions.setdefault("driver", drivers.pop())
    return reading


def _about(item: Any) -> bool:
    """Tell whether a piece of JSON has names in it: amd-smi's texts have lists in brackets, too."""
    return isinstance(item, dict) or any(isinstance(entry, (dict, list)) for entry in item)


def _entries(document: Any) -> list[dict[str, Any]]:
    """Return the entries of GPUs, wherever this release has its list."""
    document = _lower(document)
    lists = [document]
    if isinstance(document, dict):
        lists = [document[key] for key in ("gpu_data", "gpu") if isinstance(document.get(key), list)]
        lists = lists or [value for value in document.values() if _is_list(value)] or [[document]]
    return [entry for part in lists[:1] for entry in part if isinstance(entry, dict) and "gpu" in entry]


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(entry, dict) and "gpu" in entry for entry in value)


def _document(reading: Reading, cards: Cards, document: Any) -> None:
    entries = _entries(document)
    for entry in entries:
        _gpu(reading, cards, entry)
    for part in document if isinstance(document, list) else [document]:
        if isinstance(part, dict) and "gpu" not in part:
            _other(reading, part, has_gpus=bool(entries))


def _other(reading: Reading, part: dict[str, Any], *, has_gpus: bool) -> None:
    """Read what is about no GPU: versions, data of processors; or the inside of an entry that is cut off."""
    versions = {VERSIONS[key]: str(words(value)) for key, value in part.items() if key in VERSIONS and words(value)}
    reading.versions.update(versions)
    for key in ("cpu_data", "core_data", "cpu"):
        if key in part:
            reading.facts[key] = part[key]
    if not versions and not has_gpus and any(isinstance(value, dict) for value in part.values()):
        inside = {"clock": part} if any(isinstance(value, dict) and "clk" in value for value in part.values()) else part
        reading.devices.append({**device(inside), "raw": inside})
        reading.warn("an entry tells no GPU's number: its beginning is cut off")


def _gpu(reading: Reading, cards: Cards, entry: dict[str, Any]) -> None:
    """Add an entry; what more is told of the same GPU, in another document or by another command, joins it."""
    values = device(entry)
    card = cards.get(values.get("index"))
    if card is not None:
        card.update(values)
        card["raw"].update(entry)
    else:
        card = {**values, "raw": dict(entry)}
        reading.devices.append(card)
        if "index" in values:
            cards[values["index"]] = card
    reading.processes += _processes(values.get("index"), entry)
    reading.links += _links(values, entry.get("links"))
    if isinstance(entry.get("driver"), str) and words(entry["driver"]):
        reading.warn(f"the driver is told in a form that is not known: {entry['driver'][:100]}")


def device(entry: dict[str, Any]) -> dict[str, Any]:
    """Return a GPU's values in base units, of an entry whose keys are in lower case."""
    values: dict[str, Any] = {name: _quantity(entry, paths, unit) for name, (paths, unit) in QUANTITIES.items()}
    values.update({name: _text(entry, paths) for name, paths in TEXTS.items()})
    numa = whole(_at(entry, "numa.node"))
    return known({
        "index": whole(entry.get("gpu")),
        "pci": pci(entry.get("bdf")) or pci(_at(entry, "bus.bdf")),
        "gfx": gfx(_at(entry, "asic.target_graphics_version")),
        "device_id": device_id(_at(entry, "asic.device_id")),
        "compute_units": whole(_at(entry, "asic.num_compute_units")),
        "node": whole(entry.get("node_id")),
        "hip_index": whole(entry.get("hip_id")),
        "partition": whole(entry.get("partition_id", _at(entry, "partition.partition_id"))),
        "numa_node": numa if numa is not None and numa >= 0 else None,
        **values,
    })  # fmt: skip


def _quantity(entry: dict[str, Any], paths: str, unit: str) -> float | None:
    for path in paths.split():
        value = quantity(_at(entry, path), unit)
        if value is not None:
            return value
    return None


def _text(entry: dict[str, Any], paths: str) -> str | None:
    return next(filter(None, (words(_at(entry, path)) for path in paths.split())), None)


def _at(entry: dict[str, Any], path: str) -> Any:
    """Return what is at a path; a whole block may be the text "N/A"."""
    value: Any = entry
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _processes(index: Any, entry: dict[str, Any]) -> list[dict[str, Any]]:
    """Read a GPU's processes: a list since 6.2, one block in texts, and words where there is none."""
    told = entry.get("process_list", entry.get("process_info"))
    rows = []
    for item in told if isinstance(told, list) else [told]:
        info = item.get("process_info", item) if isinstance(item, dict) else None
        if isinstance(info, dict) and whole(info.get("pid")) is not None:
            memory = _quantity(info, "memory_usage.vram_mem vram_mem mem_usage mem", "B")
            rows.append(known({
                "gpu": index, "pid": whole(info["pid"]), "name": words(info.get("name")), "memory_used_bytes": memory,
            }))  # fmt: skip
    return rows


def _links(values: dict[str, Any], told: Any) -> list[dict[str, Any]]:
    here = values.get("pci", values.get("index"))
    rows = []
    for link in told if isinstance(told, list) else ():
        there = (pci(link.get("bdf")) or whole(link.get("gpu"))) if isinstance(link, dict) else None
        if there is not None and there != here:
            rows.append(known({
                "from": here, "to": there, "weight": whole(link.get("weight")), "hops": whole(link.get("num_hops")),
                "type": words(link.get("link_type")), "status": words(link.get("link_status")),
            }))  # fmt: skip
    return rows


def _lower(value: Any, depth: int = 0) -> Any:
    """Return a document with all keys in lower case, as far down as the tool's go."""
    if depth > DEEPEST:
        return None
    if isinstance(value, dict):
        return {_name(key): _lower(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_lower(item, depth + 1) for item in value]
    return value


def _name(key: str) -> str:
    return key[:200].strip().lower().replace(" ", "_")
