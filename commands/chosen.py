"""Which lock a command works on, what this machine has, and the folder that is the command's own while it works."""

from __future__ import annotations

import functools
import os
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from commands.program import say
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pins.host import Host
    from pins.lock import Lock

ROOT = Path(__file__).resolve().parent.parent
OUT = Path(os.environ.get("KIT_OUT") or ROOT / "out")
#: What came from a Python of this machine, without an image.
HOST = OUT / "host"


class Which(NamedTuple):
    """Which lock the user asked for.

    Options:
        rocm: ROCm version, e.g. 5.7
        channel: amd, debian, wheel or cuda
        lock: name or file of a lock
    """

    rocm: str = ""
    channel: str = ""
    lock: str = ""


@dataclass(frozen=True)
class Chosen:
    """The lock that a command works on, what this machine has, and where outputs go."""

    lock: Lock
    host: Host
    out: Path

    @functools.cached_property
    def backend(self) -> str:
        """What computes with this lock on this machine; said, with the reason, when it is first asked for."""
        from images.doctor import explain_backend

        backend, reason = explain_backend(self.host, self.lock)
        say(f"backend: {backend} ({reason})")
        return backend


def choose(which: Which) -> Chosen:
    """Find the lock, say which and why."""
    from pins.choice import find
    from pins.host import look

    host = look()
    choice = find(host, **which._asdict())
    say(f"lock: {choice.lock.name} ({choice.reason})")
    return Chosen(choice.lock, host, OUT / choice.lock.name)


@contextmanager
def alone_in(out: Path) -> Iterator[None]:
    """Be the one command that writes into the folder `out`; wait while another one does.

    What a command reads there it has written, or found whole: two at once cannot mix their records in one bundle. The
    lock file stands beside the folder. The kernel lets go of it when its owner ends, however it ends.
    """
    from pins.alone import alone

    lock = out.with_name(f".{out.name}.lock")
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        with alone(lock, on_wait=lambda: say(f"waiting for another command that works in {out}")):
            yield
    except OSError as error:
        if error.filename not in {str(lock), str(lock.parent)}:
            raise
        raise KitError(
            f"cannot work in {out.parent}: {error.strerror}", "set KIT_OUT=DIR to a folder of yours"
        ) from error


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


def attempt(call: Any) -> Any:
    """Return what `call` returns, or the KitError that it raises."""
    try:
        return call()
    except KitError as error:
        return error
