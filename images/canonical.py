"""Rewrite a saved image bit for bit: the same tree gives the same identity on every engine, at any time.

All layers above the base become one: merged, put into its normal form, compared with the base by content, sorted by
path, uncompressed (gzip bytes differ between implementations). What identifies an image is its configuration, so that
too is rebuilt from a white list.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from images import archive, layers, normal
from images.difference import Entry, difference
from images.tar import BLOCK, DIRECTORY, HARD_LINK, Member
from images.tarwriter import END, TarWriter, header, write_all
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

#: Keys of an image's configuration that are kept where they say something; others (Hostname, Image) differ per engine.
KEPT_CONFIG = (
    "Cmd", "Entrypoint", "Env", "ExposedPorts", "Labels", "StopSignal", "User", "Volumes", "WorkingDir",
)  # fmt: skip
STEP_LABEL = "rocm-repro-kit.building"  # marks what a build makes on its way
DROPPED_LABELS = frozenset({STEP_LABEL, "io.buildah.version"})
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar"


@dataclass(frozen=True)
class Identity:
    """What an image is; `size_bytes` is that of all layers as tar."""

    image_id: str
    manifest_digest: str
    diff_ids: list[str]
    size_bytes: int


@dataclass(frozen=True)
class Descriptor:
    """A blob by digest (`sha256:...`) and size."""

    digest: str
    size: int


def rewrite(
    saved: Path,
    target: Path,
    *,
    epoch: int,
    reference: str,
    base: Sequence[str] = (),
    advance: Callable[[int], None] | None = None,
) -> Identity:
    """Write the canonical archive of the image in `saved` to `target`.

    `base` are the diff ids that stay as they are, lowest first; `epoch` (seconds) is the latest time of any file;
    `reference` is the name under which an engine loads it (no part of the identity). The archive lacks the base's
    layers: the engine that loads it was built on them and has them.
    Raises KitError when the archive is broken, hostile, or does not stand on its base.
    """
    with archive.opened(saved) as image:
        count = len(base)
        if image.diff_ids[:count] != list(base):
            raise KitError("the saved image does not stand on its base", "build it again")
        below: layers.Tree = {}
        for layer in image.layers[:count]:
            layers.apply(below, layer)
        tree = dict(below)
        for layer in image.layers[count:]:
            layers.apply(tree, layer)
        entries = difference(normal.normalised(below, epoch), normal.normalised(tree, epoch), epoch)
        try:
            with target.open("wb") as file:
                return _Archive(file.fileno(), epoch, advance).write(image, entries, reference=reference, base=count)
        except OSError as error:
            raise KitError(f"cannot write {target}: {error.strerror}", "make room, then run it again") from error


class _Archive:
    """The archive that is being written: an OCI layout which Docker 20.10 takes for one of its own."""

    def __init__(self, fd: int, epoch: int, advance: Callable[[int], None] | None) -> None:
        self.fd = fd
        self.epoch = epoch
        self.advance = advance

    def write(self, image: archive.Saved, entries: list[Entry], *, reference: str, base: int) -> Identity:
        """Write our layer, configuration, manifest, and both tables of contents; return the identity."""
        blobs = [Descriptor(image.diff_ids[index], image.layers[index].size) for index in range(base)]
        if entries or not base:
            blobs.append(self._put_layer(entries))
        config = self._put_blob(_json(configuration(image.config, blobs, self.epoch)))
        manifest = self._put_blob(_json(_manifest(config, blobs)))
        self._put("oci-layout", b'{"imageLayoutVersion":"1.0.0"}')
        self._put("index.json", _json(_index(manifest, reference)))
        # Docker 20.10 knows no OCI layout, and newer ones take the tag from here.
        layer_names = [_blob_name(blob.digest) for blob in blobs]
        docker = {"Config": _blob_name(config.digest), "RepoTags": [reference], "Layers": layer_names}
        self._put("manifest.json", _json([docker]))
        write_all(self.fd, END)
        size = sum(blob.size for blob in blobs)
        return Identity(config.digest, manifest.digest, [blob.digest for blob in blobs], size)

    def _put_layer(self, entries: list[Entry]) -> Descriptor:
        """Write our layer. Its name is its digest, known only after its data: the header is written last."""
        start = os.lseek(self.fd, 0, os.SEEK_CUR)
        os.lseek(self.fd, BLOCK, os.SEEK_CUR)
        blob = write_layer(self.fd, entries, self.epoch, self.advance)
        os.pwrite(self.fd, self._header(_blob_name(blob.digest), blob.size), start)
        write_all(self.fd, bytes(-blob.size % BLOCK))
        return blob

    def _put_blob(self, data: bytes) -> Descriptor:
        blob = Descriptor("sha256:" + hashlib.sha256(data).hexdigest(), len(data))
        self._put(_blob_name(blob.digest), data)
        return blob

    def _put(self, name: str, data: bytes) -> None:
        write_all(self.fd, self._header(name, len(data)) + data + bytes(-len(data) % BLOCK))

    def _header(self, name: str, size: int) -> bytes:
        return header(Member(name.encode(), size=size, mtime=self.epoch))


def write_layer(fd: int, entries: list[Entry], epoch: int, advance: Callable[[int], None] | None = None) -> Descriptor:
    """Write the entries as one tar at the file's position; return its digest and size."""
    with TarWriter(fd, advance) as tar:
        for entry in entries:
            _add(tar, entry, epoch)
    return Descriptor("sha256:" + tar.digest, tar.size)


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


def configuration(config: dict[str, Any], blobs: Sequence[Descriptor], epoch: int) -> dict[str, Any]:
    """Return the image's configuration: platform, what a container needs, the layers, and times fixed by the epoch."""
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch))
    settings = config.get("config") or {}
    kept = {key: settings[key] for key in KEPT_CONFIG if settings.get(key)}
    if kept.get("WorkingDir") == "/":  # newer engines write the default down
        del kept["WorkingDir"]
    labels = {key: value for key, value in kept.pop("Labels", {}).items() if key not in DROPPED_LABELS}
    if labels:
        kept["Labels"] = labels
    return {
        "architecture": config.get("architecture", "amd64"),
        "config": kept,
        "created": created,
        "history": [{"created": created, "created_by": "rocm-repro-kit"} for _ in blobs],
        "os": config.get("os", "linux"),
        "rootfs": {"type": "layers", "diff_ids": [blob.digest for blob in blobs]},
    }


def _manifest(config: Descriptor, blobs: Sequence[Descriptor]) -> dict[str, Any]:
    return {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": {"mediaType": CONFIG, "digest": config.digest, "size": config.size},
        "layers": [{"mediaType": LAYER, "digest": blob.digest, "size": blob.size} for blob in blobs],
    }


def _index(manifest: Descriptor, reference: str) -> dict[str, Any]:
    name, _, tag = reference.rpartition(":")
    host = name.split("/")[0] if "/" in name else ""
    full = reference if "." in host or ":" in host else f"docker.io/{'' if host else 'library/'}{reference}"
    annotations = {"io.containerd.image.name": full, "org.opencontainers.image.ref.name": tag}
    entry = {"mediaType": MANIFEST, "digest": manifest.digest, "size": manifest.size, "annotations": annotations}
    return {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [entry]}


def _blob_name(digest: str) -> str:
    return "blobs/sha256/" + digest.removeprefix("sha256:")


def _json(document: Any) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
