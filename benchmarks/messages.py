"""What each kind of a child's lines holds, in one table. What becomes a record of results-1 is held to all of it. Pure.

The schema itself is out of reach here: inside an image there is the standard library alone.
"""

from __future__ import annotations

import json
import math
import re
from functools import partial
from typing import TYPE_CHECKING, Any, Callable

from benchmarks.cases import GROUPS, NAME, UNITS
from benchmarks.correctness import judged
from schema import samples
from schema.records import SampleStatus

if TYPE_CHECKING:
    from collections.abc import Mapping

Test = Callable[[Any], bool]
DEEPEST = 20  # levels of lists and objects; what is ours has six


def parse(line: bytes) -> dict[str, Any]:
    """Return the message on a line; ValueError, TypeError, KeyError or RecursionError when it is none."""
    item = _loads(line)
    if not (_shallow(item, DEEPEST) and KINDS[item["kind"]](item)):
        raise ValueError("not as the table has it")
    return dict(item)


def _finite(text: str) -> float:
    """Return a number of JSON, which has neither NaN nor infinity; nor may it become infinite on reading."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:40]} is no number")
    return value


def _integer(text: str) -> int:
    _finite(text)  # a whole number may be too large for a float, too
    return int(text)


_loads = partial(json.loads, parse_constant=_finite, parse_float=_finite, parse_int=_integer)


def _shallow(value: Any, levels: int) -> bool:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels > 0 and all(_shallow(part, levels - 1) for part in parts)


def _object(needed: Mapping[str, Test], optional: Mapping[str, Test] | None = None, *, more: bool = False) -> Test:
    """Return the test for an object with these keys; with others too if there may be `more`."""
    tests = {**needed, **(optional or {})}
    return lambda value: (
        isinstance(value, dict)
        and needed.keys() <= value.keys()
        and (more or value.keys() <= tests.keys())
        and all(test(value[key]) for key, test in tests.items() if key in value)
    )


def _list(test: Test, least: int = 0) -> Test:
    return lambda value: isinstance(value, list) and len(value) >= least and all(map(test, value))


def _maybe(test: Test) -> Test:
    return lambda value: value is None or test(value)


def _either(*words: str) -> Test:
    return lambda value: isinstance(value, str) and value in words


def _text(value: Any, pattern: str = "(?s).*") -> bool:
    return isinstance(value, str) and re.fullmatch(pattern, value) is not None


_said = partial(_text, pattern=r"(?s).*\S.*")


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


def _number(value: Any, least: float = -math.inf) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value >= least


_amount = partial(_number, least=0)


def _positive(value: Any) -> bool:
    return _number(value) and value > 0


def _whole(value: Any, least: int = 0) -> bool:
    return isinstance(value, int) and _number(value, least)


_count = partial(_whole, least=1)


def _judged(value: Any) -> bool:
    return bool(judged(value))  # which raises for what is none


_STEP: dict[str, Test] = {"case": _text, "process": _whole}
_CASE = _object(
    {
        "case": partial(_text, pattern=NAME.pattern),
        "title": _text,
        "group": _either(*GROUPS),
        "parameters": _object({}, more=True),
        "dtype": _text,
        "unit": _either(*UNITS),
        "direction": _either("higher", "lower"),
        "work": _maybe(_positive),
        "flop": _maybe(_number),
        "bytes": _maybe(_number),
    },
    {"file_sha256": partial(_text, pattern="[0-9a-f]{64}")},
)
_STOP: dict[str, Test] = {
    "rule": _either("precision", "time", "count"),
    "samples": _whole,
    "seconds": _amount,
    "half_width": _maybe(_number),
    "autocorrelation": _maybe(_number),
}
_PROCESS = _object(
    {"kind": _text, **_STEP, "order": _whole, "status": _either(*(status.value for status in SampleStatus))},
    {
        "reason": _said,
        "device": _text,
        "setup_s": _amount,
        "first_call_s": _amount,
        "inner": _count,
        "clock": _either("host", "event"),
        "cache": _object(
            {"mode": _either("rotate", "hot"), "sets": _count, "llc_bytes": _maybe(_whole), "set_bytes": _whole}
        ),
        "warm_up": _object({"seconds": _amount, "steps": _whole, "steady": _flag}),
        "stop": _object(_STOP),
        "check_before": _judged,
        "check_after": _judged,
        "facts": _object({}, {"notes": _list(_text), "sampling_s": _list(_number)}, more=True),
    },
)
#: What each kind of line holds. A `phase` names its case once one is begun; the last three end what a child says.
KINDS: dict[str, Test] = {
    "phase": _object({"kind": _text, "phase": _said}, _STEP),
    "sample": lambda item: not samples.fault(item),
    "process": _PROCESS,
    "described": _object({"kind": _text, "cases": _list(_CASE, least=1)}),
    "refused": _object({"kind": _text, "message": _said, "hint": _text}),
    "copied": _object({"kind": _text}),
}
