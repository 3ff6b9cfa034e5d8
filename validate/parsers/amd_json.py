"""Find the JSON in what rocm-smi and amd-smi print, whatever else they print around it, also where it was cut off."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from validate.parsers.values import number

DEEPEST = 60  # levels; the tools have at most seven
EFFORT = 8  # how often, on the average, a character may be looked at in vain
TOKEN = re.compile(
    r'"(?P<text>[^"\\\n]*(?:\\.[^"\\\n]*)*)"?|(?P<bracket>[\[\]{}])|(?P<word>[-+.\w]{1,400})|[^\w"\[\]{}.+-]+',
    re.DOTALL,
)
OPENING = re.compile(r'\{(?=\s{0,200}["}])|\[(?=\s{0,200}[\[\]{"\d\-tfnNI])')
KEYS = re.compile(r'^[ \t\[{]{0,200}"[^"\n]{1,100}"[ \t]{0,8}:', re.MULTILINE)
BROKEN = "JSON cut off or broken: read as far as it goes"
WORTH = re.compile(r"true|false|null|[-+.\d]")
LITERALS = {"true": True, "false": False, "null": None}

__all__ = ["documents", "first", "found", "number"]


def documents(text: str) -> list[Any]:
    """Return every JSON object or list in the text, in order; warnings before, between and after are passed over."""
    return found(text)[0]


def found(text: str) -> tuple[list[Any], list[str]]:
    """Return the documents, and what is to be said of how they were found."""
    decoder, end, effort = _decoder(), 0, 0
    items: list[Any] = []
    rest: list[str] = []
    start = OPENING.search(text)
    while start and effort <= EFFORT * len(text) + 10_000:
        try:
            item, stop = decoder.raw_decode(text, start.start())
        except json.JSONDecodeError as problem:
            effort += problem.pos - start.start() + problem.pos // 100  # the error counts the lines before it
            start = OPENING.search(text, start.end())
            continue
        except (ValueError, RecursionError):
            return items, ["JSON nested too deep to be a tool's"]
        rest.append(text[end : start.start()])
        end = stop
        if item:
            items.append(item)
        start = OPENING.search(text, end)
    if any(KEYS.search(part) for part in [*rest, text[end:]]):
        key = KEYS.search(text)
        item = salvage(text[_opening(text, key.start() if key else 0) :])
        return [item] if item else [], [BROKEN]
    return items, []


def _opening(text: str, position: int) -> int:
    """Return where the brackets begin that stand right before a place, blanks between them."""
    while position and text[position - 1] in " \t\r\n[{":
        position -= 1
    return position


def _decoder() -> json.JSONDecoder:
    """Return a decoder that gives no infinities, and that takes linear time also over a number of a million digits."""
    return json.JSONDecoder(parse_int=_whole, parse_float=_real, parse_constant=lambda _: None)


def _whole(digits: str) -> int | None:
    return int(digits) if len(digits) < 25 else None


def _real(digits: str) -> float | None:
    value = float(digits) if len(digits) < 400 else math.inf
    return value if math.isfinite(value) else None


def salvage(text: str) -> Any:
    """Return what can be told of JSON that is cut off, has commas too many or `...` in it; one pass, no recursion.

    What begins in the middle is taken for the inside of an object; what is open at the end is closed there.
    """
    root: list[Any] = []
    stack: list[list[Any]] = [[root, None]]  # containers, each with the key that waits for its value
    if text.lstrip(" \t\n")[:1] == '"':
        stack.append([_put(stack[0], {}), None])
    skipped = 0
    for token in TOKEN.finditer(text):
        bracket = token["bracket"]
        if bracket in {"]", "}"}:
            if not skipped and len(stack) > 1:
                stack.pop()
            skipped = max(0, skipped - 1)
        elif bracket and (skipped or len(stack) >= DEEPEST):
            skipped += 1
        elif bracket:
            stack.append([_put(stack[-1], {} if bracket == "{" else []), None])
        elif not skipped and token["text"] is not None:
            _put(stack[-1], token["text"])
        elif not skipped and WORTH.match(token["word"] or ""):
            _put(stack[-1], _word(token["word"]))
    return root[0] if len(root) == 1 else root


def _put(frame: list[Any], value: Any) -> Any:
    """Put a value where it belongs: into a list, or into an object under the key before it, or as that key."""
    container, key = frame
    if isinstance(container, list):
        container.append(value)
    elif key is not None:
        container[key] = value
        frame[1] = None
    elif isinstance(value, str):
        frame[1] = value
    return value


def _word(text: str) -> Any:
    if text in LITERALS:
        return LITERALS[text]
    try:
        return _real(text) if any(mark in text for mark in ".eE") else _whole(text)
    except ValueError:  # "...", "-", "1.2.3"
        return None


def first(entry: dict[str, Any], *names: str) -> float | None:
    """Return the first of several keys that holds a number. Keys are compared without case: it changes by release."""
    lower = {str(key).lower(): value for key, value in entry.items()}
    for name in names:
        value = number(lower.get(name.lower()))
        if value is not None:
            return value
    return None
