"""Which lock a command works on, and what this machine has."""

from __future__ import annotations

import functools
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from commands.program import say
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Callable

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


def or_error(call: Callable[[], Any]) -> Any:
    """Return what `call` returns, or the KitError that it raises."""
    try:
        return call()
    except KitError as error:
        return error
