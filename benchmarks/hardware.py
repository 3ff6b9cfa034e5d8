"""Datasheet peaks and last-level caches, by exact product name, from `schema/facts/hardware-peaks.json`.

A name that is not listed has no peak: a near match would be a guess.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import schema

FACTS = Path(schema.__file__).parent / "facts" / "hardware-peaks.json"
MIB = 1 << 20
#: What the runtime calls a product, where the facts call it otherwise. NVIDIA names the SXM parts without their form
#: factor; PyTorch sees one die of an MI250X and calls it by the card's name.
LISTED_AS = {
    "NVIDIA A100-SXM4-80GB": "NVIDIA A100 SXM 80GB",
    "NVIDIA H100 80GB HBM3": "NVIDIA H100 SXM 80GB",
    "NVIDIA H200": "NVIDIA H200 SXM 141GB",
    "AMD Instinct MI250X": "AMD Instinct MI250X (one GCD = one PyTorch device)",
    "AMD Instinct MI250X/MI250": "AMD Instinct MI250X (one GCD = one PyTorch device)",
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


def find(name: str) -> dict[str, Any] | None:
    """Return the row of the facts for a product as the runtime names it; None when it is not listed."""
    wanted = LISTED_AS.get(name, name)
    return next((row for row in _facts()["gpus"] if row["gpu"] == wanted), None)


def peak(name: str, unit: str, dtype: str) -> tuple[float, str] | None:
    """Return the dense datasheet peak in `unit` (FLOP/s or B/s) with its source; None where unknown."""
    row = find(name)
    if row is None:
        return None
    # A row for a whole package with several devices would be too high for the one that PyTorch sees.
    share = row.get("devices_per_package") or 1
    source = f"{row['gpu']} ({row['status']}): " + "; ".join(_facts()["sources"][key] for key in row["source"])
    if unit == "B/s" and row["hbm_GBps"]:
        return row["hbm_GBps"] * 1e9 / share, source
    if unit == "FLOP/s":
        for column in PEAK_ROWS.get(dtype, ()):
            if row["tflops"].get(column):
                return row["tflops"][column] * 1e12 / share, source
    return None


def last_level_cache(name: str, reported: int | None) -> int | None:
    """Return the bytes of the last-level cache: L2 and Infinity Cache from the facts, or L2 as reported if larger.

    HIP and torch report L2 only, so an AMD product that is not listed has an unknown cache.
    """
    row = find(name)
    if row is None:
        return None if name.startswith("AMD") else reported
    listed = ((row.get("l2_MiB") or 0) + (row.get("infinity_cache_MiB") or 0)) * MIB
    return max(listed, reported or 0) or None
