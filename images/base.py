"""A base image by digest: had from the engine, else from its registry; its identity as a record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from images import room
from images.access import elsewhere
from pins import host
from pins.progress import Progress, amount
from schema.errors import KitError
from schema.stream import now

if TYPE_CHECKING:
    from pathlib import Path

    from images.engine import Engine
    from pins.lock import Lock


def reference(wanted: dict[str, Any]) -> str:
    """Return the base of a lock as an engine understands it: by digest, never by tag."""
    return f"{wanted['repo']}@{wanted['digest']}"


def pulled(lock: Lock, engine: Engine, say: Progress, out: Path) -> dict[str, Any]:
    """Return the base of a lock (`base` of schema image-1), pulled where the engine does not have it.

    Raises KitError, naming the digest, when no registry answers, or, before anything is pulled, where there is no room
    for it and on an engine that would not tell what it pulled.
    """
    wanted = lock.document["base"]
    name = reference(wanted)
    if engine.about()["storage"] == "containerd":
        raise KitError(
            f"the engine's containerd image store does not tell the configuration of {name}",
            "use an engine with the overlay2 store for images that are pulled",
        )
    image = engine.image(name)
    if image is None:
        _before_pull(lock, engine, say, out)
        say.note(f"pulling {name}")
        with Progress("pull", unit="B", then="the engine unpacks it", shown=say.shown) as progress:

            def follow(done: int, known: int) -> None:
                progress.total = known
                progress.advance(done - progress.done)

            image = engine.pull(name, on_progress=follow)
    return {
        "reference": name,
        "digest": wanted["digest"],
        "config_digest": image["id"],
        "diff_ids": image["diff_ids"],
    }


def _before_pull(lock: Lock, engine: Engine, say: Progress, out: Path) -> None:
    """Say what a pull takes and is good for on this machine; KitError where there is no room for it."""
    about = engine.about()
    if lock.torch_build == "rocm" and not elsewhere(about) and not host.look().has_amd_gpu:
        say.note("no AMD GPU here: the image can be built and looked at, not measured")
    say.note(f"the pull takes about {amount(room.BASE_BYTES, 'B')} in the engine")
    room.require(lock, about, out)


def record(lock: Lock, engine: Engine, below: dict[str, Any], *, seconds: float) -> dict[str, Any]:
    """Return the record of an image that is its base: nothing was added, so every identity is the base's own."""
    image = engine.require(below["reference"])
    return {
        "schema": "image-1",
        "name": lock.name,
        "reference": below["reference"],
        "channel": lock.channel,
        "lock_sha256": lock.sha256,
        "platform": "linux/amd64",
        "image_id": below["config_digest"],
        "manifest_digest": below["digest"],
        "diff_ids": below["diff_ids"],
        "size_bytes": image["size"],
        "engine_id": image["id"],
        "engine": engine_record(engine),
        "base": below,
        "built_at": now(),
        "build_seconds": round(seconds, 1),
        "built_twice": None,
    }


def engine_record(engine: Engine) -> dict[str, str]:
    """Return what an image record says about the engine."""
    about = engine.about()
    return {key: about[key] for key in ("name", "version", "storage")}
