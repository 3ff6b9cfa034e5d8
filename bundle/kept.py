"""Is the record of an earlier run still true here? Then `reproduce` keeps it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bundle import layout, streams
from schema import documents, stream
from schema.errors import KitError

if TYPE_CHECKING:
    from pathlib import Path

#: Statuses after which a person has mended something and wants to see the run again.
NOT_KEPT = frozenset({"fail", "error", "invalid", "failed", "killed", "timeout"})
SAME_IMAGE = ("lock_sha256", "image_id", "manifest_digest", "diff_ids")


def kept(path: Path, expected: dict[str, Any], *, suite: str = "") -> list[dict[str, Any]] | None:
    """Return the records in `path`, or None when they must be made again.

    They are kept when the stream is whole, ended well, and its `start` says what `expected` says (image_id,
    lock_sha256, cargo_sha256, backend; `host` in part); with `suite`, also when that suite ran. A part of a suite, or a
    case of a user's own, calls its suite `custom`.
    """
    try:
        with path.open(encoding="utf-8") as lines:
            records = list(stream.read(lines))
    except (OSError, UnicodeDecodeError, KitError):
        return None
    start = records[0]
    if any(item.get("status") in NOT_KEPT for item in records):
        return None
    if not _says(start, expected):
        return None
    return records if not suite or (start.get("protocol") or {}).get("suite") == suite else None


def holds(bundle: Path, report: Path, results: Path, *, image: dict[str, Any]) -> bool:
    """Say whether a bundle, verified already, was sealed from exactly these records and of this very image.

    The image may have been built again since: when, and how long it took, is no part of what it is.
    """
    try:
        return (
            (bundle / layout.REPORT).read_bytes() == report.read_bytes()
            and b"".join(streams.unpack((bundle / layout.SAMPLES).read_bytes())) == results.read_bytes()
            and _says(image, {key: documents.read_json(bundle / layout.IMAGE)[key] for key in SAME_IMAGE})
        )
    except (OSError, KeyError, KitError):
        return False


def _says(document: dict[str, Any], expected: dict[str, Any]) -> bool:
    """Say whether a document holds all that is expected of it, in its parts too."""
    return all(
        _says(document.get(key) or {}, value) if isinstance(value, dict) else document.get(key) == value
        for key, value in expected.items()
    )
