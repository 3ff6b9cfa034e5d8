"""Copy the inputs of a lock into a folder or a registry, to build its image when the archives have moved on."""

from __future__ import annotations

import hashlib
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pins.paths import free_bytes, opened, there
from pins.progress import Progress, amount
from pins.references import OCI
from pins.sources import Input, inputs
from pins.store import CHUNK, file_sha256, replacing
from schema.errors import KitError

if TYPE_CHECKING:
    from pins.lock import Lock
    from pins.store import Store

THREADS = 4
SUMS = "SHA256SUMS"
LINE = re.compile(r"(?P<sum>[0-9a-f]{64}) [ *](?P<name>\S.*)")
MAX_SUMS_BYTES = 64 << 20
#: What looks like a registry, and would else become a folder: `https://HOST/x`, `oci:HOST/x`, `HOST:PORT/x`.
ADDRESS = re.compile(r"[A-Za-z0-9.-]+:\d+/.+|[a-z]+:/*(?P<name>.+)")


@dataclass(frozen=True)
class Mirrored:
    """What a mirror has of a lock, in files and bytes, and the bytes that were copied: the rest was there."""

    files: int
    bytes: int
    copied_bytes: int


def mirror(lock: Lock, store: Store, where: str, *, progress: bool = True) -> Mirrored:
    """Make a folder, or a repository oci://HOST/REPOSITORY, usable as KIT_SOURCE for this lock."""
    from pins import registry_mirror

    if where.startswith(OCI):
        return registry_mirror.mirror(lock, store, where, progress=progress)
    if (meant := ADDRESS.fullmatch(where)) and not there(Path(where)):
        raise KitError(
            f"{where} is no folder, and a registry is named otherwise",
            f"oci://{meant['name'] or where}, or for a folder ./NAME",
        )
    return into_folder(lock, store, Path(where), progress=progress)


def into_folder(lock: Lock, store: Store, target: Path, *, progress: bool = True) -> Mirrored:
    """Make `target` usable as KIT_SOURCE for this lock; what is there already and right is left alone.

    The folder has the archive's own layout, `pool/...` and `wheels/...`, and SHA256SUMS for `sha256sum --check`.
    Several locks may share one. Raises KitError when the lock builds on an image, which is no file, when
    the store lacks an input, and when the folder cannot be written, is the store's own, or has sums that nobody reads.
    """
    if lock.base:
        raise KitError(
            f"{lock.name} builds on an image, which a folder of files cannot hold",
            "./kit mirror oci://HOST/REPOSITORY puts files and image into a registry of your own",
        )
    items = list({item.path: item for item in inputs(lock)}.values())
    try:
        if target.resolve().is_relative_to(store.root.resolve()):
            raise KitError(f"the mirror {target} would lie in the cache {store.root}", "name a folder elsewhere")
        _make_folder(target)
        sums = _sums(target / SUMS)
        total, copied = sum(item.size or 0 for item in items), 0
        with Progress("mirror", total, unit="B", shown=progress) as shown, ThreadPoolExecutor(THREADS) as pool:
            free = amount(free_bytes(target), "B")
            shown.note(f"{len(items)} files, {amount(total, 'B')}, to be in {target} ({free} free)")
            for item, new in zip(items, pool.map(lambda item: _copy(item, store, target), items), strict=True):
                shown.advance(item.size or 0)
                copied += new
        _write_sums(target / SUMS, sums | {item.path: item.sha256 for item in items})
        return Mirrored(len(items), total, copied)
    except OSError as error:
        hint = "free space, or name a folder that this user may write"
        raise KitError(f"the mirror {target} cannot be written: {error.strerror}", hint) from error


def _make_folder(target: Path) -> None:
    try:
        target.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        found = next(path for path in (target, *target.parents) if there(path) or path.is_symlink())
        what = "a file" if found.is_file() else "no folder"
        raise KitError(f"the mirror {target} cannot be a folder: {found} is {what}", "name a folder") from error


def _copy(item: Input, store: Store, target: Path) -> int:
    """Copy one file, unless it is there; return the bytes copied. Only a complete and verified copy gets its name."""
    path = target / item.path
    if path.is_file() and file_sha256(path) == item.sha256:
        return 0
    if not store.has(item.sha256):
        raise KitError(f"the store has no {item.name}", "run ./kit fetch first")
    path.parent.mkdir(parents=True, exist_ok=True)
    digest, copied = hashlib.sha256(), 0
    with store.path(item.sha256).open("rb") as source, replacing(path) as part:
        while chunk := source.read(CHUNK):
            digest.update(chunk)
            copied += part.write(chunk)
        if digest.hexdigest() != item.sha256:
            raise KitError(f"{item.name} changed in the store while it was copied", "run ./kit fetch, then this again")
    return copied


def _sums(path: Path) -> dict[str, str]:
    """Return the sums that are there, of other locks' files too, by path; KitError unless all can be read."""
    try:
        with opened(path) as file:
            text = file.read(MAX_SUMS_BYTES).decode("utf-8")
        lines = [LINE.fullmatch(line) for line in text.split("\n")[:-1]]
        if text[-1:] in {"", "\n"} and all(lines):
            return {match["name"]: match["sum"] for match in lines if match}
    except FileNotFoundError:
        return {}
    except UnicodeDecodeError:
        pass
    raise KitError(f"{path} is damaged", "remove it, then mirror again each lock whose files are there")


def _write_sums(path: Path, sums: dict[str, str]) -> None:
    """Write the sums, sorted by path."""
    with replacing(path) as part:
        part.write("".join(f"{sums[name]}  {name}\n" for name in sorted(sums, key=str.encode)).encode())
