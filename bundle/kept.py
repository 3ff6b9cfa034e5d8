"""Is what an earlier run left still true here, and whole? Then `reproduce` keeps it."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from bundle import archive, layout, reading, seal, streams, writing
from schema import documents, stream
from schema.errors import KitError
from schema.stream import now

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

#: Statuses after which a person has mended something and wants to see the run again.
NOT_KEPT = frozenset({"fail", "error", "invalid", "failed", "killed", "timeout"})
SAME_IMAGE = ("lock_sha256", "image_id", "manifest_digest", "diff_ids")
Records = list[dict[str, Any]]


def kept(
    report: Path,
    results: Path | None = None,
    *,
    image: dict[str, Any],
    lock: dict[str, Any],
    expected: dict[str, Any],
    suite: str = "",
    gpus: Collection[str] = (),
    tell: Callable[[str], None] = lambda _: None,
) -> Records | None:
    """Return the records in `results`, or in `report` without them; None when that run must be made again.

    They are kept when the run ended well, its `start` says what `expected` says (image_id, lock_sha256, cargo_sha256,
    backend; `host` in part), its devices are `gpus` (PCI addresses; none where unknown), the suite is `suite` (a part
    of one, or a case of a user's own, is `custom`), and they could be sealed: what holds in a bundle is asked of them
    too. `tell` hears why something is there and not kept.
    """
    path = results or report
    if not path.exists():
        return None
    try:
        with path.open(encoding="utf-8") as lines:
            records = list(stream.read(lines))
        if reason := _outdated(records, expected, suite, gpus):
            tell(reason)
            return None
        seal.assemble(seal.gather(report, results, image=image, lock=lock, case=None), created_at=now())
    except (OSError, UnicodeDecodeError) as error:
        tell(f"its records cannot be read: {error}")
        return None
    except KitError as error:
        tell(f"its records do not hold: {error.message}")
        return None
    return records


def _outdated(records: Records, expected: dict[str, Any], suite: str, gpus: Collection[str]) -> str:
    """Return why a whole run is not what is wanted now; nothing when it is."""
    start = records[0]
    if changed := [key for key, value in expected.items() if not _says(start.get(key), value)]:
        return f"it was made with another {changed[0]}"
    devices = {device.get("pci") for device in start["devices"]}
    if gpus and None not in devices and devices != set(gpus):
        return "it was of other GPUs"
    ran = (start.get("protocol") or {}).get("suite")
    if suite and ran != suite:
        return f"it was of the suite {ran}"
    bad = sorted({str(item.get("status")) for item in records} & NOT_KEPT)
    return f"it did not end well: {bad[0]}" if bad else ""


def holds(bundle: Path, report: Path, results: Path, *, image: dict[str, Any]) -> bool:
    """Say whether a bundle, verified already, and its archive were sealed from exactly these records of this image.

    The image may have been built again since: when, and how long it took, is no part of what it is.
    """
    try:
        files = reading.read(bundle)
        packed = io.BytesIO()
        archive.write(dict(files), packed)
        sealed = documents.parse_json(files[layout.IMAGE], layout.IMAGE)
        return (
            files[layout.REPORT] == report.read_bytes()
            and b"".join(streams.unpack(files[layout.SAMPLES])) == results.read_bytes()
            and packed.getvalue() == bundle.with_name(writing.ARCHIVE).read_bytes()
            and all(image[key] == sealed[key] for key in SAME_IMAGE)
        )
    except (OSError, KeyError, KitError):
        return False


def _says(seen: Any, expected: Any) -> bool:
    """Say whether a value is the expected one; of an object, whether it has all that is expected of it."""
    if isinstance(expected, dict):
        return isinstance(seen, dict) and all(_says(seen.get(key), value) for key, value in expected.items())
    return bool(seen == expected)
