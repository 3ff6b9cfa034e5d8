"""Copy the inputs of a lock into a repository of a registry, so that its image can be built from there alone.

Every file is a blob under its own sha256, which is how KIT_SOURCE=oci://... asks for it. What no manifest names a
registry may throw away, so each lock has one: an artifact whose configuration is the lock itself and whose parts are
its files, with the paths that they have in a folder (`oras pull` makes that folder of it).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any

from pins import registry
from pins.mirror import Mirrored
from pins.paths import opened
from pins.progress import Progress, amount
from pins.references import parse, repository
from pins.registry_documents import OCI_MANIFEST, Descriptor
from pins.registry_places import Origin
from pins.registry_upload import Repository, of_bytes
from pins.sources import Input, inputs
from pins.store import CHUNK
from schema import canon
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pins.lock import Lock
    from pins.registry import RemoteImage
    from pins.store import Store

THREADS = 4
LOCK = "application/vnd.rocm-repro-kit.lock.v1+json"
KINDS = {"deb": "application/vnd.debian.binary-package", "wheel": "application/zip"}
INDEX = "application/vnd.rocm-repro-kit.index.v1+json"  # as a part: an index, of whose images one alone is here
TITLE = "org.opencontainers.image.title"


def mirror(lock: Lock, store: Store, address: str, *, progress: bool = True) -> Mirrored:
    """Make `address`, oci://HOST/REPOSITORY, usable as KIT_SOURCE for this lock; what is there is left alone.

    The base image goes along, with its own manifest. All is read back. KitError when the store lacks an input, when
    nobody but an engine can have the base, and when a registry fails: what arrived stays for the next try.
    """
    where = repository(address)
    items = list({item.sha256: item for item in inputs(lock)}.values())
    for item in items:
        if not store.has(item.sha256):
            raise KitError(f"the store has no {item.name}", "./kit fetch")
    base = _base(lock, store)
    parts = [_described(item, store) for item in items]
    total = sum(part.size for part in (*parts, *(base.layers if base else [])))
    with Progress("mirror", total, unit="B", then="reading back", shown=progress) as shown:
        shown.note(f"{len(items)} files{' and a base image' if base else ''}, {amount(total, 'B')}, to be in {address}")
        with Repository(where, advance=shown.advance) as target:
            copied = _put_files(target, parts, store)
            if base:
                copied += _put_base(target, base, store)
            target.advance = lambda _: None  # the lock itself is none of its inputs
            _put_lock(target, lock, list(zip(items, parts, strict=True)), base, store)
    return Mirrored(len(items), total, copied)


def tag_of(lock: Lock) -> str:
    """Return the tag of a lock's artifact in a mirror: another lock of the same name does not take its place."""
    return f"{lock.name}-{lock.sha256[:12]}"


def _base(lock: Lock, store: Store) -> RemoteImage | None:
    wanted = lock.base
    if not wanted:
        return None
    if wanted["digest_kind"] == "config":
        raise KitError(
            f"the base of {lock.name} is known by its id in an engine, {wanted['digest']}, and no registry has it",
            "push it to a registry, and lock the digest that it has there",
        )
    return registry.image(parse(wanted["repo"]).at(wanted["digest"]), store=store)


def _described(item: Input, store: Store) -> Descriptor:
    return Descriptor(KINDS[item.kind], f"sha256:{item.sha256}", store.path(item.sha256).stat().st_size)


def _put_files(target: Repository, parts: list[Descriptor], store: Store) -> int:
    """Have every file in the repository; return the bytes sent."""

    def put(part: Descriptor) -> int:
        return part.size if target.put(part, partial(_stored, store, part.digest)) == "sent" else 0

    with ThreadPoolExecutor(THREADS) as pool:
        return sum(pool.map(put, parts))


def _put_base(target: Repository, base: RemoteImage, store: Store) -> int:
    """Have the base in the repository, under its own manifest, and under a tag so that it stays; return bytes sent."""
    copied = 0
    with closing(Origin(base.reference)) as origin:
        for blob in (*base.layers, base.config):
            how = target.put(blob, partial(origin.blob, blob.digest), mount=origin.beside(target.reference.registry))
            copied += blob.size if how == "sent" else 0
    tag = base.manifest.digest.replace(":", "-")
    data = b"".join(_stored(store, base.manifest.digest, 0))
    target.put_manifest(data, base.manifest.media_type, tag)
    target.read_back(data, base.manifest.media_type, tag, [*base.layers, base.config])
    return copied


def _put_lock(
    target: Repository, lock: Lock, files: list[tuple[Input, Descriptor]], base: RemoteImage | None, store: Store
) -> None:
    """Write the artifact that names every file of a lock, and read all of it back."""
    document = canon.dumps(lock.document)
    config = Descriptor(LOCK, f"sha256:{lock.sha256}", len(document))
    target.put(config, of_bytes(document))
    layers: list[dict[str, Any]] = [part.document() | {"annotations": {TITLE: item.path}} for item, part in files]
    if base and base.index:
        index = Descriptor(INDEX, base.index.digest, base.index.size)
        target.put(index, partial(_stored, store, index.digest))
        layers.append(index.document())
    manifest = canon.dumps(
        {"schemaVersion": 2, "mediaType": OCI_MANIFEST, "config": config.document(), "layers": layers}
    )
    target.put_manifest(manifest, OCI_MANIFEST, tag_of(lock))
    target.read_back(manifest, OCI_MANIFEST, tag_of(lock), [config, *(part for _, part in files)])


def _stored(store: Store, digest: str, start: int) -> Iterator[bytes]:
    with opened(store.path(digest.removeprefix("sha256:"))) as file:
        file.seek(start)
        while chunk := file.read(CHUNK):
            yield chunk
