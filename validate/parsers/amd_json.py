"""Find the JSON in what rocm-smi and amd-smi print, whatever else they print around it."""

from __future__ import annotations

import json
import re
from typing import Any

NUMBER = re.compile(r"^\(?\s*(-?\d{1,18}(?:\.\d{1,9})?)\s*[A-Za-z%]*\s*\)?$")  # 41.0, "(132Mhz)", "139 W"


def documents(text: str) -> list[Any]:
    """Return every JSON object or list in the text, in order; warnings before, between and after are passed over."""
    decoder, found, position = json.JSONDecoder(), [], 0
    while True:
        starts = [at for at in (text.find("{", position), text.find("[", position)) if at >= 0]
        if not starts:
            return found
        position = min(starts)
        try:
            item, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            position += 1
            continue
        if item:
            found.append(item)


def number(value: Any) -> float | None:
    """Return the number in a value of any of the tools' shapes; None for "N/A", blanks, and other texts."""
    if isinstance(value, dict):
        return number(value.get("value"))
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, (int, float)):
        return float(value)
    found = NUMBER.match(str(value).strip())
    return float(found[1]) if found else None


def first(entry: dict[str, Any], *names: str) -> float | None:
    """Return the first of several keys that holds a number. Keys are compared without case: it changes by release."""
    lower = {str(key).lower(): value for key, value in entry.items()}
    for name in names:
        found = number(lower.get(name.lower()))
        if found is not None:
            return found
    return None
