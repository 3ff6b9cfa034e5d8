"""Read what rocprof (v1) and rocprofv3 write: statistics, traces, counters, agents; their columns change by release.

Columns are told by their names, in any case and order. Kernels' names hold commas, quotes and brackets.
"""

from __future__ import annotations

import re
from typing import Any

from validate.parsers import amd_json
from validate.parsers.reading import Reading
from validate.parsers.tables import csv_rows, drawn, records
from validate.parsers.values import gfx, known, lines, number, plain, whole, words

NANO = 1e9
STATISTICS = {
    "total_s": ("totaldurationns", "duration (nsec)"), "average_s": ("averagens", "average (nsec)"),
    "min_s": ("minns", "min (nsec)"), "max_s": ("maxns", "max (nsec)"), "deviation_s": ("stddev",),
    "share_fraction": ("percentage", "percent (inc)"),
}  # fmt: skip
HEADERS = frozenset((
    "name", "kind", "domain", "correlation_id", "guid", "index", "kernelname", "agent_id", "node_id", "dispatch_id",
))  # fmt: skip
#: What a record is called, and which agent it is of: the columns of all kinds of trace.
NAMES = ("kernel_name", "kernelname", "function", "direction", "operation", "name")
AGENTS = ("agent_id", "gpu-id", "source_agent_id")
TITLE = re.compile(r"ROCPROFV3 (\S.{0,80}) SUMMARY")


def read(text: str) -> Reading:
    """Return `facts["rows"]`: statistics by name, or records; times in s, shares of 1, counters as they are.

    Start and end of a record stay whole nanoseconds (`start_ns`): seconds would lose the last digits.
    """
    reading, text = Reading(), plain(text)
    if '"traceEvents"' in text[:2000]:
        _chrome(reading, text)
    elif "|" in text and "DURATION (nsec)" in text:
        _summary(reading, text)
    elif "Counter_Name" in text and not _is_csv(text):
        _counters(reading, text)
    else:
        _csv(reading, text)
    return reading


def _is_csv(text: str) -> bool:
    return any(len(line.split(",")) > 4 for line in text[:20_000].split("\n")[:3])


def _csv(reading: Reading, text: str) -> None:
    """Read a table; what stands before its header (a shell's command) is passed over, a header's broken line mended."""
    rows, warnings = csv_rows(text.replace("\n...\n", "\n"))
    start = next((at for at, row in enumerate(rows[:20]) if len(row) > 3 and row[0].lower() in HEADERS), None)
    if start is None:
        return
    columns = [name.replace("\n", "") for name in rows[start]]
    header, rest = [name.lower() for name in columns], rows[start + 1 :]
    if columns != rows[start]:
        reading.warn("the header is broken over two lines")
    entries = [entry for entry in records(header, rest) if len(entry) > 1]
    if any(len(row) < len(header) for row in rest if len(row) > 1):
        reading.warn("a row is cut off")
    reading.warnings += warnings
    names = set(header)
    if "totaldurationns" in names:
        reading.form, parse = "statistics", statistic
    elif "counter_value" in names:
        reading.form, parse = "counters", _record
    elif {"node_id", "agent_type"} <= names:
        reading.form = "agents"
        reading.devices = [_agent(entry) for entry in entries if entry.get("agent_type", "").upper() == "GPU"]
        return
    elif "start_timestamp" in names or "beginns" in names or "durationns" in names:
        reading.form, parse = "trace", _record
    else:
        return
    reading.facts["columns"] = columns
    reading.facts["rows"] = [parse(entry) for entry in entries]
    if reading.form == "counters":
        _pivot(reading)


def statistic(entry: dict[str, str]) -> dict[str, Any]:
    """Return one name's statistics, of a row by column names in lower case."""
    found: dict[str, Any] = {
        "name": entry.get("name", ""), "domain": words(entry.get("domain")), "calls": whole(entry.get("calls")),
    }  # fmt: skip
    for name, keys in STATISTICS.items():
        value = number(next((entry[key] for key in keys if key in entry), None))
        if value is not None:
            found[name] = value / NANO if name.endswith("_s") else value / 100
    return known(found)


def _record(entry: dict[str, str]) -> dict[str, Any]:
    start = whole(entry.get("start_timestamp", entry.get("beginns")))
    end = whole(entry.get("end_timestamp", entry.get("endns")))
    name, agent = (next((entry[key] for key in keys if key in entry), None) for keys in (NAMES, AGENTS))
    spent = None if start is None or end is None else (end - start) / NANO
    return known({
        "name": name, "kind": words(entry.get("kind", entry.get("domain"))), "start_ns": start, "duration_s": spent,
        "agent": whole((agent or "").replace("Agent ", "")),
        "dispatch": whole(entry.get("dispatch_id", entry.get("index"))),
        "counter": words(entry.get("counter_name")), "value": number(entry.get("counter_value")),
        "bytes": number(entry.get("allocation_size")),
    })  # fmt: skip


def _pivot(reading: Reading) -> None:
    """Add the sum of each counter by kernel: there is one row for each dispatch and counter."""
    sums: dict[str, dict[str, float]] = {}
    for row in reading.facts["rows"]:
        if "counter" in row and "value" in row:
            counters = sums.setdefault(row.get("name") or "", {})
            counters[row["counter"]] = counters.get(row["counter"], 0.0) + row["value"]
    reading.facts["counters"] = sums


def _agent(entry: dict[str, str]) -> dict[str, Any]:
    clock = number(entry.get("max_engine_clk_fcompute"))
    return known({
        "node": whole(entry.get("node_id")), "gfx": gfx(entry.get("name")),
        "name": words(entry.get("product_name")), "compute_units": whole(entry.get("cu_count")),
        "clock_max_hz": None if clock is None else clock * 1e6, "raw": entry,
    })  # fmt: skip


def _summary(reading: Reading, text: str) -> None:
    """Read the tables of `-S`, one for each domain, drawn with bars."""
    header: list[str] = []
    rows = []
    for cells in drawn(lines(text)):
        if cells[0] == "NAME":
            header = [cell.lower() for cell in cells]
        elif header:
            rows.append(statistic(dict(zip(header, cells))))
    reading.form = "summary"
    reading.facts["rows"] = rows
    reading.facts["domains"] = list(dict.fromkeys(TITLE.findall(text)))


def _chrome(reading: Reading, text: str) -> None:
    """Read the trace for a browser: `results.json` of rocprof; what a process number stands for is said in it."""
    documents, warnings = amd_json.found(text)
    events = next((item["traceEvents"] for item in documents if isinstance(item, dict) and "traceEvents" in item), None)
    reading.warnings += warnings
    if not isinstance(events, list):
        return
    reading.form, rows, names = "trace", [], []
    for event in events:
        told = event.get("args") if isinstance(event, dict) else None
        if not isinstance(told, dict):
            continue
        if event.get("ph") == "M" and words(told.get("name")):
            names.append(str(told["name"]))
        elif event.get("ph") == "X":
            spent = number(told.get("DurationNs"))
            rows.append(known({
                "name": words(event.get("name")), "start_ns": whole(told.get("BeginNs")),
                "duration_s": None if spent is None else spent / NANO, "agent": whole(told.get("dev-id")),
            }))  # fmt: skip
    reading.facts.update(rows=rows, tracks=names)


def _counters(reading: Reading, text: str) -> None:
    """Read the list of counters that a GPU has: `rocprofv3 -L`, `rocprofv3-avail list`."""
    counters: list[str] = []
    device: dict[str, Any] = {}
    for line in lines(text):
        key, colon, value = (part.strip() for part in line.partition(":"))
        if not colon:
            continue
        if key.upper() == "GPU" and whole(value) is not None:
            there = [card for card in reading.devices if card["index"] == whole(value)]
            device = there[0] if there else {"index": whole(value), "raw": {}}
            reading.devices += [] if there else [device]
        elif key == "Name" and gfx(value):
            device["gfx"] = gfx(value)
        elif key == "Counter_Name":
            counters.append(value)
    reading.form = "counter list"
    reading.facts["counters"] = counters
