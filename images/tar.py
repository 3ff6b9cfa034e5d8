"""Read the headers of a tar, skipping its data. Names are bytes, as the kernel has them."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Iterator

BLOCK = 512
FILE, HARD_LINK, SYMLINK, CHARACTER, BLOCK_DEVICE, DIRECTORY, FIFO = b"0", b"1", b"2", b"3", b"4", b"5", b"6"
KINDS = frozenset({FILE, HARD_LINK, SYMLINK, CHARACTER, BLOCK_DEVICE, DIRECTORY, FIFO})
XATTR = b"SCHILY.xattr."

# What no honest archive exceeds; a hostile one must not make us run out of memory.
MAX_MEMBERS = 4_000_000
MAX_NAME_BYTES = 4096  # PATH_MAX
MAX_EXTENDED_BYTES = 1 << 20  # extended attributes of one file are 64 KiB each at most
MAX_DEVICE = 0o7777777  # what seven octal digits hold

_OCTAL = re.compile(rb"[0-7]*")
_SECONDS = re.compile(rb"(-?)([0-9]{1,18})(?:\.([0-9]*))?")
_DECIMAL = re.compile(rb"[0-9]{1,18}")


class Tar(NamedTuple):
    """A plain tar that lies in an open file, perhaps inside another archive."""

    fd: int
    offset: int
    size: int


class Member(NamedTuple):
    """One entry of a tar. `name` has no leading or trailing slash; the root itself is empty.

    `mtime` is in whole seconds, rounded down; `offset` is where the data begins in the file.
    """

    name: bytes
    kind: bytes = FILE
    mode: int = 0o644
    uid: int = 0
    gid: int = 0
    mtime: int = 0
    size: int = 0
    link: bytes = b""
    major: int = 0
    minor: int = 0
    xattrs: tuple[tuple[bytes, bytes], ...] = ()
    offset: int = 0


def scan(tar: Tar) -> Iterator[Member]:
    """Yield the members of a tar in order, reading only its headers.

    Raises KitError for what leaves the root or the archive, for broken headers, and for sparse files: no engine writes
    any.
    """
    position, end, count, told = tar.offset, tar.offset + tar.size, 0, 0
    extended: dict[bytes, bytes] = {}
    while position + BLOCK <= end:
        head = os.pread(tar.fd, BLOCK, position)
        if not head.strip(b"\0"):
            return
        _verify_checksum(head, position)
        kind, size = head[156:157], _number(head[124:136])
        data = position + BLOCK
        if kind in b"xgLK":
            told += size  # several may precede one member
            if size < 0 or told > MAX_EXTENDED_BYTES or data + size > end:
                raise KitError(f"the archive has a header of {size} bytes")
            if kind != b"g":  # a global header carries comments (git's commit), nothing about files
                extended |= _extended(kind, os.pread(tar.fd, size, data))
            position = data + _padded(size)
            continue
        member = _member(head, kind, size, data, extended)
        extended, told = {}, 0
        position = data + _padded(member.size)
        if position > end and data + member.size > end:
            raise KitError(f"the archive is cut off in {show(member.name)}")
        count += 1
        if count > MAX_MEMBERS:
            raise KitError(f"the archive has more than {MAX_MEMBERS} members")
        yield member
    if extended:
        raise KitError("the archive is cut off after an extended header")


def _member(head: bytes, kind: bytes, size: int, data: int, extended: dict[bytes, bytes]) -> Member:
    """Return the member that a header block and the extended headers before it describe."""
    kind = FILE if kind in {b"\0", b"7"} else kind
    name = extended.get(b"path") or _ustar_name(head)
    if kind not in KINDS or any(key.startswith(b"GNU.sparse.") for key in extended):
        raise KitError(f"the archive has {show(name)} in a form that no engine writes (type {kind!r})")
    if kind == FILE and name.endswith(b"/"):  # how tars of the seventies say directory
        kind = DIRECTORY
    name = clean(name)
    link = extended.get(b"linkpath") or _text(head[157:257])
    if kind == HARD_LINK:
        link = clean(link.lstrip(b"/"))
    size = _whole(extended.get(b"size"), size)
    device = kind in {CHARACTER, BLOCK_DEVICE}
    major, minor = (_number(head[329:337]), _number(head[337:345])) if device else (0, 0)
    if not (0 <= major <= MAX_DEVICE and 0 <= minor <= MAX_DEVICE):
        raise KitError(f"the archive has a device that Linux does not: {show(name)}")
    return Member(
        name=name,
        kind=kind,
        mode=_number(head[100:108]) & 0o7777,
        uid=_whole(extended.get(b"uid"), _number(head[108:116])),
        gid=_whole(extended.get(b"gid"), _number(head[116:124])),
        mtime=_seconds(extended[b"mtime"]) if b"mtime" in extended else _number(head[136:148]),
        size=size if kind == FILE else 0,
        link=link if kind in {HARD_LINK, SYMLINK} else b"",
        major=major,
        minor=minor,
        xattrs=tuple(sorted((key, value) for key, value in extended.items() if key.startswith(XATTR))),
        offset=data,
    )


def clean(name: bytes) -> bytes:
    """Return a path relative to the root without `.` and doubled slashes; KitError when it leaves the root."""
    parts = [part for part in name.split(b"/") if part not in {b"", b"."}]
    if name.startswith(b"/") or b".." in parts:
        raise KitError(f"the archive has a path that leaves its root: {show(name)}")
    if len(name) > MAX_NAME_BYTES:
        raise KitError(f"the archive has a path of {len(name)} bytes")
    return b"/".join(parts)


def show(name: bytes) -> str:
    """Return a path as text for messages and documents; bytes that are not UTF-8, or not for print, are escaped."""
    text = name.decode("utf-8", "backslashreplace")
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def _padded(size: int) -> int:
    return size + (-size % BLOCK)


def _extended(kind: bytes, data: bytes) -> dict[bytes, bytes]:
    """Return what a PAX header, or GNU's long name or long link, says about the member that follows."""
    if kind in b"LK":
        return {b"path" if kind == b"L" else b"linkpath": data.split(b"\0", 1)[0]}
    found: dict[bytes, bytes] = {}
    position = 0
    while position < len(data):
        digits, space, _ = data[position : position + 20].partition(b" ")
        length = int(digits) if space and _DECIMAL.fullmatch(digits) else 0
        record = data[position : position + length]
        key, equals, value = record[len(digits) + 1 : -1].partition(b"=")
        if not equals or len(record) < length or not record.endswith(b"\n"):
            raise KitError("the archive has a broken PAX header")
        found[key] = value
        position += length
    return found


def _verify_checksum(head: bytes, position: int) -> None:
    said = _text(head[148:156]).strip()
    if not _OCTAL.fullmatch(said) or sum(head) - sum(head[148:156]) + 8 * ord(" ") != int(said or b"0", 8):
        raise KitError(f"this is not a tar: broken header at byte {position}")


def _ustar_name(head: bytes) -> bytes:
    name = _text(head[:100])
    # GNU's own format (magic `ustar  `) keeps times where ustar has the prefix.
    return _text(head[345:500]) + b"/" + name if head[257:263] == b"ustar\0" and head[345] else name


def _text(field: bytes) -> bytes:
    return field.split(b"\0", 1)[0]


def _number(field: bytes) -> int:
    """Return a numeric field: octal digits, or GNU's base 256 (two's complement) where the first bit is set."""
    if field[0] & 0x80:
        value = int.from_bytes(field, "big") - (1 << 8 * len(field) - 1)
        half = 1 << 8 * len(field) - 2
        value = value - 2 * half if value >= half else value
        if abs(value) >= 1 << 62:
            raise KitError("the archive has a number that no file system holds")
        return value
    digits = _text(field).strip()
    if not _OCTAL.fullmatch(digits):
        raise KitError(f"the archive has a broken number: {field!r}")
    return int(digits, 8) if digits else 0


def _whole(text: bytes | None, otherwise: int) -> int:
    if text is None:
        value = otherwise
    elif _DECIMAL.fullmatch(text):
        value = int(text)
    else:
        raise KitError(f"the archive has a broken number: {text[:40]!r}")
    if value < 0:
        raise KitError(f"the archive has a negative number: {value}")
    return value


def _seconds(text: bytes) -> int:
    """Return PAX's decimal seconds rounded down: -1.5 becomes -2."""
    match = _SECONDS.fullmatch(text)
    if not match:
        raise KitError(f"the archive has a broken time: {text[:40]!r}")
    sign, whole, fraction = match.groups()
    value = -int(whole) if sign else int(whole)
    return value - 1 if sign and (fraction or b"").strip(b"0") else value
