"""Attention of one new token: decode over a long cache of keys and values, where reading the cache is the work."""

from __future__ import annotations

from benchmarks.cases.attention import TOLERANCE, check, prepare, step, work

__all__ = ["GROUP", "TOLERANCE", "UNIT", "VARIANTS", "check", "prepare", "step", "work"]

GROUP = "memory"
UNIT = "B/s"
#: Heads as in Llama 3 8B, each with keys of its own.
VARIANTS = {
    "fp32.512": {"dtype": "fp32", "batch": 1, "heads": 4, "queries": 1, "keys": 512, "width": 64},
    "bf16.4096": {"dtype": "bf16", "batch": 16, "heads": 32, "queries": 1, "keys": 4096, "width": 128},
}
