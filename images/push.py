"""Push a built image: the recorded manifest, byte for byte, and never what an engine would make of the image.

An engine's own push compresses the layers anew, and the digest becomes another. Here our layer goes as it was built,
the base's layers as their registry has them (mounted where it is the same one), and what is there is not sent.
"""

from __future__ import annotations

import hashlib
import tarfile
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from images import workplace
from images.assemble import ARCHIVE
from images.base import as_oci
from images.canonical import CONFIG, LAYER, manifest_of
from pins import registry
from pins.progress import Progress
from pins.references import HUB, parse
from pins.registry_documents import OCI_MANIFEST, Descriptor, digest
from pins.registry_layout import Layout
from pins.registry_places import Origin
from pins.registry_upload import Repository
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

    from images.engine import Engine
    from pins.registry import RemoteImage
    from pins.store import Store

PIECE_BYTES = 1 << 20
FOLDER = "oci:"
AGAIN = "./kit build --force, then push again"


@dataclass(frozen=True)
class Pushed:
    """What is in the registry or folder now. `bytes` are all that the image has, of which `sent_bytes` went from here.

    `pull` is the name by digest that never means anything else; of a folder, its path and the name in it.
    """

    pull: str
    tag: str
    manifest_digest: str
    image_id: str
    bytes: int
    sent_bytes: int
    mounted_bytes: int


def push(
    image: dict[str, Any], engine: Engine, where: str, *, out: Path, store: Store, progress: bool = True
) -> Pushed:
    """Have the image of a record (schema image-1) at `where`, HOST/REPOSITORY[:TAG] or oci:DIR; read it back.

    KitError when the image has no manifest, the engine has something else than the record says, or a registry fails:
    what arrived stays there, and the next push goes on after it.
    """
    name, target = _target(where, image["name"])
    base = _base(image, store)
    with target, workplace.temporary(out) as folder:
        with Progress("save", unit="B", shown=progress) as saved:
            # A build on a base keeps its archive; the engine's has all of the base in it, too, and takes longer.
            archives = [partial(_read, out / ARCHIVE, 0), partial(_saved, engine, image["engine_id"], saved.advance)]
            ours = _ours(image, base, target, folder, archives[0 if (out / ARCHIVE).is_file() else 1 :])
        manifest = _manifest(image, base, ours)
        blobs = [*(base.layers if base else []), *ours]
        whole = sum(blob.size for blob in blobs)
        with Progress("push", whole, unit="B", then="reading back", shown=progress) as shown:
            target.advance = shown.advance
            done = _put(target, base, ours, folder)
            target.put_manifest(manifest, OCI_MANIFEST, name)
            target.read_back(manifest, OCI_MANIFEST, name, blobs)
    return Pushed(
        f"{target.reference.at(digest(manifest))}" if isinstance(target, Repository) else f"{where}:{name}",
        name,
        image["manifest_digest"],
        image["image_id"],
        whole + len(manifest),
        target.sent_bytes,
        sum(blob.size for blob, how in done if how == "mounted"),
    )


def _target(where: str, name: str) -> tuple[str, Repository | Layout]:
    """Return where the image goes, and the name that it gets there."""
    if where.startswith(FOLDER) and not where.startswith(FOLDER + "//"):
        path = where.removeprefix(FOLDER)
        if not path:
            raise KitError(f"{where} names no folder", "write oci:DIR")
        return name, Layout(Path(path))
    reference = parse(where)
    if reference.registry == HUB and not where.startswith(f"{HUB}/"):
        raise KitError(f"{where} names no registry", f"write HOST/REPOSITORY:TAG; for Docker Hub {HUB}/NAME/REPOSITORY")
    if reference.digest:
        raise KitError(f"{where} names a digest, which follows from the image", "name a tag, or none")
    tag = reference.tag or name
    return tag, Repository(reference.tagged(tag))


def _base(image: dict[str, Any], store: Store) -> RemoteImage | None:
    """Return the base as its registry has it, None for an image without one; KitError where nothing is ours to push."""
    base = image["base"]
    if base is None:
        return None
    if base["config_digest"] == image["image_id"]:
        raise KitError(
            f"{image['name']} is its base, {base['reference']}, to which nothing was added",
            "./kit mirror oci://HOST/REPOSITORY keeps a copy of it",
        )
    if image["manifest_digest"] is None:
        raise KitError(
            f"no registry is known to have the base of {image['name']}, so the image has no manifest to push",
            "push the base itself, and lock the digest that it has there",
        )
    return registry.image(base["reference"], store=store)


def _ours(
    image: dict[str, Any],
    base: RemoteImage | None,
    target: Repository | Layout,
    folder: Path,
    archives: Iterable[Callable[[], Generator[bytes, None, None]]],
) -> list[Descriptor]:
    """Return our layer, if there is one, and the configuration; what the target lacks of them is in `folder` then."""
    layers = image["diff_ids"][len(base.layers) if base else 0 :]
    wanted = [*layers, image["image_id"]]
    sizes = {name: target.size(name) for name in wanted}
    for archive in archives:
        if missing := {name for name, size in sizes.items() if size is None}:
            with closing(archive()) as pieces:
                sizes |= extract(pieces, missing, folder)
    if lacking := [name for name, size in sizes.items() if size is None]:
        raise KitError(f"the engine's image does not have {', '.join(lacking)}, which the record says it has", AGAIN)
    kinds = [LAYER] * len(layers) + [CONFIG]
    return [Descriptor(kind, name, sizes[name] or 0) for kind, name in zip(kinds, wanted, strict=True)]


def _saved(engine: Engine, image: str, advance: Callable[[float], None]) -> Generator[bytes, None, None]:
    """Yield the engine's archive of an image; whoever has had enough closes it, and the engine stops."""
    for piece in engine.save(image):
        advance(len(piece))
        yield piece


def extract(pieces: Iterator[bytes], wanted: set[str], folder: Path) -> dict[str, int]:
    """Write the blobs `wanted` of an archive that comes in pieces into `folder`, under their digests; return sizes.

    An older engine does not tell which layer is which: each that might be wanted is written once, over the last one.
    """
    found: dict[str, int] = {}
    try:
        with tarfile.open(fileobj=cast("IO[bytes]", _Reader(pieces)), mode="r|") as archive:
            for member in archive:
                if member.isreg() and _may_be(member.name, wanted):
                    name, size = _spool(cast("IO[bytes]", archive.extractfile(member)), folder / "candidate")
                    if name in wanted:
                        (folder / "candidate").replace(folder / name)
                        found[name] = size
                if found.keys() == wanted:
                    break
    except tarfile.TarError as error:
        raise KitError(f"an archive of the image cannot be read: {error}", AGAIN) from error
    return found


def _may_be(name: str, wanted: set[str]) -> bool:
    """Say whether a member of an archive can be one of `wanted`: by its name, where engines give it the digest's."""
    return name.endswith("/layer.tar") or any(digest.removeprefix("sha256:") in name for digest in wanted)


def _spool(source: IO[bytes], path: Path) -> tuple[str, int]:
    total, size = hashlib.sha256(), 0
    with path.open("wb") as file:
        while piece := source.read(PIECE_BYTES):
            total.update(piece)
            size += file.write(piece)
    return f"sha256:{total.hexdigest()}", size


def _manifest(image: dict[str, Any], base: RemoteImage | None, ours: list[Descriptor]) -> bytes:
    """Return the manifest as it was recorded; KitError when it comes out otherwise."""
    *layers, config = ours
    data = manifest_of(config, [*as_oci(base.layers if base else []), *layers])
    if digest(data) != image["manifest_digest"]:
        raise KitError(f"the manifest of {image['name']} would be {digest(data)}, not the recorded one", AGAIN)
    return data


def _put(
    target: Repository | Layout, base: RemoteImage | None, ours: list[Descriptor], folder: Path
) -> list[tuple[Descriptor, str]]:
    """Have every blob in the target; return how each came there."""
    done = []
    if base:
        with closing(Origin(base.reference)) as origin:
            beside = origin.beside(target.reference.registry) if isinstance(target, Repository) else ""
            done += [
                (layer, target.put(layer, partial(origin.blob, layer.digest), mount=beside)) for layer in base.layers
            ]
    return done + [(blob, target.put(blob, partial(_read, folder / blob.digest))) for blob in ours]


def _read(path: Path, start: int) -> Generator[bytes, None, None]:
    with path.open("rb") as file:
        file.seek(start)
        while piece := file.read(PIECE_BYTES):
            yield piece


class _Reader:
    """What comes in pieces, as a file that tarfile reads front to back."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self.pieces, self.rest = pieces, b""

    def read(self, size: int) -> bytes:
        """Return as many bytes, fewer at the end alone."""
        held = [self.rest]
        had = len(self.rest)
        while had < size and (piece := next(self.pieces, b"")):
            held.append(piece)
            had += len(piece)
        data = b"".join(held)
        self.rest = data[size:]
        return data[:size]
