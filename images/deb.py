"""Open a .deb: an `ar` of three members, of which the last is a compressed tar of the package's files."""

from __future__ import annotations

import errno
import gzip
import importlib
import io
import lzma
import os
import tempfile
import zlib
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

from images.tar import Tar
from images.tarwriter import write_all
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAGIC = b"!<arch>\n"
HEADER_BYTES = 60
MAX_UNPACKED_BYTES = 1 << 30  # the packages that we unpack ourselves are a minimal system: 30 MB at most
PIECE_BYTES = 1 << 20
ODD = "use another lock: this package is not what it should be"


@contextmanager
def files(path: Path, folder: Path) -> Iterator[Tar]:
    """Yield the tar of a package's files, unpacked into a nameless file in `folder`.

    Raises KitError when it is broken, holds more than `MAX_UNPACKED_BYTES`, packed or not, or is compressed in a way
    that this Python cannot read. Who knows the package says which it is: the store calls files by their sha256.
    """
    with tempfile.TemporaryFile(dir=folder) as plain:
        try:
            with path.open("rb") as deb:
                name, data = _data(deb)
            with _unpacker(name, data) as packed:
                _unpack(packed, plain.fileno())
        except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:  # BadGzipFile is an OSError
            if isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT}:
                raise  # the disk's fault, for who works in that folder to say
            raise KitError(f"it cannot be unpacked: {error}", "fetch it again") from error
        yield Tar(plain.fileno(), 0, os.fstat(plain.fileno()).st_size)


def _data(deb: IO[bytes]) -> tuple[str, bytes]:
    """Return name and bytes of the member `data.tar.*`: the third, after the format's version and control.tar."""
    end = os.fstat(deb.fileno()).st_size
    if deb.read(len(MAGIC)) != MAGIC:
        raise KitError("this is not a .deb")
    for position in range(3):
        head = deb.read(HEADER_BYTES)
        if len(head) < HEADER_BYTES or head[58:] != b"`\n" or not head[48:58].strip().isdigit():
            break
        name, size = head[:16].decode("ascii", "replace").strip().rstrip("/"), int(head[48:58])
        start = deb.tell()
        if size > end - start:  # asked before anything is read: memory for all of it would be taken first
            break
        if position == 0 and (name != "debian-binary" or deb.read(2) != b"2."):
            raise KitError("the .deb has a format of its own")
        if position == 2 and name.startswith("data.tar"):
            _refuse_large(size)
            return name, deb.read(size)
        deb.seek(start + size + size % 2)  # members begin at even bytes
    raise KitError("the .deb is cut off or broken")


def _unpacker(name: str, data: bytes) -> Any:
    source = io.BytesIO(data)
    suffix = name.removeprefix("data.tar")
    if suffix == ".xz":
        return lzma.open(source)
    if suffix == ".gz":
        return gzip.open(source)
    if suffix == "":
        return source
    if suffix == ".zst":
        try:
            return importlib.import_module("compression.zstd").open(source)
        except ImportError as error:
            raise KitError("it is compressed with zstd, which Python reads from 3.14 on", "use Python 3.14") from error
    raise KitError(f"it is compressed as {suffix}, which is not known here")


def _unpack(packed: IO[bytes], target: int) -> None:
    size = 0
    while piece := packed.read(PIECE_BYTES):
        size += len(piece)
        _refuse_large(size)
        write_all(target, piece)


def _refuse_large(size: int) -> None:
    if size > MAX_UNPACKED_BYTES:
        raise KitError(f"it unpacks to more than {MAX_UNPACKED_BYTES} bytes")
