"""From a lock to its image in the engine: inputs fetched, what is there kept, what is not built."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from commands.chosen import OUT, Chosen
from commands.files import alone_in
from commands.program import say
from schema.errors import KitError

if TYPE_CHECKING:
    from pathlib import Path

    from images.engine import Engine
    from pins.lock import Lock
    from pins.store import Store


#: What `--runtime` may say where an engine is needed, and the one that it means; empty means any.
ENGINES = {"container": "", "docker": "docker", "podman": "podman"}


def engine_door(runtime: str = "container") -> Engine:
    """Return the engine that answers, of those that a runtime may mean, or say in one line what is missing."""
    from images.engine import connect

    if runtime not in ENGINES:
        raise KitError(f"there is no runtime {runtime!r} for this", f"--runtime, one of: {', '.join(ENGINES)}")
    return connect(engine=ENGINES[runtime])


def fetched(lock: Lock) -> Store:
    """Have every input of the lock in the store, and return the store."""
    from pins.fetch import fetch
    from pins.store import Store

    store = Store()
    fetch(lock, store)
    return store


def ingredients(lock: Lock, engine: Engine) -> Store:
    """Have every input of the lock in the store, for this engine to build from."""
    buildable(lock, engine)
    return fetched(lock)


def buildable(lock: Lock, engine: Engine) -> None:
    """Raise KitError where this engine must not build the lock's image.

    Podman's builder has the host's network, whatever its API is told. On a base nothing needs the builder.
    """
    if engine.about()["name"] == "podman" and not lock.base:
        raise KitError(
            f"{lock.name} is not built with Podman, whose builder does not stay off the network",
            f"build it with Docker, here or elsewhere, then: `docker save rocm-repro-kit:{lock.name} | podman load`",
        )


def image_kept(chosen: Chosen, engine: Engine) -> dict[str, Any] | None:
    """Return the image record if record, lock and the engine's image agree, and say where it comes from."""
    from images.build import kept, origin

    image = kept(chosen.lock, engine, chosen.out, tell=say)
    if image:
        say(f"image: kept ({origin(image)})")
    return image


def recorded(chosen: Chosen) -> dict[str, Any] | None:
    """Return the image record of the lock as it was made here, else as it is committed; no engine is asked."""
    from images import record
    from pins.paths import there

    path = chosen.out / record.NAME
    found = record.read(path) if there(path) else None
    return found if found and found["lock_sha256"] == chosen.lock.sha256 else record.committed(chosen.lock)


def measured_in(chosen: Chosen, *records: Path | None) -> dict[str, Any] | None:
    """Return the image record for records that were made elsewhere in the image of this lock; None for a host's."""
    from pins.paths import opened
    from schema.stream import MAX_LINE_BYTES, parse_line

    for path in filter(None, records):
        with suppress(OSError, UnicodeDecodeError, KitError), opened(path) as file:
            start = parse_line(file.readline(MAX_LINE_BYTES), 1)
            return recorded(chosen) if start.get("runtime") == "container" else None
    return None  # what is wrong with them is said by who seals them


def built(chosen: Chosen, engine: Engine) -> dict[str, Any]:
    """Return the image record; build only what is not there or no longer true."""
    from images.build import build

    return image_kept(chosen, engine) or build(chosen.lock, engine, ingredients(chosen.lock, engine), out=chosen.out)


def rebuilt(document: dict[str, Any], *, yes: bool) -> dict[str, Any]:
    """Build the image of a lock that came in a bundle; one that is not ours only when the user said yes."""
    from images import build as builder
    from pins.lock import from_document, load_all

    lock = from_document(document)
    if not yes and lock.sha256 not in {known.sha256 for known in load_all()}:
        say(builder.describe(builder.plan(lock)))
        raise KitError(
            f"the bundle's lock {lock.name} is not one of this checkout; building it runs its packages' scripts "
            "(in a container, without network)",
            "look at its inputs above, then add --yes",
        )
    engine, out = engine_door(), OUT / "rebuilt" / lock.name
    return builder.build(lock, engine, ingredients(lock, engine), out=out, force=True, suffix="-rebuilt")


def slimmed(chosen: Chosen, targets: str, *, write: bool) -> Chosen:
    """Return the choice of the slim lock, written among its own outputs so that other commands can be told of it."""
    from images import slim
    from pins.lock import LOCK_SUFFIX
    from pins.lock import write as write_lock

    lock = slim.slimmed(chosen.lock, targets)
    out = OUT / lock.name
    if write:
        path = out / f"{lock.name}{LOCK_SUFFIX}"
        out.mkdir(parents=True, exist_ok=True)
        with alone_in(out):
            write_lock(lock.document, path, f"Made from {chosen.lock.name} by `./kit build --slim {targets}`.")
        say(f"lock: {lock.name}; other commands take it with --lock {path}")
    return Chosen(lock, chosen.host, out)


def shipped(name: str) -> str | None:
    """Return the digest (L) of the kit's own lock of this name; None where it has none."""
    from pins.lock import load_all

    return next((lock.sha256 for lock in load_all() if lock.name == name), None)
