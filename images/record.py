"""The image record: what a lock was built to, and whether that still holds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pins import paths
from pins.lock import PINS
from pins.store import replacing
from schema import documents
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from images.engine import Engine
    from pins.lock import Lock

NAME = "image.json"
#: What must be equal wherever the lock is built; engine, times and seconds may differ.
IDENTITY = ("image_id", "manifest_digest", "diff_ids", "size_bytes")


def kept(
    lock: Lock, engine: Engine, out: Path, *, pins: Path = PINS, tell: Callable[[str], None] = lambda _: None
) -> dict[str, Any] | None:
    """Return the record in the lock's folder `out` if it still holds, else None.

    It holds when it is of this very lock, agrees with the identity committed beside the lock, and the engine has
    exactly that image. That a second build once came out differently ends it, too, and `tell` is told.
    """
    try:
        image = read(out / NAME)
    except KitError:
        return None
    if image["lock_sha256"] != lock.sha256 or unexpected(image, pins):
        return None
    found = engine.image(image["engine_id"])
    if found is None or found["id"] != image["engine_id"] or found["diff_ids"] != image["diff_ids"]:
        return None
    if not _built_alike(image):
        tell(f"built twice on {image['built_at']}, it came out differently: building it again")
        return None
    return image


def adopted(
    lock: Lock, engine: Engine, out: Path, *, pins: Path = PINS, tell: Callable[[str], None] = lambda _: None
) -> dict[str, Any] | None:
    """Return the committed record as that of `out`, where the engine has that very image, else None.

    An image is what its digests say, whoever built it. Engine and times in the record are those of the build that was
    committed; that it was built twice is not claimed.
    """
    image = _in_engine(lock, engine, pins)
    if image:
        write(image, out / NAME)
        tell(f"the engine has the very image committed in {lock.name}.image.json: nothing is built")
    return image


def there(lock: Lock, engine: Engine, out: Path, *, pins: Path = PINS) -> dict[str, Any] | None:
    """Return the record that a build would keep or adopt; nothing is written."""
    return kept(lock, engine, out, pins=pins) or _in_engine(lock, engine, pins)


def origin(image: dict[str, Any], pins: Path = PINS) -> str:
    """Say where an image comes from: a build here, whenever that was, or the engine, which somebody else gave it."""
    if as_committed(image, pins):
        return "as committed with the kit, not built here"
    itself = image["base"] and image["base"]["config_digest"] == image["image_id"]
    return f"{'its base itself, found' if itself else 'built'} {image['built_at']}"


def as_committed(image: dict[str, Any], pins: Path = PINS) -> bool:
    """Say whether a record is of the committed build, and not of one made here."""
    known = _committed(image["name"], image["lock_sha256"], pins)
    return known is not None and known["built_at"] == image["built_at"]


def _in_engine(lock: Lock, engine: Engine, pins: Path) -> dict[str, Any] | None:
    """Return the committed record, with the name and id that the image has in this engine, if it is there."""
    known = committed(lock, pins)
    if not known:
        return None
    ids = {known["image_id"], known["manifest_digest"]}
    found = engine.image(known["image_id"]) or engine.image(known["manifest_digest"])
    if not found or found["id"] not in ids or found["diff_ids"] != known["diff_ids"] or not found["tags"]:
        return None
    reference = known["reference"] if known["reference"] in found["tags"] else found["tags"][0]
    return known | {"engine_id": found["id"], "reference": reference, "built_twice": None}


def committed(lock: Lock, pins: Path = PINS) -> dict[str, Any] | None:
    """Return the record committed beside the lock, where it is of this very lock.

    An identity of another lock says nothing: that lock has changed, and its identity is still to be committed.
    """
    return _committed(lock.name, lock.sha256, pins)


def _committed(name: str, lock_sha256: str, pins: Path) -> dict[str, Any] | None:
    path = pins / f"{name}.image.json"
    found = read(path) if paths.there(path) else None
    return found if found and found["lock_sha256"] == lock_sha256 else None


def read(path: Path) -> dict[str, Any]:
    """Return the image record in a file; KitError unless it is one."""
    image: dict[str, Any] = documents.read_json(path)
    documents.check(image, "image-1", str(path))
    return image


def write(image: dict[str, Any], path: Path) -> None:
    """Write a record: whole or not at all, whatever happens meanwhile."""
    documents.check(image, "image-1", "the image record")
    data = json.dumps(image, indent=2, ensure_ascii=False).encode() + b"\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as part:
            part.write(data)
    except OSError as error:
        raise KitError(f"cannot write {path}: {error.strerror}", "make room there, then run it again") from error


def unexpected(image: dict[str, Any], pins: Path = PINS) -> list[dict[str, str]]:
    """Return in what an image differs from the identity committed beside its lock; nothing where none is committed."""
    expected = _committed(image["name"], image["lock_sha256"], pins) or image
    return [
        {
            "path": f"{image['name']}.image.json",
            "field": key,
            "committed": str(expected[key]),
            "built": str(image[key]),
        }
        for key in IDENTITY
        if expected[key] != image[key]
    ]


def answer(image: dict[str, Any], *, built: bool) -> dict[str, Any]:
    """Return what `build --json` promises to scripts; `unexpected` only where the committed identity differs.

    `built` says whether this call built anything, or kept what was there.
    """
    keys = ("image_id", "engine_id", "manifest_digest", "diff_ids", "lock_sha256", "channel")
    found = {key: image[key] for key in keys} | {"built": built}
    found |= image["built_twice"] or {}
    if "slim" in image:
        found["slim"] = image["slim"]
    if surprise := unexpected(image):
        found["unexpected"] = surprise
    return found


def exit_code(image: dict[str, Any]) -> int:
    """Return 1 when two builds differ, or the image is not the committed one; else 0."""
    return int(not _built_alike(image) or bool(unexpected(image)))


def _built_alike(image: dict[str, Any]) -> bool:
    """Say whether no second build came out differently."""
    return image["built_twice"] is None or image["built_twice"]["identical"]
