"""Read `nvidia-smi --query-gpu=... --format=csv`: the fallback where NVML cannot be loaded."""

from __future__ import annotations

import csv
import io
import re
from typing import Any

QUERY = "pci.bus_id,name,driver_version,vbios_version,power.limit,power.default_limit,clocks.max.sm,clocks.max.memory"
COMMAND = ["nvidia-smi", f"--query-gpu={QUERY}", "--format=csv"]
SCALES = {"W": 1.0, "MHz": 1e6, "MiB": float(1 << 20)}


def parse(text: str) -> dict[str, dict[str, Any]]:
    """Return, by PCI address, the columns that hold something: texts as they are, quantities in base units."""
    rows = [[cell.strip() for cell in row] for row in csv.reader(io.StringIO(text.replace("\0", "")))]
    if not rows or not rows[0] or "pci.bus_id" not in rows[0]:
        return {}
    cards = {}
    for row in rows[1:]:
        entry = {_key(name): _value(cell) for name, cell in zip(rows[0], row)}
        address = str(entry.pop("pci.bus_id", "")).lower()
        if re.match(r"^[0-9a-f]{8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]$", address):
            cards[address[4:]] = {name: value for name, value in entry.items() if value is not None}
    return cards


def _key(name: str) -> str:
    return re.sub(r"\s*\[.*\]$", "", name)


def _value(cell: str) -> Any:
    if not cell or cell.strip("[]").lower() in {"n/a", "not supported", "unknown error", "insufficient permissions"}:
        return None
    found = re.match(r"^(\d{1,12}(?:\.\d{1,6})?) (W|MHz|MiB)$", cell)
    return float(found[1]) * SCALES[found[2]] if found else cell
