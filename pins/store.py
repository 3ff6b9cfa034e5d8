"""Keep verified files under their sha256, so that it does not matter who delivered them."""

from __future__ import annotations

import errno
import hashlib
import os
import re
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from pins.file_lock import alone
from pins.paths import free_bytes, opened, there
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CHUNK = 1 << 20
SHA256 = re.compile(r"[0-9a-f]{64}")


class Store:
    """A folder of files: `sha256/ab/abcdef...`, beside each a stamp, and `parts/` of downloads that may be resumed.

    A file is hashed when it comes in and whenever its stamp does not fit. The stamp holds what changes with every write
    (inode, size, modification and change time), so checking a warm store costs a `stat` a file.
    """

    def __init__(self, root: Path | None = None) -> None:
        given = root or os.environ.get("KIT_CACHE") or "~/.cache/rocm-repro-kit"
        try:
            self.root = Path(given).expanduser().absolute()
        except (RuntimeError, OSError) as error:
            raise KitError(f"there is no folder {given} for the cache: {error}", "set KIT_CACHE=DIR") from error

    def path(self, sha256: str) -> Path:
        """Return where the file with this digest is, or would be."""
        if not SHA256.fullmatch(sha256):  # it becomes part of a path
            raise KitError(f"this is not a sha256: {sha256[:80]}", "make the lock again: ./kit lock --pin NAME")
        return self.root / "sha256" / sha256[:2] / sha256

    def part(self, sha256: str) -> Path:
        """Return where an unfinished download of it is kept; its folder exists afterwards.

        A part that cannot be written is opened to its owner again: an earlier version could be killed and leave one.
        """
        path = self.root / "parts" / self.path(sha256).name
        self._make_folder(path.parent)
        if there(path) and not os.access(path, os.W_OK, effective_ids=True):
            with suppress(OSError):  # whoever opens it says what is wrong
                path.chmod(0o644)
        return path

    def has(self, sha256: str, *, tell: Callable[[str], None] = lambda _: None) -> bool:
        """Say whether the file is here and is what its name says. A corrupt one is thrown away, and `tell` told."""
        path = self.path(sha256)
        try:
            if _stamp_path(path).read_text(encoding="ascii") == _stamp(path):
                return True
        except (OSError, UnicodeDecodeError):
            pass  # no stamp, or none of ours: the hash decides
        try:
            if file_sha256(path) == sha256:
                self._write_stamp(path)
                return True
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            raise KitError(f"cannot read {path}: {error.strerror}", "mend its permissions, or set KIT_CACHE") from error
        tell(f"{path} is corrupt and was thrown away")
        self._remove(path)
        return False

    def keep(self, sha256: str) -> Path:
        """Move the finished part of `sha256`, whose digest the caller has checked, to its place and return that."""
        path = self.path(sha256)
        part = self.part(sha256)
        self._make_folder(path.parent)
        try:
            part.replace(path)
            path.chmod(path.stat().st_mode & 0o444)  # only now: whoever finds a part has to open it for writing
            _sync_folder(path.parent)
        except OSError as error:
            raise self.broken(error) from error
        self._write_stamp(path)
        return path

    def free_bytes(self) -> int:
        """Return the free bytes of the disk that the store is, or will be, on."""
        return free_bytes(self.root)

    def broken(self, error: OSError) -> KitError:
        """Return the error to raise when writing into the store failed with `error`."""
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            return KitError(f"the disk of the cache {self.root} is full", "free some space, or set KIT_CACHE=DIR")
        return KitError(
            f"the cache {self.root} cannot be written: {error.strerror}",
            "set KIT_CACHE=DIR to a folder that this user may write",
        )

    def _make_folder(self, folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self.broken(error) from error

    def _remove(self, path: Path) -> None:
        try:
            path.unlink(missing_ok=True)
            _stamp_path(path).unlink(missing_ok=True)
        except OSError as error:
            raise self.broken(error) from error

    @staticmethod
    def _write_stamp(path: Path) -> None:
        """Remember that a file was verified. A cache that cannot be written is only slower."""
        with suppress(OSError), replacing(_stamp_path(path), lasting=False) as part:
            part.write(_stamp(path).encode())


def file_sha256(path: Path) -> str:
    """Return sha256, in hex, of a file's bytes; OSError when it cannot be read."""
    total = hashlib.sha256()
    with opened(path) as source:
        while chunk := source.read(CHUNK):
            total.update(chunk)
    return total.hexdigest()


@contextmanager
def replacing(path: Path, *, lasting: bool = True) -> Iterator[IO[bytes]]:
    """Open a new file that takes the place of `path` when the block ends well, and is removed when it does not.

    Meanwhile it has one fixed name, so that what a killed writer leaves is gone with the next one. OSError.
    With `lasting` false it may be empty after a power cut, which costs much less than making it last.
    """
    name = path.with_name(f".{path.name[:80]}.part")
    with alone(name) as part:
        try:
            part.truncate(0)
            yield part
            part.flush()
            if lasting:
                os.fsync(part.fileno())
            name.replace(path)
        except BaseException:
            name.unlink(missing_ok=True)
            raise


def _stamp_path(path: Path) -> Path:
    return path.with_name(path.name + ".ok")


def _stamp(path: Path) -> str:
    found = path.stat()
    return f"{found.st_ino} {found.st_size} {found.st_mtime_ns} {found.st_ctime_ns}"


def _sync_folder(folder: Path) -> None:
    """Make a rename last through a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
