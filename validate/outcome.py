"""Short ways to say what was judged."""

from __future__ import annotations

from typing import Any

from schema.records import FindingStatus, Outcome


def passed(code: str, seen: Any = None, expected: Any = None) -> Outcome:
    """It is as it should be."""
    return Outcome(code, FindingStatus.PASS, seen, expected)


def warn(code: str, reason: str, *, seen: Any = None, expected: Any = None, remedy: str | None = None) -> Outcome:
    """It works, but a reader of the figures must know this."""
    return Outcome(code, FindingStatus.WARN, seen, expected, reason, remedy)


def fail(code: str, reason: str, *, seen: Any = None, expected: Any = None, remedy: str | None = None) -> Outcome:
    """It is not as it should be."""
    return Outcome(code, FindingStatus.FAIL, seen, expected, reason, remedy)


def skip(code: str, reason: str, *, seen: Any = None) -> Outcome:
    """It does not apply here, or cannot be known here."""
    return Outcome(code, FindingStatus.SKIP, seen, None, reason)
