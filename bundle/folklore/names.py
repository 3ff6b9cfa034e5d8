"""Environment variables by their names alone: those that nothing reads, and those that are nearly a real one's."""

from __future__ import annotations

import functools
import json
import re
from typing import TYPE_CHECKING

from bundle.folklore import rules
from schema import facts
from validate import variables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bundle.folklore.items import Setting, Text

#: Two real names often differ in one of these words.
SENSE = re.compile(r"\d+|MIN|MAX|ENABLE|ENABLED|DISABLE|DISABLED|LEVEL|MASK|FILE|PATH|SIZE|COPY|KERNEL")
CLOSEST = 2  # letters
SHORTEST = 8  # letters of a name that is compared


@functools.cache
def also_real() -> frozenset[str]:
    """Return names that programs read and that the facts do not describe."""
    document = json.loads((rules.FOLDER / "options.json").read_text(encoding="utf-8"))
    return frozenset(" ".join(document["variables"]).split())


@functools.cache
def _slips() -> list[list[str]]:
    found: list[list[str]] = json.loads((rules.FOLDER / "options.json").read_text(encoding="utf-8"))["slips"]
    return found


def told(item: Setting, text: Text) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the code and the words of what is wrong with a variable's name."""
    entry = variables.not_real().get(item.name)
    if entry:
        yield "variable-unread", {"name": item.name, "why": entry["finding"], "instead": entry["instead"]}
    elif item.how not in {"local", "named"} and (meant := near_miss(item.name)) and not _own(item.name, text.source):
        yield "variable-near-miss", {"name": item.name, "meant": meant}


def near_miss(name: str) -> str | None:
    """Return the real variable that a name is a slip of; None for real names, and for those that are near none."""
    if len(name) < SHORTEST or name in variables.known() or name in variables.HARMLESS | also_real():
        return None
    if not name.upper().startswith(tuple(prefix.upper() for prefix in variables.PREFIXES)):
        return None
    for pattern, real in _slips():
        if re.fullmatch(pattern, name):
            return real
    meant = variables.nearest(name)
    if meant is None or name.startswith(f"{meant}_"):
        return None
    if name in facts.load("env-vars")["typo_hints"]:
        return meant
    alike = all(SENSE.fullmatch(word) for word in {*name.split("_")} ^ {*meant.split("_")})
    return None if alike or distance(name, meant) > CLOSEST else meant


def _own(name: str, source: str) -> bool:
    """Tell whether the text reads the variable itself: then it is a name of its own."""
    return bool(
        re.search(
            rf"\$\{{?{name}\b|(?:getenv|environ\.get)\(['\"]{name}['\"]|environ\[['\"]{name}['\"]\](?!\s*=[^=])", source
        )
    )


def distance(one: str, other: str) -> int:
    """Return how many letters must be put in, left out, changed or swapped with their neighbour."""
    rows = [list(range(len(other) + 1))]
    for index, letter in enumerate(one, 1):
        row = [index]
        for column, counterpart in enumerate(other, 1):
            best = min(row[-1] + 1, rows[-1][column] + 1, rows[-1][column - 1] + (letter != counterpart))
            if index > 1 and column > 1 and letter == other[column - 2] and one[index - 2] == counterpart:
                best = min(best, rows[-2][column - 2] + 1)
            row.append(best)
        rows.append(row)
    return rows[-1][-1]
