"""The folders and files of a command: one command at a time in a folder, what the user named read, outputs whole."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from commands.program import say
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def alone_in(*folders: Path) -> Iterator[None]:
    """Be the one command that writes into these folders; wait while another one does.

    What a command reads there it has written, or found whole: two at once cannot mix their records in one bundle. The
    lock file stands beside the folder. The kernel lets go of it when its owner ends, however it ends.
    """
    with ExitStack() as held:
        for folder in sorted({folder.resolve() for folder in folders}):  # in one order: nobody waits in a circle
            held.enter_context(_held(folder))
        yield


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    from pins.file_lock import alone

    waiting = f"waiting for another command that works in {folder}"
    with ExitStack() as stack:
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            lock = folder.with_name(f".{folder.name}.lock")
            stack.enter_context(alone(lock, on_wait=lambda: say(waiting)))
        except (OSError, ValueError) as error:  # ValueError: / has no name
            reason = error.strerror if isinstance(error, OSError) else "a folder needs a name"
            raise KitError(f"cannot work in {folder}: {reason}", "set KIT_OUT or --out to a folder of yours") from error
        yield


def read(name: str) -> bytes:
    """Return the bytes of a file that the user named."""
    from pins.paths import opened

    try:
        with opened(Path(name)) as file:
            return file.read()
    except OSError as error:
        hint = "name a file that is there and yours to read"
        raise KitError(f"cannot read {name}: {error.strerror}", hint) from error


def write(path: Path, data: bytes) -> None:
    """Write an output whole, or not at all."""
    from pins.store import replacing

    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as part:
        part.write(data)
