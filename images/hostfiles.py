"""Look at files of the host that may be absent, or in folders that are closed to us: neither is an error."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def exists(path: Path) -> bool:
    """Say whether we can see that there is something at `path`."""
    return os.path.exists(path)  # noqa: PTH110 -- Path.exists raises PermissionError up to Python 3.13


def text_of(path: Path) -> str:
    """Return a small file's text without the space around it; empty when it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def matching(folder: Path, pattern: str) -> list[Path]:
    """Return, sorted, what we can see in a folder."""
    try:
        return sorted(folder.glob(pattern))
    except OSError:  # PermissionError up to Python 3.11
        return []


def free_bytes(path: Path) -> int:
    """Return the room on the file system that `path` is on, or would be."""
    path = path.absolute()
    return shutil.disk_usage(next(place for place in (path, *path.parents) if exists(place))).free
