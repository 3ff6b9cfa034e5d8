"""When a variable's value matters: the `when` of a rule in `schema/facts/env-vars.json`. Pure.

Runtimes read numbers as C does (0x0 is 0), switches as numbers or words; a value that is neither leaves the default.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

if TYPE_CHECKING:
    from collections.abc import Mapping

ON, OFF = frozenset({"true", "yes", "on"}), frozenset({"false", "no", "off"})
LONGEST = 20  # characters of a number


def number(value: str) -> int | None:
    """Return a whole number as C's strtol with base 0 reads it; None for anything else."""
    text = value.strip().lower()
    digits = text.lstrip("+-")
    if len(text) > LONGEST or not digits.isascii():
        return None
    try:
        return int(text, 16 if digits.startswith("0x") else 10)
    except ValueError:
        return None


def _is_on(value: str) -> bool:
    return number(value) not in {None, 0} or value.strip().lower() in ON


def _is_off(value: str) -> bool:
    return number(value) == 0 or value.strip().lower() in OFF


STATES: dict[str, Callable[[str], bool]] = {
    "set": lambda value: value.strip() != "",
    "on": _is_on,
    "off": _is_off,
    "not off": lambda value: not _is_off(value),
}
#: part of a `when` -> (what it asks for, the value, all that are set, the facts) -> whether it holds
PARTS: dict[str, Callable[[Any, str, Mapping[str, str], Mapping[str, Any]], bool]] = {
    "value": lambda wanted, value, *_: STATES[wanted](value),
    "at_least": lambda wanted, value, *_: (number(value) or 0) >= wanted,
    "one_of": lambda wanted, value, *_: _plain(value) in map(_plain, wanted),
    "other_than": lambda wanted, value, *_: value.strip() != "" and _plain(value) not in map(_plain, wanted),
    "backend": lambda wanted, _, __, facts: facts["backend"] == wanted,
    "gfx": lambda wanted, _, __, facts: wanted in facts["gfx"],
    "beside": lambda wanted, _, given, __: all(STATES[state](given.get(name, "")) for name, state in wanted.items()),
}


def _plain(value: str) -> str:
    found = number(value)
    return value.strip().lower() if found is None else str(found)


def holds(when: Mapping[str, Any], value: str, given: Mapping[str, str], facts: Mapping[str, Any]) -> bool:
    """Tell whether every part of a rule's `when` holds for a variable that is set to `value`."""
    return all(PARTS[part](wanted, value, given, facts) for part, wanted in when.items())
