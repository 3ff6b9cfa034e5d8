"""From a lock to its image in the engine: inputs fetched, what is there kept, what is not built."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from commands.chosen import OUT, Chosen
from commands.files import alone_in
from commands.program import say
from schema.errors import KitError

if TYPE_CHECKING:
    from images.engine import Engine
    from pins.lock import Lock
    from pins.store import Store


def engine_door() -> Engine:
    """Return the engine that answers, or say in one line what is missing."""
    from images.engine import connect

    return connect()


def fetched(lock: Lock) -> Store:
    """Have every input of the lock in the store, and return the store."""
    from pins.fetch import fetch
    from pins.store import Store

    store = Store()
    fetch(lock, store)
    return store


def image_kept(chosen: Chosen, engine: Engine) -> dict[str, Any] | None:
    """Return the image record if record, lock and the engine's image agree, and say where it comes from."""
    from images.build import kept, origin

    image = kept(chosen.lock, engine, chosen.out, tell=say)
    if image:
        say(f"image: kept ({origin(image)})")
    return image


def built(chosen: Chosen, engine: Engine) -> dict[str, Any]:
    """Return the image record; build only what is not there or no longer true."""
    from images.build import build

    return image_kept(chosen, engine) or build(chosen.lock, engine, fetched(chosen.lock), out=chosen.out)


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
    return builder.build(
        lock, engine_door(), fetched(lock), out=OUT / "rebuilt" / lock.name, force=True, suffix="-rebuilt"
    )


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
