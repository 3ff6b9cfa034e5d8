"""Is the record of an earlier run still true here? Then `reproduce` keeps it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from schema import stream
from schema.errors import KitError

if TYPE_CHECKING:
    from pathlib import Path

#: Statuses after which a person has mended something and wants to see the run again.
NOT_KEPT = frozenset({"fail", "error", "invalid", "failed", "killed", "timeout"})


def kept(path: Path, expected: dict[str, Any], *, suite: str = "") -> str | None:
    """Return when the stream at `path` was recorded, or None when it must be made again.

    It is kept when it is whole, ended well, and its `start` says what `expected` says (image_id, lock_sha256,
    cargo_sha256, backend); with `suite`, also when it ran that suite and no case of a user's own.
    """
    try:
        with path.open(encoding="utf-8") as lines:
            start: dict[str, Any] = {}
            for item in stream.read(lines):
                start = start or item
                if item.get("status") in NOT_KEPT:
                    return None
    except (OSError, UnicodeDecodeError, KitError):
        return None
    if any(start.get(key) != value for key, value in expected.items()):
        return None
    protocol = start.get("protocol") or {}
    if suite and (protocol.get("suite") != suite or any("file_sha256" in case for case in protocol.get("cases", []))):
        return None
    when: str = start["started_at"]
    return when
