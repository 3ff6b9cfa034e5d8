"""The one form of `bundle.tar`: equal files give equal bytes, and no other form is read.

USTAR, regular files alone, sorted, under `bundle/`; mode 0644, owner 0, time 0; two zero blocks at the end. The reader
writes each header again and compares: a link, a device, a path that leaves, a name twice, or one changed bit of
metadata cannot pass, and no general tar parser is trusted with a stranger's archive.
"""

from __future__ import annotations

import tarfile
from typing import TYPE_CHECKING

from bundle import layout
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO

FOLDER = "bundle/"
BLOCK = 512
END = bytes(2 * BLOCK)
_KINDS = {b"1": "a hard link", b"2": "a link", b"3": "a device", b"4": "a device", b"5": "a folder", b"6": "a fifo"}
_HINT = "take the archive that the kit wrote, or verify the folder"


def write(files: dict[str, bytes], out: BinaryIO) -> None:
    """Write the archive of these files."""
    for path in sorted(files):
        content = files[path]
        out.write(header(path, len(content)))
        out.write(content)
        out.write(bytes(-len(content) % BLOCK))
    out.write(END)


def header(path: str, size: int) -> bytes:
    """Return the header of one file; KitError when the path cannot be said in USTAR."""
    entry = tarfile.TarInfo(FOLDER + path)
    entry.size, entry.mode, entry.mtime = size, 0o644, 0
    try:
        return entry.tobuf(tarfile.USTAR_FORMAT, "ascii", "strict")
    except ValueError as error:  # UnicodeEncodeError is one
        raise KitError(f"{path!r} does not fit into an archive: {error}") from error


def read(stream: BinaryIO, take: Callable[[str, int], None]) -> Iterator[tuple[str, bytes]]:
    """Yield path and content of each file, nothing extracted; KitError for any archive that we did not write.

    `take(path, size)` is asked before the bytes are read, and raises when there is no room for them.
    """
    last = ""
    while True:
        head = stream.read(BLOCK)
        if head == END[:BLOCK]:
            break
        path, size = _entry(head)
        if path <= last:
            raise KitError(f"the archive has {path!r} twice or out of order", _HINT)
        last = path
        take(path, size)
        content = stream.read(size)
        padding = stream.read(-size % BLOCK)
        if len(content) != size or len(padding) != -size % BLOCK:
            raise KitError(f"the archive ends in the middle of {path}", "fetch it again")
        if padding.strip(b"\0"):
            raise KitError(f"the archive has bytes after the end of {path}", _HINT)
        yield path, content
    if stream.read(BLOCK + 1) != END[BLOCK:]:
        raise KitError("the archive does not end where its end says", _HINT)


def begins(head: bytes) -> bool:
    """Tell whether an archive that begins with these bytes, a block of them or fewer, can be one that we wrote."""
    try:
        return not head or (len(head) < BLOCK and head.startswith(FOLDER.encode())) or bool(_entry(head))
    except KitError:
        return False


def _entry(head: bytes) -> tuple[str, int]:
    """Return path and size from a header that is exactly ours."""
    if len(head) != BLOCK:
        raise KitError("the archive is cut off", "fetch it again")
    name = _text(head[345:500]) + "/" + _text(head[0:100]) if head[345] else _text(head[0:100])
    if head[156:157] in _KINDS:
        raise KitError(f"the archive holds {_KINDS[head[156:157]]}: {name!r}", _HINT)
    path = name.removeprefix(FOLDER)
    if not name.startswith(FOLDER) or not layout.fits(path):
        raise KitError(f"the archive holds a path that does not belong into a bundle: {name!r}", _HINT)
    digits = head[124:135]
    if head[156:157] != b"0" or not digits.isdigit() or head != header(path, size := int(digits, 8)):
        raise KitError(f"the archive is not in the form that the kit writes: {name!r}", _HINT)
    return path, size


def _text(field: bytes) -> str:
    return field.split(b"\0", 1)[0].decode("ascii", "backslashreplace")
