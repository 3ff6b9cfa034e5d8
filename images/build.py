"""From a lock to its image in the engine: made once, recognised afterwards, made twice and compared on request."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from images import assemble, base, compare, leftovers, record, workplace
from images.assemble import DOCKERFILE, Job, Made
from images.plan import describe, plan, sizes
from images.record import answer, exit_code, origin
from pins.progress import Progress, amount
from schema.stream import now

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from images.engine import Engine
    from pins.lock import Lock
    from pins.store import Store

__all__ = ["DOCKERFILE", "answer", "build", "check", "describe", "exit_code", "kept", "origin", "plan"]


def kept(
    lock: Lock, engine: Engine, out: Path, *, tell: Callable[[str], None] = lambda _: None
) -> dict[str, Any] | None:
    """Return the record in `out` if it still holds, or of the committed image where the engine has that, else None.

    First goes what runs and builds left that were killed: a folder of a build in `out` is the sign of one.
    """
    engine.sweep()
    if workplace.left(out):
        with workplace.held(out, tell):
            leftovers.clear(engine, out)
    return record.kept(lock, engine, out, tell=tell) or record.adopted(lock, engine, out, tell=tell)


def build(
    lock: Lock,
    engine: Engine,
    store: Store,
    *,
    out: Path,
    force: bool = False,
    dockerfile: Path = DOCKERFILE,
    suffix: str = "",
    progress: bool = True,
) -> dict[str, Any]:
    """Return the record (schema image-1) of the lock's image; made only where `out` has none that holds, or by `force`.

    With another `dockerfile` the image is not the lock's: it is made under a name of its own, and no record is kept.
    A `suffix` to the image's name leaves that of our own lock, which may have the same, alone.
    Raises KitError when the lock is unresolved, an input is missing, a step fails, or the engine has another image.
    """
    job = Job(lock, engine, store, out, dockerfile, Progress("build", shown=progress), suffix)
    with workplace.held(out, job.say.note):
        if found := record.kept(lock, engine, out, tell=job.say.note) if job.own and not force else None:
            return found
        with workplace.temporary(out) as folder:
            image, _ = _make(job, folder)
        return _finish(job, image)


def check(
    lock: Lock, engine: Engine, store: Store, *, out: Path, dockerfile: Path = DOCKERFILE, progress: bool = True
) -> dict[str, Any]:
    """Return the record with `built_twice`: a second build, in other surroundings, compared with the first.

    The second build has no record, no image and no layer of the first to lean on, another time, host name, folder and
    umask. The first is the recorded one where that holds and was built here. A base by digest is not built, so nothing
    is compared.
    """
    job = Job(lock, engine, store, out, dockerfile, Progress("build", shown=progress))
    with workplace.held(out, job.say.note), workplace.temporary(out) as folder:
        image, first = (record.kept(lock, engine, out, tell=job.say.note) if job.own else None), None
        lost = image and image["base"] and job.builds and not (out / assemble.ARCHIVE).is_file()
        if not image or lost or record.as_committed(image):
            image, first = _make(job, folder)
        if not job.builds:
            return _finish(job, image)
        job.say.note("building a second time")
        with workplace.temporary(folder) as elsewhere, _umask(0o077):
            second = assemble.assemble(job, elsewhere, _base(job))
            identical = _identity(second) == {key: image[key] for key in record.IDENTITY}
            differences = [] if identical else _compare(job, image, first or _saved(job, image, folder), second)
        return _finish(job, image | {"built_twice": {"identical": identical, "differences": differences}})


def _make(job: Job, folder: Path) -> tuple[dict[str, Any], Path | None]:
    """Make the image, load it, and return its record and archive; no archive where the base is the image."""
    lock, engine, started = job.lock, job.engine, time.monotonic()
    below, kept = _base(job), job.out / assemble.ARCHIVE
    kept.unlink(missing_ok=True)
    if below and not job.builds:
        return base.record(lock, engine, below, seconds=time.monotonic() - started), None
    if not below:
        job.say.note(sizes(plan(lock, job.store, job.out)))
    made = assemble.assemble(job, folder, below)
    loaded = assemble.load(job, made)
    reference = _named_once(job, loaded)
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
        "base": below.record if below else None,
        "built_at": now(),
        "build_seconds": round(time.monotonic() - started, 1),
        "built_twice": None,
    }
    if made.slim:
        image["slim"] = made.slim
        count, saved = len(made.slim["dropped"]), amount(made.slim["saved_bytes"], "B")
        job.say.note(f"slim: {count} files for other GPUs left out, {saved} saved")
    # Saving an image on a base would export the base, too: what is ours is kept, to push it and to compare.
    return image, made.archive.replace(kept) if below else made.archive


def _base(job: Job) -> base.Base | None:
    """Return the lock's base, had or pulled; None where every byte comes from packages."""
    if not job.lock.base:
        return None
    return base.found(job.lock, job.engine, job.store, job.say, job.out, alone=not job.builds)


def _named_once(job: Job, loaded: dict[str, Any]) -> str:
    """Return the image's name, having taken one with a suffix away where the image has another already."""
    others = [tag for tag in loaded["tags"] if not tag.endswith(job.reference)]
    if not (job.suffix and others):
        return job.reference
    job.engine.remove(job.reference)
    return str(others[0])


def _finish(job: Job, image: dict[str, Any]) -> dict[str, Any]:
    """Keep the record, unless the recipe was another, and say aloud when the image is not the committed one."""
    if job.own:
        record.write(image, job.out / record.NAME)
        for found in record.unexpected(image):
            job.say.note(f"NOT the image committed in {found['path']}: {found['field']} {found['built']}")
    return image


def _identity(made: Made) -> dict[str, Any]:
    return {key: getattr(made.identity, key) for key in record.IDENTITY}


def _compare(job: Job, image: dict[str, Any], first: Path, second: Made) -> list[dict[str, str]]:
    job.say.note("the two builds differ: comparing file by file")
    skip = len(image["base"]["diff_ids"]) if image["base"] else 0
    with Progress("compare", unit="files", shown=job.say.shown) as compared:
        return compare.compare(first, second.archive, skip=skip, advance=compared.advance)


def _saved(job: Job, image: dict[str, Any], folder: Path) -> Path:
    """Return an archive of the image, to compare with: the one that was kept, else as the engine has it."""
    if image["base"]:
        return job.out / assemble.ARCHIVE
    path = folder / "kept.tar"
    assemble.save(job, image["engine_id"], path)
    return path


@contextmanager
def _umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)
