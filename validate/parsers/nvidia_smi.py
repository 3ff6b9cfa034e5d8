"""Read nvidia-smi: `--query-gpu=... --format=csv`, the fallback where NVML fails, `-q -x`, its table, `topo -m`."""

from __future__ import annotations

import re
from typing import Any

from validate.parsers import xml_tags
from validate.parsers.reading import Reading
from validate.parsers.tables import columns, csv_rows, records
from validate.parsers.values import known, lines, pci, plain, quantity, whole, words

QUERY = "pci.bus_id,name,driver_version,vbios_version,power.limit,power.default_limit,clocks.max.sm,clocks.max.memory"
COMMAND = ["nvidia-smi", f"--query-gpu={QUERY}", "--format=csv"]
SCALES = {"W": 1.0, "MHz": 1e6, "MiB": float(1 << 20)}
UNITS = re.compile(r"\s{0,4}\[[^\]]{0,20}\]$")
#: The value, its column, and its place in the XML.
PLACES = (
    ("name", "name", "product_name"),
    ("vbios", "vbios_version", "vbios_version"),
    ("unique_id", "uuid", "uuid"),
    ("power_w", "power.draw", "gpu_power_readings/instant_power_draw"),
    ("power_w", "power.draw.instant", "gpu_power_readings/power_draw"),
    ("power_w", "power.draw.average", "power_readings/power_draw"),
    ("power_cap_w", "power.limit", "gpu_power_readings/current_power_limit"),
    ("power_cap_w", "enforced.power.limit", "power_readings/power_limit"),
    ("power_cap_default_w", "power.default_limit", "gpu_power_readings/default_power_limit"),
    ("clock_hz", "clocks.current.sm", "clocks/sm_clock"),
    ("clock_hz", "clocks.sm", "clocks/graphics_clock"),
    ("memory_clock_hz", "clocks.current.memory", "clocks/mem_clock"),
    ("clock_max_hz", "clocks.max.sm", "max_clocks/sm_clock"),
    ("memory_clock_max_hz", "clocks.max.memory", "max_clocks/mem_clock"),
    ("temperature_c", "temperature.gpu", "temperature/gpu_temp"),
    ("memory_bytes", "memory.total", "fb_memory_usage/total"),
    ("memory_used_bytes", "memory.used", "fb_memory_usage/used"),
    ("busy_fraction", "utilization.gpu", "utilization/gpu_util"),
    ("energy_j", "total_energy_consumption", ""),
)
MEANT = {"temperature_c": "C", "power_w": "W", "power_cap_w": "W", "memory_bytes": "MiB", "memory_used_bytes": "MiB",
         "busy_fraction": "%", "clock_hz": "MHz", "memory_clock_hz": "MHz", "energy_j": "mJ"}  # fmt: skip
HEAD = re.compile(r"(NVIDIA-SMI|Driver Version:|CUDA Version:)\s{0,40}(\S{1,40})")


def parse(text: str) -> dict[str, dict[str, Any]]:
    """Return, by PCI address, the columns that hold something: texts as they are, quantities in base units."""
    rows, _ = csv_rows(text)
    if "pci.bus_id" not in rows[0]:
        return {}
    cards = {}
    for row in rows[1:]:
        entry = {_key(name): _value(cell) for name, cell in zip(rows[0], row)}
        address = str(entry.pop("pci.bus_id", "")).lower()
        if re.match(r"^[0-9a-f]{8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]$", address):
            cards[address[4:]] = {name: value for name, value in entry.items() if value is not None}
    return cards


def _key(name: str) -> str:
    return UNITS.sub("", name)


def _value(cell: str) -> Any:
    if not cell or cell.strip("[]").lower() in {"n/a", "not supported", "unknown error", "insufficient permissions"}:
        return None
    found = re.match(r"^(\d{1,12}(?:\.\d{1,6})?) (W|MHz|MiB)$", cell)
    return float(found[1]) * SCALES[found[2]] if found else cell


def read(text: str) -> Reading:
    """Return the GPUs in base units (W, C, Hz, bytes), the versions of driver and CUDA, and links by GPU number."""
    reading, text = Reading(), plain(text)
    if "<nvidia_smi_log" in text:
        _xml(reading, text)
    elif "+---" in text and HEAD.search(text):
        _table(reading, lines(text))
    elif re.search(r"^GPU0[\t ]", text, re.MULTILINE):
        _topology(reading, lines(text))
    elif re.match(r"\s{0,8}[a-z_]{1,40}(\.[a-z_.]{1,80})?( \[[^\]]{1,20}\])?\s{0,4}(,|\n)", text):
        _csv(reading, text)
    elif "NVIDIA-SMI has failed" in text or "No devices were found" in text:
        reading.form = "messages"
        reading.warn(text.strip().split("\n")[0])
    return reading


def _device(cells: list[tuple[str, str | None]]) -> dict[str, Any]:
    """Return what is known; the first place of each value that holds something counts."""
    found: dict[str, Any] = {}
    for name, cell in cells:
        value = words(cell) if name in {"name", "vbios", "unique_id"} else quantity(cell, MEANT.get(name, ""))
        if value is not None:
            found.setdefault(name, value)
    return found


def _csv(reading: Reading, text: str) -> None:
    rows, reading.warnings = csv_rows(text)
    header = [_key(name) for name in rows[0]]
    for row in records(header, rows[1:]):
        cells = [(name, row.get(column)) for name, column, _ in PLACES]
        index, address = whole(row.get("index")), pci(row.get("pci.bus_id", row.get("gpu_bus_id")))
        if any(words(value) for value in row.values()) and (address or index is not None or words(row.get("name"))):
            reading.devices.append({**known({"index": index, "pci": address}), **_device(cells), "raw": row})
        driver = words(row.get("driver_version"))
        if driver:
            reading.versions["driver"] = driver
    reading.form = "csv" if reading.devices or "driver_version" in header or "pci.bus_id" in header else ""


def _xml(reading: Reading, text: str) -> None:
    reading.form = "xml"
    root = xml_tags.read(text)
    for name, key in (("driver_version", "driver"), ("cuda_version", "cuda")):
        found = words(next((tag.text for tag in root.all(name)), None))
        if found:
            reading.versions[key] = found
    for number, gpu in enumerate(tag for tag in root.all("gpu") if "id" in tag.attributes):
        cells = [(name, gpu.find(path)) for name, _, path in PLACES if path]
        address = pci(gpu.find("pci/pci_bus_id")) or pci(gpu.attributes["id"])
        raw = {child.name: child.text for child in gpu.children if child.text}
        reading.devices.append({"index": number, **known({"pci": address}), **_device(cells), "raw": raw})
        for tag in gpu.all("process_info"):
            memory = quantity(tag.find("used_memory"), "MiB")
            process = {"gpu": number, "pid": whole(tag.find("pid")), "name": words(tag.find("process_name"))}
            reading.processes.append(known({**process, "memory_used_bytes": memory}))
    attached = whole(next((tag.text for tag in root.all("attached_gpus")), None))
    if attached is not None and attached != len(reading.devices):
        reading.warn(f"{attached} GPUs are attached and {len(reading.devices)} are told of: the text is cut off")


def _table(reading: Reading, rows: list[str]) -> None:
    """Read the table: two lines a GPU, in columns kept apart by bars, with the address in the first."""
    reading.form = "table"
    for row in rows:
        for key, value in HEAD.findall(row):
            name = {"NVIDIA-SMI": "nvidia_smi", "Driver Version:": "driver", "CUDA Version:": "cuda"}[key]
            reading.versions[name] = value
        cells = [cell.strip() for cell in row.strip().strip("|").split("|")] if row.lstrip().startswith("|") else []
        if len(cells) != 3:
            continue
        left, middle = columns(cells[0]), cells[1].split()
        if len(left) >= 2 and whole(left[0]) is not None and middle and pci(middle[0]):
            card = {"index": whole(left[0]), "name": left[1], "pci": pci(middle[0]), "raw": {"row": row}}
            reading.devices.append(card)
        elif reading.devices and "/" in cells[0] and "/" in cells[1]:
            reading.devices[-1].update(_second(cells))


def _second(cells: list[str]) -> dict[str, Any]:
    """Read `N/A   38C    P0            195W /  700W |       0MiB / 143771MiB |     17%      Default`."""
    power, _, cap = cells[0].replace("N/A ", "", 1).rpartition("/")
    used, _, size = cells[1].partition("/")
    heat = next((quantity(part) for part in cells[0].split() if re.fullmatch(r"\d{1,3}C", part)), None)
    return known({
        "temperature_c": heat,
        "power_w": quantity(power.split()[-1]) if power.split() else None,
        "power_cap_w": quantity(cap),
        "memory_used_bytes": quantity(used), "memory_bytes": quantity(size),
        "busy_fraction": quantity(cells[2].split()[0]) if cells[2] else None,
    })  # fmt: skip


def _topology(reading: Reading, rows: list[str]) -> None:
    """Read `topo -m`: a table between GPUs, network cards and processors; only one half is kept."""
    header: list[str] = []
    for row in rows:
        parts = [part.strip() for part in row.split("\t")] if "\t" in row else columns(row)
        if not header and "GPU0" in parts and (not parts[0] or "CPU Affinity" in parts):
            header = parts if not parts[0] else ["", *parts]
        elif header and re.fullmatch(r"GPU\d{1,4}", parts[0] if parts else ""):
            cells = dict(zip(header, parts))
            number = int(parts[0][3:])
            numa = whole(cells.get("NUMA Affinity"))
            reading.devices.append({**known({"index": number, "numa_node": numa}), "raw": cells})
            for name, cell in cells.items():
                if re.fullmatch(r"GPU\d{1,4}", name) and number < int(name[3:]):
                    reading.links.append({"from": number, "to": int(name[3:]), "type": cell})
    reading.form = "topology" if header else ""
