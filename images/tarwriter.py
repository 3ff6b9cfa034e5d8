"""Write a tar header by header, hashing beside the writing.

The headers are ours alone, so that the bytes of a layer do not depend on the version of a library.
"""

from __future__ import annotations

import hashlib
import os
import queue
import threading
from typing import TYPE_CHECKING, final

from images.tar import BLOCK, DIRECTORY, Member
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

PIECE_BYTES = 1 << 20
PIECES_WAITING = 16  # bounds memory: a slow hash holds back the reading
END = bytes(2 * BLOCK)


@final
class TarWriter:
    """Write one tar into an open file at its current position; its digest is ready at the end.

    Hashing happens in a thread of its own (hashlib lets go of the interpreter lock), so it costs no time where there
    are two processors. Use as a context manager: the thread must end whatever happens.
    """

    def __init__(self, fd: int, advance: Callable[[int], None] | None = None) -> None:
        """`advance` is told how many more bytes were written."""
        self.fd = fd
        self.advance = advance
        self.size = 0
        self._waiting = bytearray()
        self._hash = hashlib.sha256()
        self._pieces: queue.Queue[bytes | None] = queue.Queue(PIECES_WAITING)
        self._thread = threading.Thread(target=self._hash_pieces, daemon=True)

    def __enter__(self) -> TarWriter:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._put(END)
            self._flush()
        self._pieces.put(None)
        self._thread.join()

    @property
    def digest(self) -> str:
        """Return sha256, in hex, of the whole tar; only after the `with` block."""
        return self._hash.hexdigest()

    def add(self, member: Member, content: bytes | None = None, source: int = -1) -> None:
        """Write a member with `content`, or with `member.size` bytes of the file `source` at `member.offset`."""
        self._put(header(member))
        if content is not None:
            self._put(content)
        else:
            self._copy(source, member.offset, member.size)
        self._put(bytes(-member.size % BLOCK))

    def _copy(self, source: int, offset: int, size: int) -> None:
        while size:
            piece = os.pread(source, min(size, PIECE_BYTES), offset)
            if not piece:
                raise KitError("a file became shorter while it was read", "run the command again")
            self._put(piece)
            offset += len(piece)
            size -= len(piece)

    def _put(self, data: bytes) -> None:
        self._waiting += data
        if len(self._waiting) >= PIECE_BYTES:
            self._flush()

    def _flush(self) -> None:
        piece, self._waiting = bytes(self._waiting), bytearray()
        self._pieces.put(piece)
        write_all(self.fd, piece)
        self.size += len(piece)
        if self.advance:
            self.advance(len(piece))

    def _hash_pieces(self) -> None:
        while (piece := self._pieces.get()) is not None:
            self._hash.update(piece)


def write_all(fd: int, data: bytes) -> None:
    """Write all of `data`: one write may stop short."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def header(member: Member) -> bytes:
    """Return the header blocks of a member: one, or three and more where PAX must say what ustar cannot.

    No user or group names, no times but `mtime`, extended attributes kept.
    """
    name = member.name + b"/" if member.kind == DIRECTORY else member.name
    records: list[tuple[bytes, bytes]] = []
    for key, value in ((b"path", name), (b"linkpath", member.link)):
        if len(value) > 100 or not value.isascii():
            records.append((key, value))
    numbers: dict[bytes, int] = {}
    for key, number, digits in (
        (b"uid", member.uid, 7),
        (b"gid", member.gid, 7),
        (b"size", member.size, 11),
        (b"mtime", member.mtime, 11),
    ):
        fits = 0 <= number < 8**digits
        numbers[key] = number if fits else 0
        if not fits:
            records.append((key, str(number).encode()))
    records += member.xattrs
    main = _block(
        member._replace(
            name=name[:100],
            link=member.link[:100],
            uid=numbers[b"uid"],
            gid=numbers[b"gid"],
            size=numbers[b"size"],
            mtime=numbers[b"mtime"],
        )
    )
    if not records:
        return main
    data = b"".join(_record(key, value) for key, value in sorted(records))
    before = _block(Member(b"././@PaxHeader", b"x", size=len(data)))
    return before + data + bytes(-len(data) % BLOCK) + main


def _block(member: Member) -> bytes:
    """Return one ustar block; every field must fit."""
    block = bytearray(BLOCK)

    def put(offset: int, value: bytes) -> None:
        block[offset : offset + len(value)] = value

    put(0, member.name)
    put(100, b"%07o" % member.mode)
    put(108, b"%07o" % member.uid)
    put(116, b"%07o" % member.gid)
    put(124, b"%011o" % member.size)
    put(136, b"%011o" % member.mtime)
    put(148, b" " * 8)
    put(156, member.kind)
    put(157, member.link)
    put(257, b"ustar\x0000")
    put(329, b"%07o" % member.major)
    put(337, b"%07o" % member.minor)
    put(148, b"%06o\0 " % sum(block))
    return bytes(block)


def _record(key: bytes, value: bytes) -> bytes:
    """Return one PAX record: its own length in decimal, a space, key=value, newline."""
    rest = len(key) + len(value) + 3
    length = rest + len(str(rest))
    length = rest + len(str(length))
    return b"%d %s=%s\n" % (length, key, value)
