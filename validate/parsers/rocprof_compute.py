"""Read what rocprof-compute (Omniperf before 6.2) writes: wide counters, system information, timestamps, analyses."""

from __future__ import annotations

import re
from typing import Any

from validate.parsers.reading import Reading
from validate.parsers.tables import csv_rows, drawn, records
from validate.parsers.values import absent, gfx, known, lines, number, plain, quantity, whole, words

RENAMED = {"kernelname": "kernel_name", "gpu-id": "gpu_id", "beginns": "start_timestamp", "endns": "end_timestamp",
           "index": "dispatch_id"}  # fmt: skip
CHANNEL = re.compile(r"TCC_HIT\[(\d{1,4})\]")
SECTION = re.compile(r"(\d{1,3}(?:\.\d{1,3}){0,2})\.? ([A-Z].{0,100})")
VERSION = re.compile(r"(?:Omniperf|rocprof-compute|rocprofiler-compute|ROCProfiler-compute) version: (\S{1,40})")
TARGET = re.compile(r"Target: (\S{1,40})")
COUNTER = re.compile(r"\] - (\w{1,80})$")


def read(text: str) -> Reading:
    """Return counters and times by dispatch in `facts["rows"]`, or an analysis' tables in `facts["tables"]`.

    A roofline's rates are in bytes/s and operations/s; its table has them in giga. `l2_hit_fraction` is of all rows.
    """
    reading, text = Reading(), plain(text)
    first = text.lstrip()[:400].split("\n")[0].lower()
    if "workload_name" in first:
        _sysinfo(reading, text)
    elif first.startswith("device,"):
        _roofline(reading, text)
    elif first.startswith(("dispatch_id,", "index,", "kernel_name,", "kernelname,")):
        _counters(reading, text)
    elif "╒" in text or "│" in text:
        _analysis(reading, text)
    elif "Collecting Performance Counters" in text or "[profiling]" in text:
        _log(reading, text)
    return reading


def _rows(reading: Reading, text: str) -> tuple[list[str], list[dict[str, str]]]:
    rows, warnings = csv_rows(text)
    reading.warnings += warnings
    header = rows[0] if rows else []
    if any(1 < len(row) < len(header) for row in rows[1:]):
        reading.warn("a row is cut off")
    return header, records(header, rows[1:])


def _sysinfo(reading: Reading, text: str) -> None:
    reading.form = "sysinfo"
    for row in _rows(reading, text)[1]:
        megahertz = number(row.get("max_sclk")), number(row.get("max_mclk"))
        gigabytes = number(row.get("hbm_bw"))
        reading.devices.append({
            **known({
                "gfx": gfx(row.get("gpu_arch")), "name": words(row.get("gpu_model")), "vbios": words(row.get("vbios")),
                "compute_units": whole(row.get("cu_per_gpu")),
                "compute_partition": words(row.get("compute_partition")),
                "memory_partition": words(row.get("memory_partition")),
                "clock_max_hz": None if megahertz[0] is None else megahertz[0] * 1e6,
                "memory_clock_max_hz": None if megahertz[1] is None else megahertz[1] * 1e6,
                "memory_bandwidth_bytes_per_s": None if gigabytes is None else gigabytes * 1e9,
            }),
            "raw": {name: value for name, value in row.items() if name != "hostname"},
        })  # fmt: skip
        versions = {"rocm": words(row.get("rocm_version")), "kernel": words(row.get("linux_kernel_version"))}
        reading.versions.update(known(versions))


def _roofline(reading: Reading, text: str) -> None:
    reading.form = "roofline"
    for row in _rows(reading, text)[1]:
        rates = {name: number(value) for name, value in row.items() if not name.endswith(("device", "Low", "High"))}
        peaks = {name: value * 1e9 for name, value in rates.items() if value is not None}
        reading.devices.append({**known({"index": whole(row.get("device"))}), "peaks_per_s": peaks, "raw": row})


def _counters(reading: Reading, text: str) -> None:
    header, entries = _rows(reading, text)
    rows, hits, misses = [], 0.0, 0.0
    for entry in entries:
        plainly = {RENAMED.get(name.lower(), name.lower()): value for name, value in entry.items()}
        start, end = (whole(plainly.get(f"{name}_timestamp")) for name in ("start", "end"))
        counters = known({key: number(cell) for key, cell in entry.items()})
        hits += counters.get("TCC_HIT_sum", 0.0)
        misses += counters.get("TCC_MISS_sum", 0.0)
        rows.append(known({
            "name": words(plainly.get("kernel_name")), "dispatch": whole(plainly.get("dispatch_id")),
            "gpu": whole(plainly.get("gpu_id")), "start_ns": start,
            "duration_s": None if start is None or end is None else (end - start) / 1e9, "counters": counters,
        }))  # fmt: skip
    channels = [int(match[1]) for match in map(CHANNEL.fullmatch, header) if match]
    reading.form = "counters" if any("_sum" in name or "[" in name for name in header) else "timestamps"
    reading.facts = known({
        "columns": len(header), "rows": rows, "l2_channels": max(channels) + 1 if channels else None,
        "l2_hit_fraction": hits / (hits + misses) if hits + misses > 0 else None,
    })  # fmt: skip


def _analysis(reading: Reading, text: str) -> None:
    """Read the tables of `analyze`; the rest of a long name stands in rows whose first cell is empty."""
    tables: dict[str, list[dict[str, Any]]] = {}
    title = ""
    header: list[str] = []
    rows: list[dict[str, Any]] = []
    for line in lines(text):
        section = SECTION.fullmatch(line.strip())
        if section:
            title, header = f"{section[1]} {section[2]}", []
        elif line.startswith("╒"):
            header, rows = [], tables.setdefault(title, [])
        elif "│" in line:
            cells = drawn([line])[0] if drawn([line]) else []
            if not header:
                header = cells
            elif cells and not cells[0] and rows:
                _joined(rows[-1], header, cells)
            elif cells:
                rows.append(dict(zip(header, cells)))
        if "WARNING" in line or "ERROR" in line:
            reading.warn(line.strip())
    reading.form, reading.facts["tables"] = "analysis", tables
    reading.facts["metrics"] = {
        row["Metric"]: value
        for found in tables.values()
        for row in found
        for value in [number(row.get("Value", row.get("Avg")))]
        if "Metric" in row and value is not None and not absent(row["Metric"])
    }
    kernels = [row for found in tables.values() for row in found if "Sum(ns)" in row]
    reading.facts["kernels"] = [
        known({
            "name": row.get("Kernel_Name", row.get("KernelName")), "calls": number(row.get("Count")),
            "total_s": quantity(row["Sum(ns)"], "ns"), "average_s": quantity(row.get("Mean(ns)"), "ns"),
        })
        for row in kernels
    ]  # fmt: skip


def _joined(row: dict[str, Any], header: list[str], cells: list[str]) -> None:
    for name, cell in zip(header, cells):
        if cell and len(row.get(name, "")) < 20_000:
            row[name] = row.get(name, "") + cell


def _log(reading: Reading, text: str) -> None:
    version, target = VERSION.search(text), TARGET.search(text)
    reading.form = "log"
    if version:
        reading.versions["rocprof_compute"] = version[1]
    counters = [match[1] for match in map(COUNTER.search, lines(text)) if match]
    reading.facts = known({"target": target[1] if target else None, "counters": list(dict.fromkeys(counters))})
    for line in lines(text):
        if "WARN" in line or "ERROR" in line or "disabled" in line:
            reading.warn(line.strip())
