"""Datasheet peaks and last-level caches, by exact product name, from `schema/facts/hardware-peaks.json`.

A name that is not listed has no peak: a near match would be a guess. Nor has a device with another number of compute
units than the listed product: it is a part of one (a partition of an MI300X, an instance of an H100), or another one.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import schema

FACTS = Path(schema.__file__).parent / "facts" / "hardware-peaks.json"
MIB = 1 << 20
MI250 = ("AMD Instinct MI250X (one GCD = one PyTorch device)", "AMD Instinct MI250")
#: What the runtime calls a product, where the facts call it otherwise. NVIDIA names the SXM parts without their form
#: factor. PyTorch sees one die of an MI250X or MI250 and calls both by one name: their compute units tell them apart.
LISTED_AS = {
    "NVIDIA A100-SXM4-80GB": ("NVIDIA A100 SXM 80GB",),
    "NVIDIA H100 80GB HBM3": ("NVIDIA H100 SXM 80GB",),
    "NVIDIA H200": ("NVIDIA H200 SXM 141GB",),
    "AMD Instinct MI250X": MI250,
    "AMD Instinct MI250X/MI250": MI250,
    "AMD Instinct MI250X / MI250": MI250,
}
#: Rows of the facts that hold the arithmetic peak of a dtype, first choice first: float32 products use matrix units
#: where the part has them for float32.
PEAK_ROWS = {
    "fp64": ("fp64_matrix", "fp64_vector"),
    "fp32": ("fp32_matrix", "fp32_vector"),
    "tf32": ("tf32_matrix",),
    "fp16": ("fp16_matrix",),
    "bf16": ("bf16_matrix",),
    "fp8": ("fp8_matrix",),
    "int8": ("int8_matrix",),
}


@functools.lru_cache(maxsize=1)
def _facts() -> dict[str, Any]:
    facts: dict[str, Any] = json.loads(FACTS.read_text(encoding="utf-8"))
    return facts


def find(name: str, compute_units: int | None) -> tuple[dict[str, Any] | None, str]:
    """Return the row of the facts for a device as the runtime names and counts it, or None with the reason."""
    rows = [row for row in _facts()["gpus"] if row["gpu"] in LISTED_AS.get(name, (name,))]
    if not rows:
        return None, f"{name} is not listed in {FACTS.name}"
    for row in rows:
        if row["compute_units"] == (compute_units or 0) * _share(row):
            return row, ""
    listed = " or ".join(str(row["compute_units"] // _share(row)) for row in rows)
    return None, f"{compute_units or 'an unknown number of'} compute units, and a whole {name} has {listed}"


def _share(row: dict[str, Any]) -> int:
    """Return how many devices PyTorch sees in what a row describes."""
    return int(row.get("devices_per_package") or 1)


def peak(name: str, compute_units: int | None, unit: str, dtype: str) -> tuple[float | None, str | None]:
    """Return the dense datasheet peak of one device in `unit` (FLOP/s or B/s) and its source.

    Where it is unknown the peak is None and the source says why; both are None for a unit that hardware has not.
    """
    if unit not in {"B/s", "FLOP/s"}:
        return None, None
    row, why = find(name, compute_units)
    if row is None:
        return None, f"unknown: {why}"
    source = f"{row['gpu']} ({row['status']}): " + "; ".join(_facts()["sources"][key] for key in row["source"])
    if unit == "B/s":
        found, scale = row["hbm_GBps"], 1e9
    else:
        found = next((row["tflops"][column] for column in PEAK_ROWS.get(dtype, ()) if row["tflops"].get(column)), None)
        scale = 1e12
    return (found * scale / _share(row), source) if found else (None, f"unknown: {row['gpu']} lists none for {dtype}")


def last_level_cache(name: str, compute_units: int | None, reported: int | None) -> int | None:
    """Return the bytes of one device's last-level cache: L2 and Infinity Cache listed, or L2 as reported if larger.

    HIP and torch report L2 only, so an AMD device that is not listed has an unknown cache.
    """
    row, _ = find(name, compute_units)
    if row is None:
        return None if name.startswith("AMD") else reported
    listed = ((row.get("l2_MiB") or 0) + (row.get("infinity_cache_MiB") or 0)) * MIB // _share(row)
    return max(listed, reported or 0) or None
