"""The locks that there are as a table: one row each, for programs and for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pins.choice import newness, unknown
from pins.compat import of_lock
from pins.progress import amount

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pins.lock import Lock

CHANNELS = ("amd", "wheel", "cuda", "debian", "adopted")  # the order in which people look for one
KNOWN = ("recorded", "corroborated", "verified")  # how well the least known of a lock's inputs is, from bad to good
COLUMNS = ("", "name", "ROCm", "PyTorch", "Python", "status", "support", "size", "gfx")
USED = "*"


def rows(locks: Iterable[Lock], used: str = "") -> list[dict[str, Any]]:
    """Return one row a lock, by channel and from new to old; `used` is the name of the one for this machine."""
    ordered = sorted(locks, key=newness, reverse=True)
    return [_row(lock, used) for lock in sorted(ordered, key=lambda lock: CHANNELS.index(lock.channel))]


def status(lock: Lock) -> str:
    """Return how the bytes of a lock are known.

    unresolved: some sha256 is not; recorded, corroborated, verified: as the least known of its base and wheels is;
    resolved: all were read in signed indexes or in the index itself.
    """
    if unknown(lock):
        return "unresolved"
    found = [item["status"] for item in (lock.base or {}, *lock.wheels) if "status" in item]
    return min(found, key=KNOWN.index, default="resolved")


def text(found: Sequence[dict[str, Any]]) -> str:
    """Return rows as an aligned table, with what must be known of some of them below."""
    shown = [COLUMNS, *map(_cells, found)]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in shown]
    lacking = [
        f"{row['name']} is refused by build: no sha256 for {', '.join(row['unknown'])}"
        for row in found
        if row["unknown"]
    ]
    return "\n".join([*lines, *([""] if lacking else []), *lacking])


def _row(lock: Lock, used: str) -> dict[str, Any]:
    sizes = [item["size"] for item in (*lock.debs, *lock.wheels)]
    return {
        "name": lock.name,
        "rocm": None if lock.rocm == "none" else lock.rocm,
        "channel": lock.channel,
        "pytorch": lock.document["torch"]["version"],
        "build": lock.torch_build,
        "python": lock.document["python"],
        "gfx": list(lock.gfx),
        "status": status(lock),
        "size": None if lock.base or None in sizes else sum(sizes),
        "support": of_lock(lock.document).verdict,
        "unknown": unknown(lock),
        "note": lock.document.get("notes", ""),
        "used_here": lock.name == used,
    }


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    """Return the cells of one line; of the targets after the first only the numbers."""
    return (
        USED if row["used_here"] else "",
        row["name"],
        row["rocm"] or "-",
        f"{row['pytorch']} {row['build']}",
        row["python"],
        row["status"],
        row["support"],
        amount(row["size"], "B") if row["size"] else "?",
        " ".join([*row["gfx"][:1], *(target.removeprefix("gfx") for target in row["gfx"][1:])]) or "-",
    )
