"""Rewrite a saved image bit for bit: the same tree gives the same identity on every engine, at any time.

All layers become one: merged, put into its normal form, sorted by path, uncompressed (gzip bytes differ between
implementations). On a base that is all that was added; the base's own layers are named as its registry has them, and
not read. What identifies an image is its configuration, so that too is rebuilt from a white list.
"""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from images import archive, layers, normal
from images.configuration import changed, configuration
from images.entries import Entry, entries
from images.tar import BLOCK, DIRECTORY, HARD_LINK, Member, Tar
from images.tarwriter import END, TarWriter, header, write_all
from pins.registry_documents import OCI_INDEX, OCI_MANIFEST, Descriptor
from pins.registry_documents import digest as digest_of
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar"


@dataclass(frozen=True)
class Identity:
    """What an image is; `size_bytes` is that of all layers as the manifest has them: ours are plain tars.

    There is no manifest where it is not known how a registry has the base's layers.
    """

    image_id: str
    manifest_digest: str | None
    diff_ids: list[str]
    size_bytes: int


@dataclass(frozen=True)
class Below:
    """The layers that an image stands on, lowest first: as tars, and as its registry has them (None: not known)."""

    diff_ids: list[str]
    layers: list[Descriptor] | None
    size_bytes: int


NOTHING = Below([], [], 0)


@dataclass(frozen=True)
class Addition:
    """What comes on top of an image: layers, variables, an environment of Python's; `sift` leaves some files out."""

    tars: Sequence[Tar] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    venv: str = ""
    sift: Callable[[layers.Tree], layers.Tree] = lambda tree: tree


def rewrite(
    saved: Path,
    target: Path,
    more: Addition | None = None,
    *,
    epoch: int,
    reference: str,
    advance: Callable[[int], None] | None = None,
) -> Identity:
    """Write the canonical archive of the image in `saved` to `target`.

    `epoch` (seconds) is the latest time of any file; `reference` is the name under which an engine loads it (no part of
    the identity). `more` comes on top.
    Raises KitError when the archive is broken or hostile.
    """
    more = more or Addition()
    with archive.opened(saved) as image:
        tree: layers.Tree = {}
        for layer in [*image.layers, *more.tars]:
            layers.apply(tree, layer)
        kept = entries(more.sift(normal.normalised(tree, epoch)))
        with _opened(target, epoch, reference, advance) as made:
            return made.write(changed(image.config, more.variables, more.venv), NOTHING, kept)


def above(
    target: Path,
    config: dict[str, Any],
    below: Below,
    more: Addition,
    *,
    epoch: int,
    reference: str,
    advance: Callable[[int], None] | None = None,
) -> Identity:
    """Write the archive of an image that stands on `below`, whose configuration is `config`, to `target`.

    It lacks the base's layers, which nobody reads: the engine that loads it was built on them and has them. What `more`
    adds is one layer, and none where it adds nothing to the files.
    """
    tree: layers.Tree = {}
    gone: set[bytes] = set()
    for layer in more.tars:
        layers.apply(tree, layer)
        gone |= layers.hidden(layer)
    hidden = (path for path in gone if not normal.left_out(path))
    kept = entries(more.sift(normal.normalised(tree, epoch)), hidden)
    with _opened(target, epoch, reference, advance) as made:
        return made.write(changed(config, more.variables, more.venv), below, kept)


@contextmanager
def _opened(target: Path, epoch: int, reference: str, advance: Callable[[int], None] | None) -> Iterator[_Archive]:
    try:
        with target.open("wb") as file:
            yield _Archive(file.fileno(), epoch, reference, advance)
    except OSError as error:
        raise KitError(f"cannot write {target}: {error.strerror}", "make room, then run it again") from error


class _Archive:
    """The archive that is being written: an OCI layout which Docker 20.10 takes for one of its own."""

    def __init__(self, fd: int, epoch: int, reference: str, advance: Callable[[int], None] | None) -> None:
        self.fd = fd
        self.epoch = epoch
        self.reference = reference
        self.advance = advance

    def write(self, config: dict[str, Any], below: Below, kept: list[Entry]) -> Identity:
        """Write our layer, configuration, manifest, and both tables of contents; return the identity."""
        ours = [self._put_layer(kept)] if kept or not below.diff_ids else []
        diff_ids = [*below.diff_ids, *(blob.digest for blob in ours)]
        described = self._put_blob(CONFIG, _json(configuration(config, diff_ids, self.epoch)))
        manifest = None
        if below.layers is not None:
            manifest = self._put_blob(OCI_MANIFEST, manifest_of(described, [*below.layers, *ours]))
            self._put("oci-layout", b'{"imageLayoutVersion":"1.0.0"}')
            self._put("index.json", _json(_index(manifest, self.reference)))
        # Docker 20.10 knows no OCI layout, and newer ones take the tag from here.
        layer_names = [_blob_name(digest) for digest in diff_ids]
        docker = {"Config": _blob_name(described.digest), "RepoTags": [self.reference], "Layers": layer_names}
        self._put("manifest.json", _json([docker]))
        write_all(self.fd, END)
        size = below.size_bytes + sum(blob.size for blob in ours)
        return Identity(described.digest, manifest.digest if manifest else None, diff_ids, size)

    def _put_layer(self, kept: list[Entry]) -> Descriptor:
        """Write our layer. Its name is its digest, known only after its data: the header is written last."""
        start = os.lseek(self.fd, 0, os.SEEK_CUR)
        os.lseek(self.fd, BLOCK, os.SEEK_CUR)
        blob = write_layer(self.fd, kept, self.epoch, self.advance)
        os.pwrite(self.fd, self._header(_blob_name(blob.digest), blob.size), start)
        write_all(self.fd, bytes(-blob.size % BLOCK))
        return blob

    def _put_blob(self, media_type: str, data: bytes) -> Descriptor:
        blob = Descriptor(media_type, digest_of(data), len(data))
        self._put(_blob_name(blob.digest), data)
        return blob

    def _put(self, name: str, data: bytes) -> None:
        write_all(self.fd, self._header(name, len(data)) + data + bytes(-len(data) % BLOCK))

    def _header(self, name: str, size: int) -> bytes:
        return header(Member(name.encode(), size=size, mtime=self.epoch))


def write_layer(fd: int, kept: list[Entry], epoch: int, advance: Callable[[int], None] | None = None) -> Descriptor:
    """Write the entries as one tar at the file's position; return its digest and size."""
    with TarWriter(fd, advance) as tar:
        for entry in kept:
            _add(tar, entry, epoch)
    return Descriptor(LAYER, "sha256:" + tar.digest, tar.size)


def _add(tar: TarWriter, entry: Entry, epoch: int) -> None:
    if entry.node is None:
        tar.add(Member(entry.path, mode=0, mtime=epoch))
        return
    member = entry.node.member
    # When a directory changed last depends on how an engine laid its layers out: overlay2 and containerd disagree.
    mtime = epoch if member.kind == DIRECTORY else min(member.mtime, epoch)
    member = member._replace(name=entry.path, mtime=mtime)
    if entry.link:
        tar.add(member._replace(kind=HARD_LINK, link=entry.link, size=0, xattrs=()))
    else:
        tar.add(member, entry.node.content, entry.node.fd)


def manifest_of(config: Descriptor, blobs: Sequence[Descriptor]) -> bytes:
    """Return the manifest of an image: its digest is what a registry calls it."""
    layers = [blob.document() for blob in blobs]
    return _json({"schemaVersion": 2, "mediaType": OCI_MANIFEST, "config": config.document(), "layers": layers})


def _index(manifest: Descriptor, reference: str) -> dict[str, Any]:
    name, _, tag = reference.rpartition(":")
    host = name.split("/")[0] if "/" in name else ""
    full = reference if "." in host or ":" in host else f"docker.io/{'' if host else 'library/'}{reference}"
    annotations = {"io.containerd.image.name": full, "org.opencontainers.image.ref.name": tag}
    entry = manifest.document() | {"annotations": annotations}
    return {"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": [entry]}


def _blob_name(digest: str) -> str:
    return "blobs/sha256/" + digest.removeprefix("sha256:")


def _json(document: Any) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
