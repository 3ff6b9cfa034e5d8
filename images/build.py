"""From a lock to its image in the engine: made once, recognised afterwards, made twice and compared on request."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from images import assemble, base, compare, record, workplace
from images.assemble import DOCKERFILE, Made
from images.plan import describe, plan
from images.record import answer, exit_code, kept
from pins.progress import Progress
from schema.errors import KitError
from schema.stream import now

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from images.engine import Engine
    from pins.lock import Lock
    from pins.store import Store

__all__ = ["DOCKERFILE", "answer", "build", "check", "describe", "exit_code", "kept", "plan"]


def build(
    lock: Lock,
    engine: Engine,
    store: Store,
    *,
    out: Path,
    force: bool = False,
    dockerfile: Path = DOCKERFILE,
    progress: bool = True,
) -> dict[str, Any]:
    """Return the record (schema image-1) of the lock's image; made only where `out` has none that holds, or by `force`.

    With another `dockerfile` the image is not the lock's: it is made under a name of its own, and no record is kept.
    Raises KitError when the lock is unresolved, an input is missing, a step fails, or the engine has another image.
    """
    own = dockerfile == DOCKERFILE
    say = Progress("build", shown=progress)
    with workplace.held(out, say.note):
        found = kept(lock, engine, out) if own and not force else None
        if found:
            return found
        with workplace.temporary(out) as folder:
            image, _ = _make(lock, engine, store, folder, dockerfile=dockerfile, say=say)
        if own:
            record.write(image, out / record.NAME)
        _warn(image, say)
        return image


def check(
    lock: Lock, engine: Engine, store: Store, *, out: Path, dockerfile: Path = DOCKERFILE, progress: bool = True
) -> dict[str, Any]:
    """Return the record with `built_twice`: a second build, in other surroundings, compared with the first.

    The second build has no record, no image and no layer of the first to lean on, another time, host name, folder and
    umask. The first is the recorded one where that holds. A base by digest is not built, so nothing is compared.
    """
    own = dockerfile == DOCKERFILE
    say = Progress("build", shown=progress)
    with workplace.held(out, say.note), workplace.temporary(out) as folder:
        image, first = (kept(lock, engine, out) if own else None), None
        if not image:
            image, first = _make(lock, engine, store, folder, dockerfile=dockerfile, say=say)
        if not assemble.needed(lock):
            return image
        with workplace.temporary(folder) as elsewhere, _umask(0o077):
            say.note("building a second time")
            second = assemble.assemble(lock, engine, store, elsewhere, dockerfile=dockerfile, again=True, say=say)
            differences: list[dict[str, str]] = []
            identical = _identity(second) == {key: image[key] for key in record.IDENTITY}
            if not identical:
                differences = compare.compare(first or _saved(engine, image, folder), second.archive)
        image = image | {"built_twice": {"identical": identical, "differences": differences}}
        if own:
            record.write(image, out / record.NAME)
        _warn(image, say)
        return image


def _make(
    lock: Lock, engine: Engine, store: Store, folder: Path, *, dockerfile: Path, say: Progress
) -> tuple[dict[str, Any], Path | None]:
    """Make the image, load it, and return its record and archive; no archive where the base is the image."""
    started = time.monotonic()
    below = base.pulled(lock.base, engine, say) if lock.base else None
    if below and not assemble.needed(lock):
        return base.record(lock, engine, below, seconds=time.monotonic() - started), None
    made = assemble.assemble(lock, engine, store, folder, dockerfile=dockerfile, say=say, below=below)
    reference = assemble.reference(lock, dockerfile)
    loaded = assemble.load(engine, made, reference, say)
    identity = made.identity
    if loaded["id"] not in {identity.image_id, identity.manifest_digest} or loaded["diff_ids"] != identity.diff_ids:
        raise KitError(f"the engine calls the image {loaded['id']}, and it is {identity.image_id}", "./kit doctor")
    image = {
        "schema": "image-1",
        "name": lock.name,
        "reference": reference,
        "channel": lock.channel,
        "lock_sha256": lock.sha256,
        "platform": "linux/amd64",
        **_identity(made),
        "engine_id": loaded["id"],
        "engine": base.engine_record(engine),
        "base": below,
        "built_at": now(),
        "build_seconds": round(time.monotonic() - started, 1),
        "built_twice": None,
    }
    return image, made.archive


def _identity(made: Made) -> dict[str, Any]:
    return {key: getattr(made.identity, key) for key in record.IDENTITY}


def _saved(engine: Engine, image: dict[str, Any], folder: Path) -> Path:
    """Return an archive of the image as the engine has it, to compare with."""
    path = folder / "kept.tar"
    for _ in engine.save(image["engine_id"], path):
        pass
    return path


def _warn(image: dict[str, Any], say: Progress) -> None:
    for found in record.unexpected(image):
        say.note(f"NOT the image committed in {found['path']}: {found['field']} {found['built']}")


@contextmanager
def _umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)
