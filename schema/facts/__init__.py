"""Dated data with sources: hardware, targets, environment variables, compatibility."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any


@functools.cache
def load(name: str) -> Any:
    """Return the parsed facts `name` (`hardware-peaks`, `gfx`, `env-vars`, `compat`); treat them as read-only."""
    return json.loads((Path(__file__).parent / f"{name}.json").read_text(encoding="utf-8"))
