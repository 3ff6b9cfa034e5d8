"""Keep what verifying found, in the lists of a verdict."""

from __future__ import annotations

from typing import Any, NamedTuple

from bundle.format import visible
from schema import documents
from schema.errors import KitError

QUESTIONS = {
    "L0": "Is the bundle complete, unchanged and consistent, and does everything in it follow from its evidence?",
    "L1": "Does the lock build the recorded image again, bit for bit?",
    "L2": "Does validation find the same here?",
    "L3": "Are the numerical errors the same here?",
    "L4": "Is it as fast here?",
}
MAX_SHOWN = 300


class Disagreement(NamedTuple):
    """One thing that does not hold: what, as it was seen, as it was expected."""

    what: str
    seen: Any
    expected: Any


class Ledger:
    """What a bundle claims, what became of it in four lists, and the notes, of one verdict."""

    def __init__(self) -> None:
        self.claimed: list[str] = []
        self.confirmed: list[str] = []
        self.contradicted: list[dict[str, Any]] = []
        self.not_checked: list[dict[str, str]] = []
        self.unknown: list[dict[str, str]] = []
        self.notes: list[str] = []

    def contradict(self, what: str, seen: Any, expected: Any) -> None:
        """Say that something does not hold."""
        self.contradicted.append({"what": visible(what), "seen": shown(seen), "expected": shown(expected)})

    def equal(self, what: str, seen: Any, expected: Any, confirmed: str = "") -> bool:
        """Compare; confirm with the given words, or contradict."""
        if seen != expected:
            self.contradict(what, seen, expected)
        elif confirmed:
            self.confirmed.append(confirmed)
        return bool(seen == expected)

    def skip(self, what: str, reason: str) -> None:
        """Say what was not checked, and why."""
        self.not_checked.append({"what": visible(what), "reason": shown(reason)})

    def miss(self, what: str, reason: str) -> None:
        """Say what the bundle itself does not know, and why."""
        self.unknown.append({"what": visible(what), "reason": shown(reason)})

    def verdict(self, levels: dict[str, str], *, bundle_hash: str | None, gpu_result: bool | None) -> dict[str, Any]:
        """Return the verdict-1 document; `levels` has the verdict of each level that was gone into."""
        document = {
            "schema": "verdict-1",
            "bundle_hash": bundle_hash,
            "gpu_result": gpu_result,
            "verdict": "CONTRADICTED" if self.contradicted else "CONFIRMED",
            "levels": [
                {"level": level, "question": question, "verdict": levels.get(level, "NOT_CHECKED")}
                for level, question in QUESTIONS.items()
            ],
            "claimed": self.claimed,
            "confirmed": self.confirmed,
            "contradicted": self.contradicted,
            "not_checked": self.not_checked,
            "unknown": self.unknown,
            "notes": self.notes,
        }
        documents.check(document, "verdict-1", "the verdict")
        return document


def shown(value: Any) -> Any:
    """Return a value short enough to be read in a verdict; a stranger's text on one line, with nothing hidden in it."""
    if isinstance(value, KitError):
        value = value.message
    if isinstance(value, (bool, int, float)) or value is None:
        return value
    text = visible(str(value))
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}… ({len(text)} characters)"
