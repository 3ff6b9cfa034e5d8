"""Read `amd-smi metric`, `list` and `static` with `--json`: a list until 6.4, `{"gpu_data": [...]}` from 7.0.

`metric` tells no bus address, only the tool's own number of a card; `list` (`bdf`) and `static` (`bus.bdf`) tell both.
"""

from __future__ import annotations

from typing import Any

from validate.parsers.amd_json import documents, first, number

MEGA = 1_000_000


def parse(text: str) -> list[dict[str, Any]]:
    """Return one entry a GPU in base units; what is "N/A" or absent is left out. A whole block may be "N/A"."""
    found = []
    for document in documents(text):
        entries = document
        if isinstance(document, dict):
            entries = next(
                (document[key] for key in ("gpu_data", "gpu") if isinstance(document.get(key), list)), [document]
            )
        found += [_gpu(entry) for entry in entries if isinstance(entry, dict) and "gpu" in entry]
    return found


def _gpu(entry: dict[str, Any]) -> dict[str, Any]:
    power, heat, memory = (_block(entry, name) for name in ("power", "temperature", "mem_usage"))
    bus = str(entry.get("bdf") or _block(entry, "bus").get("bdf") or "").lower()
    clocks = _block(entry, "clock")
    clock = number(_block(clocks, "gfx_0").get("clk"))
    if clock is None:
        clock = number(_block(clocks, "gfx").get("clk"))
    used = number(memory.get("used_vram"))
    values: dict[str, Any] = {
        "index": entry.get("gpu") if isinstance(entry.get("gpu"), int) else None,
        "pci": bus if bus.count(":") == 2 else None,
        "power_w": first(power, "socket_power", "current_socket_power", "average_socket_power"),
        "temperature_c": first(heat, "hotspot", "hotspot_temperature", "edge", "edge_temperature"),
        "clock_hz": None if clock is None else clock * MEGA,
        "memory_used_bytes": None if used is None else used * (1 << 20),  # printed as MB, counted in MiB
        "energy_j": first(_block(entry, "energy"), "total_energy_consumption"),
    }
    return {name: value for name, value in values.items() if value is not None}


def _block(entry: dict[str, Any], name: str) -> dict[str, Any]:
    found = entry.get(name)
    return found if isinstance(found, dict) else {}
