"""Say quantities to people: the only place where base units become TFLOP/s, GB/s or ms."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

UNKNOWN = "unknown"
WIDE = 10  # an interval whose ends differ tenfold tells nobody anything; it stands in the summary all the same
_LARGE = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_SMALL = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_BINARY = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B"))
#: Units whose prefixes people use; counts of things are written out.
_PREFIXED = frozenset({"FLOP/s", "B/s", "Hz"})
_SPACES = str.maketrans("\n\t\r", "   ")
#: Controls, invisible and direction marks, lone surrogates, tags. Written out: the Unicode tables change with Python.
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)


def scale(value: float, unit: str) -> tuple[float, str]:
    """Return the factor to divide by, and the unit to show, that suit `value` in base `unit`."""
    if unit == "s":
        return next((pair for pair in _SMALL if abs(value) >= pair[0]), _SMALL[-1])
    if unit in _PREFIXED:
        factor, prefix = next((pair for pair in _LARGE if abs(value) >= pair[0]), _LARGE[-1])
        return factor, prefix + unit
    return 1.0, unit


def number(value: float, precision: float | None = None) -> str:
    """Return `value` with four significant digits, or with as many as an uncertainty of `precision` deserves (two)."""
    if not math.isfinite(value):
        return UNKNOWN
    if value == 0 or isinstance(value, int):
        return f"{value:,.0f}"
    decimals = 3 - math.floor(math.log10(abs(value)))
    if precision and math.isfinite(precision) and precision > 0:
        decimals = min(decimals + 2, 1 - math.floor(math.log10(precision)))
    return f"{value:,.{max(0, min(decimals, 9))}f}"


def _short(value: float, precision: float | None = None) -> str:
    """Return a number without zeros that say nothing: `750`, not `750.0`."""
    text = number(value, precision)
    return text.rstrip("0").rstrip(".") if "." in text else text


def quantity(value: float | None, unit: str) -> str:
    """Return a value with a fitting unit: `687.3 TFLOP/s`."""
    if value is None:
        return UNKNOWN
    factor, shown = scale(value, unit)
    return f"{_short(value / factor)} {shown}"


def interval(value: float | None, low: float | None, high: float | None, unit: str) -> str:
    """Return a value with its interval: `687.3 TFLOP/s (684.0 to 690.5)`; without one, the value says so."""
    middle, ends = headline(value, low, high, unit)
    return f"{middle} ({ends})" if ends else middle


def headline(value: float | None, low: float | None, high: float | None, unit: str) -> tuple[str, str]:
    """Return a value and, apart, its interval: `687.3 TFLOP/s`, `684.0 to 690.5`."""
    if value is None:
        return UNKNOWN, ""
    if low is None or high is None:
        return quantity(value, unit), "one process: no interval"
    if not useful(low, high):
        return quantity(value, unit), "no useful interval: too few processes, or too unlike"
    factor, shown = scale(value, unit)
    precision = (high - low) / 2 / factor
    middle, first, last = (number(item / factor, precision) for item in (value, low, high))
    return f"{middle} {shown}", f"{first} to {last}"


def useful(low: float | None, high: float | None) -> bool:
    """Tell whether there is an interval, and it says something: the same for words and pictures."""
    return low is not None and high is not None and high <= low * WIDE


def share(value: float | None) -> str:
    """Return a ratio as per cent."""
    return UNKNOWN if value is None else f"{_short(100 * value, 0.5)} %"


def size(value: float | None) -> str:
    """Return bytes of memory in binary units."""
    if value is None:
        return UNKNOWN
    factor, unit = next((pair for pair in _BINARY if value >= pair[0]), _BINARY[-1])
    return f"{_short(value / factor)} {unit}"


def count(amount: int, one: str, many: str = "") -> str:
    """Return `1 check`, `12,000 samples`."""
    return f"{amount:,} {one if amount == 1 else many or one + 's'}"


def plain(value: object) -> str:
    """Return a JSON value as short text for people; control and direction marks, which can lie, become visible."""
    if value is None:
        text = "none"
    elif isinstance(value, dict) and set(value) == {"unknown"}:
        text = f"unknown: {value['unknown']}"
    elif isinstance(value, bool):
        text = "yes" if value else "no"
    elif isinstance(value, dict):
        text = ", ".join(f"{key}: {plain(item)}" for key, item in value.items()) or "none"
    elif isinstance(value, (list, tuple)):
        text = ", ".join(plain(item) for item in value) or "none"
    else:
        text = str(value)
    return visible(text)


def printed(lines: Iterable[str]) -> str:
    """Return lines for a terminal: whatever they hold, each stays one line, and no control gets through."""
    return "\n".join(visible(line) for line in lines)


def visible(text: str) -> str:
    """Return the text on one line, with every character that a reader could not see replaced."""
    return _UNSEEN.sub("\N{REPLACEMENT CHARACTER}", text.translate(_SPACES))
