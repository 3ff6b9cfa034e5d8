"""Look at paths that this user may not be allowed to see: what cannot be looked at is not there."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


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


def _mode(path: Path) -> int | None:
    try:
        return path.stat().st_mode
    except (OSError, ValueError):  # ValueError: no path can be called that
        return None
