"""Check samples and telemetry at full speed: a run has up to millions, too many for a general validator.

`fault` says exactly what `results-1.schema.json` says of these two records (a test holds them equal over many mutated
records) and, beyond it, refuses numbers that are not finite. `quick` reads the one form in which `schema.stream`
writes a sample; `None` means "another form", not "wrong": parse the line, then ask `fault`. Both sides of the walk use
them: the host while a run streams in, and `bundle` while it reads a sealed one.
"""

from __future__ import annotations

import re
from typing import Any

_INTEGER = rb"(0|[1-9][0-9]{0,8})"
_NUMBER = rb"((?:0|[1-9][0-9]{0,15})(?:\.[0-9]{1,40})?(?:e[+-]?[0-9]{1,3})?)"
_LINE = re.compile(
    rb'\{"kind":"sample","case":"([a-z0-9][a-z0-9_.-]{0,99})","process":' + _INTEGER + rb',"index":' + _INTEGER + rb","
    rb'"seconds":' + _NUMBER + rb',"at_s":' + _NUMBER + rb'(,"tags":\["throttled"\])?\}\n?'
)
_INFINITY = float("inf")
_SAMPLE = frozenset({"kind", "case", "process", "index", "seconds", "at_s"})
_TELEMETRY = frozenset({"kind", "process", "at_s", "device"})
_READINGS = ("power_w", "clock_hz", "temperature_c")
_OPTIONAL = {
    "sample": frozenset({"tags"}),
    "telemetry": frozenset({*_READINGS, "memory_used_bytes", "throttle"}),
}


def quick(line: bytes) -> tuple[bytes, int, int, float, float, bool] | None:
    """Return case, process, index, seconds, at_s and "throttled" of a line; None when only the slow way can tell."""
    match = _LINE.fullmatch(line)
    if match is None:
        return None
    case, process, index, seconds, at_s, tags = match.groups()
    value, moment = float(seconds), float(at_s)
    if not 0 < value < _INFINITY or moment == _INFINITY:
        return None
    return case, int(process), int(index), value, moment, tags is not None


def fault(item: dict[str, Any]) -> str:
    """Return what is wrong with a `sample` or `telemetry` record; empty when it follows the schema."""
    kind = item.get("kind")
    if kind == "sample":
        return _keys(item, _SAMPLE, _OPTIONAL["sample"]) or _sample(item)
    if kind == "telemetry":
        return _keys(item, _TELEMETRY, _OPTIONAL["telemetry"]) or _telemetry(item)
    return f"kind is {kind!r}"[:80]


def _sample(item: dict[str, Any]) -> str:
    if not isinstance(item["case"], str):
        return "case is not a string"
    for name in ("process", "index"):
        if not _whole(item[name]) or item[name] < 0:
            return f"{name} is not a whole number from 0"
    if not _finite(item["seconds"]) or item["seconds"] <= 0:
        return "seconds is not a number above 0"
    if not _finite(item["at_s"]):
        return "at_s is not a number"
    tags = item.get("tags", [])
    return "" if isinstance(tags, list) and all(tag == "throttled" for tag in tags) else "tags has an unknown tag"


def _telemetry(item: dict[str, Any]) -> str:
    if not _whole(item["process"]) or item["process"] < 0:
        return "process is not a whole number from 0"
    if not isinstance(item["device"], str):
        return "device is not a string"
    for name in ("at_s", *_READINGS):
        if not _finite(item.get(name, 0)):
            return f"{name} is not a number"
    if not _whole(item.get("memory_used_bytes", 0)):
        return "memory_used_bytes is not a whole number"
    throttle = item.get("throttle", [])
    good = isinstance(throttle, list) and all(isinstance(reason, str) for reason in throttle)
    return "" if good else "throttle is not a list of strings"


def _keys(item: dict[str, Any], required: frozenset[str], optional: frozenset[str]) -> str:
    names = item.keys()
    if not required <= names:
        return f"{min(required - names)} is missing"
    unknown = names - required - optional
    return f"{str(min(unknown))[:40]!r} is unknown" if unknown else ""


def _finite(value: Any) -> bool:
    # a huge int compares exactly with infinity, where float() would overflow
    return isinstance(value, (int, float)) and not isinstance(value, bool) and -_INFINITY < value < _INFINITY


def _whole(value: Any) -> bool:
    # JSON Schema counts 1.0 among the integers
    return _finite(value) and (isinstance(value, int) or value.is_integer())
