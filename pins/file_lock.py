"""A file that one process at a time writes. The kernel lets go of it when its holder dies, however it dies."""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

#: A link is not followed: what it points to is somebody's.
FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def alone(path: Path, *, on_wait: Callable[[], None] = lambda: None) -> Iterator[IO[bytes]]:
    """Open a file to read and append, made where it is missing, for this process alone.

    Where another one has it, `on_wait` is called, and waited. OSError where there can be no such file.
    """
    while True:
        with os.fdopen(os.open(path, FLAGS, 0o666), "a+b") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                on_wait()
                fcntl.flock(file, fcntl.LOCK_EX)
            if is_at(file, path):  # else its holder gave it another name meanwhile: there is a new one to wait for
                yield file
                return


def is_at(file: IO[bytes], path: Path) -> bool:
    """Say whether an open file still has this name; another process may have moved it, and made a new one."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False
