"""Copy the inputs of a lock into a folder, so that its image can be built when the archives have moved on."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from pins.progress import Progress
from pins.sources import Input, inputs
from pins.store import CHUNK, file_sha256, replacing
from schema.errors import KitError

if TYPE_CHECKING:
    from pathlib import Path

    from pins.lock import Lock
    from pins.store import Store

THREADS = 4
SUMS = "SHA256SUMS"


def mirror(lock: Lock, store: Store, target: Path, *, progress: bool = True) -> None:
    """Make `target` usable as KIT_SOURCE for this lock; what is there already and right is left alone.

    The folder has the archive's own layout, `pool/...` and `wheels/...`, and SHA256SUMS for `sha256sum --check`.
    Several locks may share one. Raises KitError when the lock builds on an image, which is no file, when
    the store lacks an input, and when the folder cannot be written.
    """
    if lock.base:
        raise KitError(
            f"{lock.name} builds on an image, and this version does not mirror images",
            f"keep {lock.base['repo']}@{lock.base['digest']} in a registry of your own",
        )
    items = list({item.path: item for item in inputs(lock)}.values())
    try:
        target.mkdir(parents=True, exist_ok=True)
        total = sum(item.size or 0 for item in items)
        with Progress("mirror", total, unit="B", shown=progress) as shown, ThreadPoolExecutor(THREADS) as pool:
            for size in pool.map(lambda item: _copy(item, store, target), items):
                shown.advance(size)
        _add_sums(target / SUMS, items)
    except OSError as error:
        raise KitError(
            f"the mirror {target} cannot be written: {error.strerror}", "free space or pick a folder"
        ) from error


def _copy(item: Input, store: Store, target: Path) -> int:
    """Copy one file, unless it is there; return its bytes. Only a complete and verified copy gets its name."""
    path = target / item.path
    if path.is_file() and file_sha256(path) == item.sha256:
        return item.size or 0
    if not store.has(item.sha256):
        raise KitError(f"the store has no {item.name}", "run ./kit fetch first")
    path.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    with store.path(item.sha256).open("rb") as source, replacing(path) as part:
        while chunk := source.read(CHUNK):
            digest.update(chunk)
            part.write(chunk)
        if digest.hexdigest() != item.sha256:
            raise KitError(f"{item.name} changed in the store while it was copied", "run ./kit fetch, then this again")
    return item.size or 0


def _add_sums(path: Path, items: list[Input]) -> None:
    """Write the sums of these files beside those of other locks, sorted by path."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    sums = {line[66:]: line[:64] for line in lines} | {item.path: item.sha256 for item in items}
    with replacing(path) as part:
        part.write("".join(f"{sums[name]}  {name}\n" for name in sorted(sums, key=str.encode)).encode())
