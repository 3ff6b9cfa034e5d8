"""Read an image's archive, as any engine saves it, into its configuration and its layers as plain tars.

Forms met: `<id>/layer.tar` with manifest.json (Docker up to 24), an OCI layout with manifest.json (25 and newer), the
bare OCI layout, layers that are symlinks or hard links of others (Podman), layers plain or gzipped.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from images.tar import FILE, HARD_LINK, SYMLINK, Member, Tar, clean, scan
from images.tarwriter import write_all
from schema import documents
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAX_DOCUMENT_BYTES = 8 << 20
MAX_LAYERS = 500  # engines stop at 127
MAX_LAYER_BYTES = 256 << 30  # of one gzipped layer when unpacked; images of frameworks have 60 GB
PIECE_BYTES = 1 << 20
GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


@dataclass(frozen=True)
class Saved:
    """An image in an archive that is open: its configuration, and its layers, lowest first, with their digests."""

    config: dict[str, Any]
    layers: list[Tar]
    diff_ids: list[str]


@contextmanager
def opened(path: Path, *, skip: int = 0) -> Iterator[Saved]:
    """Open the archive of exactly one image; gzipped layers are unpacked beside it, into files without a name.

    The lowest `skip` layers are left out: the archive need not have them. Raises KitError when it is no such archive,
    or a gzipped layer is not what its digest says. Plain layers are not hashed: the engine wrote them just now, and
    what is made of them gets a digest of its own.
    """
    fds: list[int] = []
    try:
        fds.append(os.open(path, os.O_RDONLY))
        yield _Archive(fds[0], path.parent, fds).saved(skip)
    except OSError as error:
        raise KitError(f"cannot read {path.name}: {error.strerror}", "make room beside it") from error
    except KitError as error:
        raise KitError(error.message, error.hint or "build it again: ./kit build --force") from error
    finally:
        for fd in fds:
            os.close(fd)


class _Archive:
    """The table of contents of one archive."""

    def __init__(self, fd: int, folder: Path, fds: list[int]) -> None:
        self.fd = fd
        self.folder = folder
        self.fds = fds  # whoever opened us closes these
        self.members = {member.name: member for member in scan(Tar(fd, 0, os.fstat(fd).st_size))}

    def saved(self, skip: int) -> Saved:
        config_name, layer_names = self._from_manifest() if b"manifest.json" in self.members else self._from_index()
        config = _field(self._document(config_name), dict, "the image's configuration")
        rootfs = _field(config.get("rootfs"), dict, "rootfs")
        diff_ids = [_field(digest, str, "diff_ids") for digest in _field(rootfs.get("diff_ids"), list, "diff_ids")]
        if len(diff_ids) != len(layer_names) or len(diff_ids) > MAX_LAYERS:
            raise KitError(f"the archive has {len(layer_names)} layers and {len(diff_ids)} digests of layers")
        named = list(zip(layer_names, diff_ids, strict=True))[skip:]
        return Saved(config, [self._layer(name, digest) for name, digest in named], diff_ids[skip:])

    def _from_manifest(self) -> tuple[str, list[str]]:
        """Return the names of the configuration and the layers from Docker's manifest.json."""
        image = _only(self._document("manifest.json"), "images")
        names = _field(image.get("Layers"), list, "Layers")
        return _field(image.get("Config"), str, "Config"), [_field(name, str, "Layers") for name in names]

    def _from_index(self) -> tuple[str, list[str]]:
        """Return the same from an OCI layout's index.json."""
        index = _field(self._document("index.json"), dict, "index.json")
        manifest = self._document(_blob(_only(index.get("manifests"), "images")))
        manifest = _field(manifest, dict, "the image's manifest")
        layers = _field(manifest.get("layers"), list, "layers")
        return _blob(_field(manifest.get("config"), dict, "config")), [_blob(layer) for layer in layers]

    def _document(self, name: str) -> Any:
        member = self._file(name)
        if member.size > MAX_DOCUMENT_BYTES:
            raise KitError(f"{name} in the archive has {member.size} bytes")
        return documents.parse_json(os.pread(self.fd, member.size, member.offset), f"{name} in the archive")

    def _file(self, name: str) -> Member:
        """Return the member that holds a file's data, through symlinks and hard links."""
        path = clean(name.encode("utf-8", "surrogateescape"))
        for _ in range(40):  # as the kernel does
            member = self.members.get(path)
            if member is None:
                break
            if member.kind == FILE:
                return member
            if member.kind == SYMLINK:
                path = clean(os.path.normpath(os.path.join(os.path.dirname(path), member.link)))  # noqa: PTH118, PTH120 (bytes)
            elif member.kind == HARD_LINK:
                path = member.link
            else:
                break
        raise KitError(f"the archive has no file {name!r}", "save the image again")

    def _layer(self, name: str, digest: str) -> Tar:
        member = self._file(name)
        magic = os.pread(self.fd, 4, member.offset)
        if magic == ZSTD:
            raise KitError(f"layer {name} is compressed with zstd", "save the image from Docker, or with gzip layers")
        if magic[:2] != GZIP:
            return Tar(self.fd, member.offset, member.size)
        fd, nameless = tempfile.mkstemp(dir=self.folder)
        self.fds.append(fd)
        os.unlink(nameless)  # noqa: PTH108 (a name from mkstemp)
        unpacked = _gunzip(Tar(self.fd, member.offset, member.size), fd)
        if unpacked != digest:
            raise KitError(f"layer {name} is {unpacked}, and the image's configuration says {digest}")
        return Tar(fd, 0, os.fstat(fd).st_size)


def _gunzip(source: Tar, target: int) -> str:
    """Unpack gzip into the file `target` and return the digest of what came out."""
    unpacker = zlib.decompressobj(wbits=31)
    total, size = hashlib.sha256(), 0
    offset, end = source.offset, source.offset + source.size
    try:
        while offset < end or unpacker.unconsumed_tail or unpacker.unused_data:
            data = unpacker.unconsumed_tail
            if unpacker.eof:  # parallel gzip writes several streams one after the other
                data = unpacker.unused_data
                unpacker = zlib.decompressobj(wbits=31)
            if not data:
                data = os.pread(source.fd, min(PIECE_BYTES, end - offset), offset)
                offset += len(data)
                if not data:
                    break
            piece = unpacker.decompress(data, 4 * PIECE_BYTES)
            total.update(piece)
            write_all(target, piece)
            size += len(piece)
            if size > MAX_LAYER_BYTES:
                raise KitError(f"a layer unpacks to more than {MAX_LAYER_BYTES} bytes")
        rest = unpacker.flush()
        total.update(rest)
        write_all(target, rest)
    except zlib.error as error:
        raise KitError(f"a layer is not gzip: {error}") from error
    if not unpacker.eof:
        raise KitError("a gzipped layer is cut off")
    return "sha256:" + total.hexdigest()


def _only(value: Any, what: str) -> dict[str, Any]:
    items = _field(value, list, what)
    if len(items) != 1:
        raise KitError(f"the archive has {len(items)} {what}, not one")
    image: dict[str, Any] = _field(items[0], dict, what)
    return image


def _blob(descriptor: Any) -> str:
    digest: str = _field(_field(descriptor, dict, "a descriptor").get("digest"), str, "digest")
    return "blobs/" + digest.replace(":", "/", 1)


def _field(value: Any, kind: type[Any], what: str) -> Any:
    if not isinstance(value, kind):
        raise KitError(f"the archive is not an image's: {what} is not a {kind.__name__}")
    return value
