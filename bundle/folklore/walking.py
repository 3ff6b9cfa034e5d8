"""Which files are checked: those named, and in folders those of the kinds that are known; no link is followed."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from bundle.folklore import lint
from bundle.folklore.kinds import OTHERWISE, kind_of
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Iterator

LARGEST = 1 << 20  # bytes; what people write to be read is smaller, and what is larger takes seconds
MOST = 20_000  # files of a folder
PASSED_BY = frozenset({".git", ".hg", ".svn", ".venv", "venv", "node_modules", "__pycache__", ".tox", ".mypy_cache"})
UNREAD = "name files and folders that are there and yours to read"
BINARY = 8192  # bytes at the beginning, with a NUL among them where it is no text


@dataclass
class Checked:
    """What was found in how many files, and which could not be looked at."""

    findings: list[lint.Finding] = field(default_factory=list)
    files: int = 0
    passed_by: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)


def check(names: list[str]) -> Checked:
    """Check files and folders; KitError for one that is not there, is no file, or is too large."""
    checked = Checked()
    for name in names:  # all of them before the work begins
        if not Path(name).exists():
            raise KitError(f"cannot read {name}: it is not there", UNREAD)
    for name in names:
        path = Path(name)
        if path.is_dir():
            _folder(path, checked)
        else:
            try:
                data = _read(path, links=True)
            except OSError as error:
                raise KitError(f"cannot read {name}: {error.strerror}", UNREAD) from error
            if data is None:
                raise KitError(f"{name} is no text of at most {LARGEST} bytes", "name the files themselves")
            _file(path, data, checked, otherwise=OTHERWISE)
    return checked


def _folder(folder: Path, checked: Checked) -> None:
    for path in _walk(folder, checked):
        if checked.files >= MOST:
            raise KitError(f"{folder} has more than {MOST} files to check", "name the folders in it one by one")
        try:
            if kind_of(path.name, "") is None and (path.suffix or not _beginning(path).startswith(b"#!")):
                continue
            data = _read(path, links=False)
        except OSError as error:
            checked.unread.append(f"{path}: {error.strerror}")
            continue
        if data is None:
            checked.passed_by.append(str(path))
        else:
            _file(path, data, checked, otherwise=None)


def _walk(folder: Path, checked: Checked) -> Iterator[Path]:
    """Yield the regular files below a folder, in the order of their names."""

    def refused(error: OSError) -> None:
        checked.unread.append(f"{error.filename}: {error.strerror}")

    for parent, folders, files in os.walk(folder, onerror=refused):
        folders[:] = sorted(set(folders) - PASSED_BY)
        for name in sorted(files):
            path = Path(parent) / name
            if path.is_symlink() or not path.is_file():
                continue
            yield path


def _beginning(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(2)


def _read(path: Path, *, links: bool) -> bytes | None:
    """Return a file's bytes; None for what is no regular file, too large, or no text."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if links else os.O_NOFOLLOW)
    with os.fdopen(os.open(path, flags), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return None
        data = file.read(LARGEST + 1)
    return None if len(data) > LARGEST or b"\0" in data[:BINARY] else data


def _file(path: Path, data: bytes, checked: Checked, *, otherwise: str | None) -> None:
    source = data.decode("utf-8", errors="replace").removeprefix("\ufeff")
    kind = kind_of(path.name, source[:200]) or otherwise
    if kind is not None:
        checked.files += 1
        checked.findings += lint.check(source, kind, str(path))
