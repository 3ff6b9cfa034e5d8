"""Adopt an image: lock it by digest with what is in it, and say what its checks would say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commands.image import engine_door
from commands.program import say

if TYPE_CHECKING:
    from pathlib import Path


def adopt(reference: str, out: Path) -> Path:
    """Write pin and lock of an image into `out`; return the lock's path. What is wrong with it already is told."""
    from bundle.console import Console
    from commands.inspect import judged
    from images.adopt import adopt as write
    from pins.lock import read

    done = write(engine_door(), reference, out, tell=say)
    lock = read(done.path)
    shown = Console(say, colour=False)
    for finding in judged(done.records, lock, done.image):
        if finding["status"] not in {"pass", "skip"}:
            shown.finding(finding)
    torch = lock.document["torch"]["version"]
    say(f"{lock.name}: ROCm {lock.rocm}, PyTorch {torch}; next: ./kit validate --lock {done.path}")
    return done.path
