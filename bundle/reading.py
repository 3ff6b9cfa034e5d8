"""Read a stranger's bundle, a folder or an archive, into memory, within bounds, once.

What is hashed is what was read. Nothing is extracted or followed: a link, a device or a fifo anywhere is refused.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, BinaryIO

from bundle import archive, layout
from schema.errors import KitError

if TYPE_CHECKING:
    from pathlib import Path

WANTED = "give the folder or the .tar of a bundle"
#: A fifo must not block us, and what was a file a moment ago must not be a link now.
FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def read(path: Path) -> dict[str, bytes]:
    """Return the content of every file by its path, nothing for an empty folder, whose path ends in a slash.

    KitError when it cannot be read, or is no place for a bundle.
    """
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            if not os.path.lexists(path / layout.MANIFEST):
                raise _no_bundle(path)  # before anything that a folder of another kind may hold is said to be wrong
            files = _folder(path)
        elif stat.S_ISREG(mode):
            with path.open("rb") as stream:
                files = _archive(stream, path)
        else:
            raise KitError(f"{path} is neither a folder nor an archive")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise KitError(f"cannot read {path}: {reason}", WANTED) from error
    except KitError as error:
        raise KitError(error.message, error.hint or WANTED) from error
    if layout.MANIFEST not in files:
        raise _no_bundle(path)
    return files


def regular(path: Path) -> BinaryIO:
    """Open a regular file, by a link to it, too; KitError for anything else, which could block us or have no end."""
    handle = os.open(path, FLAGS & ~os.O_NOFOLLOW)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise KitError(f"{path} is not a regular file", "write it to a file first, and give that")
    return os.fdopen(handle, "rb")


def content(path: Path, most: int) -> bytes:
    """Return what a regular file holds; KitError when that is more than `most` bytes."""
    with regular(path) as stream:
        data = stream.read(most + 1)
    if len(data) > most:
        raise KitError(f"{path} is larger than {most} bytes", "give the file that the run wrote")
    return data


def _no_bundle(path: Path) -> KitError:
    return KitError(f"{path} is not a bundle: it has no {layout.MANIFEST}", WANTED)


def _archive(stream: BinaryIO, path: Path) -> dict[str, bytes]:
    head = stream.read(512)
    if head.startswith((b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd", b"PK")):
        raise KitError(f"{path} is compressed", "give the .tar as the kit wrote it")
    if head[257:262] != b"ustar":
        raise KitError(f"{path} is neither a folder nor a .tar archive", WANTED)
    stream.seek(0)
    return dict(archive.read(stream, Room().take))


def _folder(root: Path) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    room = Room()
    pending = [(os.open(root, FLAGS & ~os.O_NOFOLLOW | os.O_DIRECTORY), "")]
    try:
        while pending:
            folder, prefix = pending.pop()
            try:
                names = sorted(os.listdir(folder))  # noqa: PTH208 - of a descriptor, which Path cannot list
                if not names and prefix:
                    files[prefix] = b""
                for name in names:
                    path = prefix + name
                    handle = _open(folder, name, path)
                    if isinstance(handle, int):
                        if path.count("/") >= layout.MAX_FOLDERS:
                            os.close(handle)
                            raise KitError(f"{path!r} lies too deep for a bundle")
                        pending.append((handle, f"{path}/"))
                        room.enter(path)
                    else:
                        with handle:
                            files[path] = _content(handle, path, room)
            finally:
                os.close(folder)
    finally:
        for folder, _ in pending:
            os.close(folder)
    return files


def _open(folder: int, name: str, path: str) -> int | BinaryIO:
    """Return a descriptor for a folder, an open file for a regular file; refuse anything else before it is opened."""
    mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    if stat.S_ISDIR(mode):
        return os.open(name, FLAGS | os.O_DIRECTORY, dir_fd=folder)
    if not stat.S_ISREG(mode):
        kind = "a link" if stat.S_ISLNK(mode) else "a device, socket or fifo"
        raise KitError(f"{path!r} is {kind}: that does not belong into a bundle", "copy the bundle's files alone")
    return os.fdopen(os.open(name, FLAGS, dir_fd=folder), "rb")


def _content(handle: BinaryIO, path: str, room: Room) -> bytes:
    about = os.fstat(handle.fileno())
    if not stat.S_ISREG(about.st_mode):
        raise KitError(f"{path!r} changed its kind while it was read")
    room.take(path, about.st_size)
    content = handle.read(about.st_size + 1)
    if len(content) != about.st_size:
        raise KitError(f"{path!r} changed its size while it was read")
    return content


class Room:
    """Count what was taken, and refuse what is too much, or would collide where names ignore case."""

    def __init__(self) -> None:
        self.bytes_left = layout.MAX_TOTAL_BYTES
        self.names: set[str] = set()

    def enter(self, path: str) -> None:
        """Take a name."""
        if path.casefold() in self.names:
            raise KitError(f"{path!r} stands twice, but for upper and lower case")
        self.names.add(path.casefold())
        if len(self.names) > layout.MAX_FILES:
            raise KitError(f"there are more than {layout.MAX_FILES} files: that is no bundle")

    def take(self, path: str, size: int) -> None:
        """Take a file of this size, before its bytes are read."""
        self.enter(path)
        if size > layout.MAX_FILE_BYTES:
            raise KitError(f"{path!r} is larger than {layout.MAX_FILE_BYTES} bytes")
        self.bytes_left -= size
        if self.bytes_left < 0:
            raise KitError(f"all files together are larger than {layout.MAX_TOTAL_BYTES} bytes")
