"""Read the tools that measure copies: rocm-bandwidth-test, hipBusBandwidth, TransferBench."""

from __future__ import annotations

import re
from typing import Any

from validate.parsers.reading import Reading
from validate.parsers.values import known, lines, number, pci, plain, quantity, words

DEVICE = re.compile(r"\s{0,40}Device: (\d{1,4}),\s{1,8}([^,]{1,100})(?:,\s{1,8}(\S{1,40}),\s{1,8}(\S{1,16}))?\s{0,40}")
VERSION = re.compile(r"\s{0,40}RocmBandwidthTest Version: (\S{1,40})")
TRANSFER = re.compile(
    r"\s{0,8}Transfer (\d{1,4})\s{1,8}\|\s{1,12}([\d.]{1,16}) GB/s \|\s{1,12}([\d.]{1,16}) ms \|"
    r"\s{1,20}(\d{1,16}) bytes \| (.{1,200})"
)
HIP = re.compile(r"Device:(.{1,80}) Mem=([\d.]{1,10})GB #CUs=(\d{1,5}) Freq=(\d{1,6})Mhz")
TITLES = {
    "Inter-Device Access": "access",
    "Inter-Device Numa Distance": "numa_distance",
    "Unidirectional copy peak bandwidth": "unidirectional_bytes_per_s",
    "Bidirectional copy peak bandwidth": "bidirectional_bytes_per_s",
}


def read(text: str) -> Reading:
    """Return devices, and `facts["tables"]` by row and column, or `facts["results"]`: bytes/s, s, bytes."""
    reading, text = Reading(), plain(text)
    rows = lines(text)
    if "RocmBandwidthTest" in text:
        _rocm(reading, rows)
    elif any(HIP.match(row) for row in rows[:50]):
        _hip(reading, rows)
    else:
        _transferbench(reading, rows)
    return reading


def _rocm(reading: Reading, rows: list[str]) -> None:
    """Read devices and square tables. The address lacks the domain."""
    reading.form = "rocm-bandwidth-test"
    tables: dict[str, dict[str, dict[str, float | None]]] = {}
    table: str | None = None
    header: list[str] = []
    for row in rows:
        device, version, cells = DEVICE.fullmatch(row), VERSION.match(row), row.split()
        title = next((name for name in TITLES if name in row), None)
        if version:
            reading.versions["rocm_bandwidth_test"] = version[1]
        elif device:
            _device(reading, device)
        elif title:
            table, header = TITLES[title], []
        elif cells[:1] == ["D/D"]:
            header = cells[1:]
        elif table and header and cells and cells[0].isdigit():
            scale = 1e9 if table.endswith("per_s") else 1.0
            values = {name: number(cell) for name, cell in zip(header, cells[1:])}
            tables.setdefault(table, {})[cells[0]] = {
                name: None if value is None else value * scale for name, value in values.items()
            }
    reading.facts["tables"] = tables


def _device(reading: Reading, match: re.Match[str]) -> None:
    if match[3] is None:
        reading.facts["processors"] = reading.facts.get("processors", 0) + 1
        return
    unique = match[3] if match[3].startswith("GPU-") and match[3] != "GPU-XX" else None
    card = {"index": int(match[1]), "name": words(match[2]), "unique_id": unique, "pci": pci(match[4])}
    reading.devices.append({**known(card), "raw": {"line": match[0].strip()}})


def _hip(reading: Reading, rows: list[str]) -> None:
    """Read hipBusBandwidth: rows of a name, a size, a unit, then median, mean, deviation, least and most."""
    reading.form = "hipBusBandwidth"
    results = []
    for row in rows:
        device, cells = HIP.match(row), row.split()
        if device:
            memory, clock = quantity(device[2], "GB"), number(device[4])
            reading.devices.append({
                **known({"name": words(device[1]), "memory_bytes": memory, "compute_units": int(device[3]),
                         "clock_max_hz": None if clock is None else clock * 1e6}), "raw": {"line": row},
            })  # fmt: skip
        elif len(cells) == 8 and cells[2] in {"GB/sec", "ms"}:
            suffix = "s" if cells[2] == "ms" else "bytes_per_s"
            names = ("median", "mean", "deviation", "min", "max")
            values = {f"{name}_{suffix}": quantity(cell, cells[2]) for name, cell in zip(names, cells[3:])}
            results.append({"name": cells[0], "size": cells[1], **known(values)})
    reading.facts["results"] = results


def _transferbench(reading: Reading, rows: list[str]) -> None:
    """Read TransferBench: one transfer a line, or tables of GB/s."""
    results: list[dict[str, Any]] = []
    tables: list[dict[str, Any]] = []
    header: list[str] = []
    for row in rows:
        transfer, cells = TRANSFER.match(row), row.split()
        if transfer:
            results.append(known({
                "transfer": int(transfer[1]), "bytes_per_s": quantity(transfer[2], "GB/s"),
                "time_s": quantity(transfer[3], "ms"), "size_bytes": int(transfer[4]), "path": transfer[5].strip(),
            }))  # fmt: skip
        elif row.strip().startswith(("SRC+EXE", "NumCUs")):
            header = re.findall(r"(?:CPU|GPU) ?\d{1,3}", row)
        elif header and cells and all(number(cell) is not None for cell in cells[-len(header) :]):
            name = " ".join(cells[: -len(header)])
            values = {column: quantity(cell, "GB/s") for column, cell in zip(header, cells[-len(header) :])}
            tables.append({"row": name.replace(" ->", ""), **values})
    reading.form = "TransferBench" if results or tables or header else ""
    reading.facts = {name: found for name, found in (("results", results), ("rows", tables)) if found}
