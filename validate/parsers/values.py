"""Values as tools print them: numbers with and without units, words that mean nothing, addresses of the PCI bus.

Every pattern here is matched at one place and is bounded, so that no text takes more than linear time.
"""

from __future__ import annotations

import math
import re
from typing import Any

MEGA = 1_000_000
LONGEST_LINE = 4096  # no line that a tool means to be read is longer; of one that is, the beginning is read
ANSI = re.compile(r"\x1b(?:\[[0-9;?]{0,32}[A-Za-z]|[()][A-Z0-9])")
NUMBER = re.compile(r"[-+]?(?:\d{1,24}(?:\.\d{0,24})?|\.\d{1,24})(?:[eE][-+]?\d{1,3})?", re.ASCII)
UNIT = re.compile(r"[A-Za-zµ%/°Â]{0,12}")
WHOLE = re.compile(r"-?\d{1,20}|0[xX][0-9a-fA-F]{1,16}", re.ASCII)
PCI = re.compile(r"(?:([0-9a-f]{1,8}):)?([0-9a-f]{1,2}):([01]?[0-9a-f])(?:\.([0-7]))?", re.IGNORECASE)
GFX = re.compile(r"gfx[0-9]{1,3}[0-9a-f]{2}")
NOTHING = frozenset((
    "", "-", "n/a", "na", "none", "none%", "null", "(null)", "unknown", "unsupported", "not supported", "unknown error",
    "insufficient permissions", "could not collect", "not available", "requested functionality has been deprecated",
))  # fmt: skip
SCALES = {
    "w": 1.0, "mw": 1e-3, "uw": 1e-6, "µw": 1e-6, "kw": 1e3,
    "j": 1.0, "mj": 1e-3, "uj": 1e-6, "kj": 1e3,
    "hz": 1.0, "khz": 1e3, "mhz": 1e6, "ghz": 1e9,
    "c": 1.0, "v": 1.0, "mv": 1e-3, "%": 1e-2,
    "s": 1.0, "sec": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9, "nsec": 1e-9, "usec": 1e-6,
    "gt/s": 1e9, "b/s": 1.0, "kb/s": 1e3, "mb/s": 1e6, "gb/s": 1e9, "gb/sec": 1e9, "tb/s": 1e12,
    "b": 1.0, "kb": 2.0**10, "mb": 2.0**20, "gb": 2.0**30, "tb": 2.0**40, "m": 2.0**20, "g": 2.0**30,
    "kib": 2.0**10, "mib": 2.0**20, "gib": 2.0**30, "tib": 2.0**40, "gbytes": 2.0**30,
}  # fmt: skip


def plain(text: str) -> str:
    """Return the text without colours, NULs and byte order marks, its lines ended by newlines alone."""
    return ANSI.sub("", text.replace("\0", "").replace("\ufeff", "")).replace("\r\n", "\n").replace("\r", "\n")


def lines(text: str) -> list[str]:
    """Return the lines of a text made plain; each is cut at a length that no tool's line has."""
    return [line[:LONGEST_LINE] for line in plain(text).split("\n")]


def absent(value: Any) -> bool:
    """Tell whether a value is one of the ways in which tools say that there is none: N/A, [Not Supported], None%."""
    if value is None:
        return True
    if not isinstance(value, str):
        return False
    word = value[:80].strip().strip("[]").lower()
    return word in NOTHING or word.startswith("n/a")  # "N/A (Secondary die)", "N/A mV"


def words(value: Any) -> str | None:
    """Return a value that is text, without blanks around it; None for what says nothing, and for what is no text."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)) or absent(value):
        return None
    return str(value)[:LONGEST_LINE].strip()


def number(value: Any) -> float | None:
    """Return the number in a value of any of the tools' shapes, whatever its unit; None for N/A and other texts."""
    return _split(value)[0]


def quantity(value: Any, unit: str = "") -> float | None:
    """Return a value in its base unit: W, J, Hz, degrees Celsius, V, s, bytes, bytes/s, or a share of 1 for percent.

    `unit` is what the tool means where it prints none. Memory is counted in powers of 1024, as every tool here does,
    whatever it prints; rates are decimal. None for a unit that is not known: a wrong scale is worse than none.
    """
    found, printed = _split(value)
    name = (printed or unit).replace("°", "").replace("Â", "").lower()  # "45.0Â°C" where the locale was not UTF-8
    if found is None or (name and name not in SCALES):
        return None
    scale = SCALES[name] if name else 1.0
    scaled = found * scale if scale >= 1 else found / round(1 / scale)  # 95 % is 0.95 and not 0.9500000000000001
    return scaled if math.isfinite(scaled) else None


def _split(value: Any) -> tuple[float | None, str]:
    """Return a value's number and its unit. JSON has them apart, text together, some in brackets: `(132Mhz)`."""
    if isinstance(value, dict):
        found, unit = value.get("value"), value.get("unit")
        return (None, "") if isinstance(found, dict) else (number(found), unit if isinstance(unit, str) else "")
    if isinstance(value, (bool, type(None))):
        return None, ""
    if isinstance(value, (int, float)):
        return (float(value), "") if abs(value) < 1e300 else (None, "")  # NaN compares false, too
    text = value[:80].strip().strip("()").strip() if isinstance(value, str) else ""
    found = NUMBER.match(text)
    if not found:
        return None, ""
    rest = text[found.end() :].strip()
    unit = UNIT.match(rest)
    if unit is None or unit.end() != len(rest):
        return None, ""
    parsed = float(found[0])
    return (parsed, rest) if math.isfinite(parsed) else (None, "")


def whole(value: Any) -> int | None:
    """Return a whole number, decimal or hexadecimal, of a text or a number; also the one before `29857(0x74a1)`."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value if abs(value) < 1 << 64 else None
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 1 << 53 else None
    text = value[:80].strip().split("(")[0].strip() if isinstance(value, str) else ""
    return int(text, 16 if text[:2].lower() == "0x" else 10) if WHOLE.fullmatch(text) else None


def pci(value: Any) -> str | None:
    """Return an address as domain:bus:device.function in lower case, `0000:c3:00.0`; None for what is none.

    Tools leave out the domain or the function, print the domain with eight digits, or the device with one.
    """
    found = PCI.fullmatch(value.strip()) if isinstance(value, str) and len(value) < 40 else None
    if not found:
        return None
    domain, bus, device, function = (int(part or "0", 16) for part in found.groups())
    return f"{domain:04x}:{bus:02x}:{device:02x}.{function}"


def pci_of_number(value: int) -> str:
    """Return the address that RCCL prints as one hexadecimal number: domain, bus, device, and four bits of function."""
    return f"{value >> 20 & 0xFFFFF:04x}:{value >> 12 & 0xFF:02x}:{value >> 4 & 0x1F:02x}.{value & 0x7}"


def gfx(value: Any) -> str | None:
    """Return the target in a name such as `gfx942:sramecc+:xnack-` or `amdgcn-amd-amdhsa--gfx90a`, or None.

    `gfx9-generic` is no target of a device, and `gfx000` is a processor.
    """
    name = value[:200].strip().rsplit("--", 1)[-1].split(":", 1)[0] if isinstance(value, str) else ""
    return name if GFX.fullmatch(name) and name != "gfx000" else None


def device_id(value: Any) -> str | None:
    """Return an identifier of PCI as `0x74a1`, which some tables print without its 0x; None for what is none."""
    text = words(value)
    found = whole(text) if text and text[:2] == "0x" else whole(f"0x{text}") if text else None
    return None if found is None or found < 0 else f"0x{found:04x}"


def known(values: dict[str, Any]) -> dict[str, Any]:
    """Return what is known: a value that a tool did not give is absent, never a zero."""
    return {name: value for name, value in values.items() if value is not None}
