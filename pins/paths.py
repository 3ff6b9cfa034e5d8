"""Look at paths that may be anything: what this user cannot look at is not there, what is no file is not read."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from pathlib import Path
from typing import IO


def there(path: Path) -> bool:
    """Say whether a path can be seen. `Path.exists` raises PermissionError before Python 3.14."""
    return _mode(path) is not None


def is_folder(path: Path) -> bool:
    """Say whether a path can be seen and is a folder."""
    return stat.S_ISDIR(_mode(path) or 0)


def matching(folder: Path, pattern: str) -> list[Path]:
    """Return the paths below a folder that match, sorted; none where it cannot be seen."""
    try:
        return sorted(folder.glob(pattern))
    except OSError:
        return []


def text_of(path: Path) -> str:
    """Return a small file's text without the space around it; empty when it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def free_bytes(path: Path) -> int:
    """Return the room on the file system that `path` is on, or would be."""
    return shutil.disk_usage(_nearest(path)).free


def disk_of(path: Path) -> int:
    """Return the kernel's number of the file system that `path` is on, or would be."""
    return _nearest(path).stat().st_dev


def can_write(path: Path) -> bool:
    """Say whether this user could make files below a folder that is, or would be, at `path`; nothing is made."""
    place = _nearest(path)
    allowed = is_folder(place) and os.access(place, os.W_OK | os.X_OK, effective_ids=True)
    return allowed and shutil.disk_usage(place).total > 0  # /proc and the like let root in, and hold no files


def opened(path: Path) -> IO[bytes]:
    """Open a regular file to read; OSError for anything else: a pipe would keep us waiting, a device has no end."""
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")  # raises for a folder
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    file.close()
    raise OSError(errno.EINVAL, "it is no regular file", str(path))


def _nearest(path: Path) -> Path:
    """Return the first of a path and the folders above it that is there."""
    path = path.absolute()
    return next((place for place in (path, *path.parents) if there(place)), Path("/"))


def _mode(path: Path) -> int | None:
    try:
        return path.stat().st_mode
    except (OSError, ValueError):  # ValueError: no path can be called that
        return None
