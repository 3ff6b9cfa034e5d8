"""A base image by digest: known from its registry, had from the engine, else pulled; its identity as a record."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from images import room
from images.canonical import Below
from images.devices import elsewhere
from images.endpoint import EngineError
from pins import host
from pins.progress import Progress, amount
from pins.references import parse
from pins.registry_places import mirrored
from schema.errors import KitError
from schema.stream import now

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from images.engine import Engine
    from pins.lock import Lock
    from pins.registry import RemoteImage
    from pins.registry_documents import Descriptor
    from pins.store import Store

#: A manifest of OCI names layers in OCI's words; Docker's older ones mean the same bytes.
MEDIA_TYPES = {
    "application/vnd.docker.image.rootfs.diff.tar": "application/vnd.oci.image.layer.v1.tar",
    "application/vnd.docker.image.rootfs.diff.tar.gzip": "application/vnd.oci.image.layer.v1.tar+gzip",
    "application/vnd.docker.image.rootfs.diff.tar.zstd": "application/vnd.oci.image.layer.v1.tar+zstd",
}
OVERRIDE = "HSA_OVERRIDE_GFX_VERSION"
PLATFORM = "linux/amd64"


@dataclass(frozen=True)
class Base:
    """A base that the engine has: what records say of it, its name there, its configuration, its layers."""

    record: dict[str, Any]
    image: str
    config: dict[str, Any] = field(repr=False)
    below: Below


def reference(wanted: dict[str, Any]) -> str:
    """Return the base of a lock as records name it: by digest, never by tag."""
    return f"{wanted['repo']}@{wanted['digest']}"


def found(lock: Lock, engine: Engine, store: Store, say: Progress, out: Path, *, alone: bool) -> Base:
    """Return the base of a lock, pulled where the engine does not have it.

    `alone` says that nothing comes on top: then a registry that does not answer is no hindrance where the engine has
    the image. Raises KitError, naming the digest, when no registry answers, when there is no room, and when the engine
    has another image than the registry under this digest.
    """
    wanted = lock.document["base"]
    if wanted["digest_kind"] == "config":
        return _in_engine(wanted, engine)
    remote = _remote(wanted, store, say, needed=not alone)
    there = next(((name, image) for name in _names(wanted, remote) if (image := engine.image(name))), None)
    name, image = there or _pulled(lock, engine, remote, say, out)
    _refuse_platform(name, image)
    if remote and image["diff_ids"] != remote.diff_ids:
        raise KitError(
            f"the engine has another image under {name} than its registry",
            "remove it from the engine (`docker rmi`), then run this again: it is pulled",
        )
    config = remote.config_document if remote else image
    _warn(config, say)
    return Base(
        {
            "reference": reference(wanted),
            "digest": wanted["digest"],
            "manifest_digest": remote.manifest.digest if remote else None,
            "config_digest": remote.config.digest if remote else _config_digest(engine, image, name),
            "diff_ids": image["diff_ids"],
        },
        name,
        config,
        _below(remote, image),
    )


def _below(remote: RemoteImage | None, image: dict[str, Any]) -> Below:
    if remote is None:
        return Below(image["diff_ids"], None, image["size"])
    return Below(remote.diff_ids, as_oci(remote.layers), sum(layer.size for layer in remote.layers))


def as_oci(layers: list[Descriptor]) -> list[Descriptor]:
    """Return a registry's layers as a manifest of OCI names them."""
    return [replace(layer, media_type=MEDIA_TYPES.get(layer.media_type, layer.media_type)) for layer in layers]


def _remote(wanted: dict[str, Any], store: Store, say: Progress, *, needed: bool) -> RemoteImage | None:
    """Return the base as its registry, or what the store remembers of that, describes it."""
    from pins import registry

    try:
        return registry.image(reference(wanted), store=store)
    except KitError as error:
        if needed:
            raise
        say.note(f"not asked of its registry: {error.message}")
        return None


def _in_engine(wanted: dict[str, Any], engine: Engine) -> Base:
    """Return a base that no registry is known to have: all that is known is what the engine tells."""
    digest = wanted["digest"]
    image = engine.image(digest)
    if image is None or engine.about()["storage"] == "containerd":
        why = "the engine has no image" if image is None else "this engine's containerd store knows images otherwise:"
        raise KitError(
            f"{why} {digest}, which {reference(wanted)} is by its id alone",
            "`docker load` an archive of it, or push it to a registry and name the digest that it has there",
        )
    _refuse_platform(digest, image)
    identity = {"reference": reference(wanted), "digest": digest, "manifest_digest": None, "config_digest": image["id"]}
    return Base(
        identity | {"diff_ids": image["diff_ids"]}, digest, image, Below(image["diff_ids"], None, image["size"])
    )


def _names(wanted: dict[str, Any], remote: RemoteImage | None) -> list[str]:
    """Return what an engine calls a base: by the mirror that KIT_SOURCE names, if one is, and by its own registry."""
    own = reference(wanted)
    mirror = mirrored(parse(own)) if remote else None
    return [str(mirror.at(remote.manifest.digest)), own] if mirror and remote else [own]


def _pulled(
    lock: Lock, engine: Engine, remote: RemoteImage | None, say: Progress, out: Path
) -> tuple[str, dict[str, Any]]:
    """Pull a base by the first of its names that somebody answers to; return that and the image."""
    (*mirrors, own), about = _names(lock.document["base"], remote), engine.about()
    if lock.torch_build == "rocm" and not elsewhere(about) and not host.look().has_amd_gpu:
        say.note("no AMD GPU here: the image can be built and looked at, not measured")
    needed = room.pulled_bytes(sum(layer.size for layer in remote.layers) if remote else None)
    say.note(f"pulling {(*mirrors, own)[0]}; it takes about {amount(needed, 'B')} in the engine")
    room.require(lock, about, out, base_bytes=needed)
    with Progress("pull", unit="B", then="the engine unpacks it", shown=say.shown) as progress:

        def follow(done: int, known: int) -> None:
            progress.total = known
            progress.advance(done - progress.done)

        for name in mirrors:
            with _said(say):
                return name, engine.pull(name, on_progress=follow)
        return own, engine.pull(own, on_progress=follow)


@contextmanager
def _said(say: Progress) -> Iterator[None]:
    """Go on with the next registry, having said why."""
    try:
        yield
    except EngineError as error:
        say.note(f"not from there: {error.message}")


def _config_digest(engine: Engine, image: dict[str, Any], name: str) -> str:
    if engine.about()["storage"] == "containerd":
        raise KitError(
            f"only its registry tells the configuration of {name}: this engine has the containerd image store",
            "reach the registry from here, or use an engine with the overlay2 store",
        )
    return str(image["id"])


def _refuse_platform(name: str, image: dict[str, Any]) -> None:
    if (seen := image.get("platform", PLATFORM)) != PLATFORM:
        raise KitError(f"{name} is for {seen}, and the lock for {PLATFORM}", "choose an image for this platform")


def _warn(config: dict[str, Any], say: Progress) -> None:
    """Say aloud what in a base's environment makes a GPU pass for another."""
    for variable in (config.get("config") or {}).get("Env") or []:
        if variable.startswith(OVERRIDE + "="):
            say.note(f"warning: the base sets {variable}: kernels for another GPU run, and may fault or be wrong")


def record(lock: Lock, engine: Engine, base: Base, *, seconds: float) -> dict[str, Any]:
    """Return the record of an image that is its base: nothing was added, so every identity is the base's own."""
    image = engine.require(base.image)
    return {
        "schema": "image-1",
        "name": lock.name,
        "reference": base.image,
        "channel": lock.channel,
        "lock_sha256": lock.sha256,
        "platform": PLATFORM,
        "image_id": base.record["config_digest"],
        "manifest_digest": base.record["manifest_digest"],
        "diff_ids": base.record["diff_ids"],
        "size_bytes": base.below.size_bytes,
        "engine_id": image["id"],
        "engine": engine_record(engine),
        "base": base.record,
        "built_at": now(),
        "build_seconds": round(seconds, 1),
        "built_twice": None,
    }


def engine_record(engine: Engine) -> dict[str, str]:
    """Return what an image record says about the engine."""
    about = engine.about()
    return {key: about[key] for key in ("name", "version", "storage")}
