"""Versions as lists of parts: 5.10 is not 5.1, and 10 comes after 7. Pure."""

from __future__ import annotations

import re


def parts(version: str) -> list[str]:
    """Return a version's parts: `6.2.41133-dd7f95766` is 6, 2, 41133, dd7f95766. An epoch is dropped."""
    return [part for part in re.split(r"[.+~_-]", version.split(":", 1)[-1].strip()) if part][:12]


def agrees(seen: str, expected: str) -> bool:
    """Tell whether `seen` is `expected`, or that version told in more detail (5.7.1-2 is 5.7.1)."""
    wanted = parts(expected)
    return bool(wanted) and parts(seen)[: len(wanted)] == wanted


def release(version: str) -> tuple[int, int] | None:
    """Return (major, minor); None when the text does not begin like a version."""
    found = re.match(r"^\D{0,12}(\d{1,4})\.(\d{1,4})", version.split(":", 1)[-1].strip())
    return (int(found[1]), int(found[2])) if found else None
