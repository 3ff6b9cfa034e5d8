"""Bring every file of a lock into the store, verified, from whichever source has it."""

from __future__ import annotations

from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pins import wheels
from pins.download import Downloader
from pins.progress import Progress, amount
from pins.sources import GIVEN, Input, Sources, inputs
from schema.errors import KitError

if TYPE_CHECKING:
    from pins.lock import Lock
    from pins.store import Store

THREADS = 6  # an archive's front end is asked politely, and hashing has two cores or more
MARGIN_BYTES = 256 << 20
MAX_NAMED = 5


@dataclass(frozen=True)
class Fetched:
    """What a fetch did: files and bytes that the lock needs, and the bytes that came over the network for it.

    `note` says what of the lock no fetch brings.
    """

    files: int
    bytes: int
    downloaded_bytes: int
    note: str = ""


def fetch(
    lock: Lock, store: Store, *, progress: bool = True, sources: Sources | None = None, timeout_s: float = 30
) -> Fetched:
    """Verify every input of the lock in the store and download what is missing.

    Raises KitError when a hash is unknown, the disk is too small, the cache cannot be written, or no source has a file:
    all others are in the store then, so that the next try has only that one to do.
    """
    items = list({item.sha256: item for item in inputs(lock)}.values())
    sources = sources or Sources()
    total = sum(item.size or 0 for item in items)
    missing = _missing(items, store, total, shown=progress)
    if not missing:
        return Fetched(len(items), total, 0, _note(lock))
    needed = sum(item.size or 0 for item in missing)
    with Progress("fetch", needed, unit="B", shown=progress) as shown:
        shown.note(
            f"{len(missing)} files are missing: {amount(needed, 'B')} to download into {store.root} "
            f"({amount(store.free_bytes(), 'B')} free)"
        )
        if store.free_bytes() < needed + MARGIN_BYTES:
            raise KitError(
                f"the disk of the cache {store.root} has {amount(store.free_bytes(), 'B')} free, and the inputs of "
                f"{lock.name} need {amount(needed + MARGIN_BYTES, 'B')}",
                "free some space, or set KIT_CACHE=DIR",
            )
        downloader = Downloader(store, advance=shown.advance, tell=shown.note, timeout_s=timeout_s)
        failed = _download(missing, downloader, sources)
        had = downloader.delivered[GIVEN]
        if sources.given and had < len(missing):
            shown.note(f"KIT_SOURCE had {had} of these {len(missing)} files: the others were asked for elsewhere")
    if failed:
        asked = {place.source for item in failed for place in sources.places(item)}
        dead = bool(asked) and asked <= set(downloader.dead)
        raise _lacking(lock, failed, cut_off=dead and not downloader.downloaded_bytes)
    return Fetched(len(items), total, downloader.downloaded_bytes, _note(lock))


def _note(lock: Lock) -> str:
    base = lock.base
    if base is None:
        return ""
    had = (
        "no registry is known to have it, `docker load` brings it"
        if base["digest_kind"] == "config"
        else ("`./kit build` pulls it")
    )
    return f"the base image {base['repo']}@{base['digest']} is not fetched here: {had}"


def _missing(items: list[Input], store: Store, total: float, *, shown: bool) -> list[Input]:
    """Return the inputs that the store lacks; checked in threads, since hashing lets go of the interpreter."""
    with Progress("check inputs", total, unit="B", shown=shown) as progress, ThreadPoolExecutor(THREADS) as pool:

        def lacks(item: Input) -> bool:
            found = store.has(item.sha256, tell=progress.note)
            progress.advance(item.size or 0)
            return not found

        return [item for item, lacking in zip(items, pool.map(lacks, items), strict=True) if lacking]


def _download(items: list[Input], downloader: Downloader, sources: Sources) -> dict[Input, list[str]]:
    """Download in threads, largest first so that none is left alone at the end; return why files could not be had."""

    def get(item: Input) -> list[str]:
        reasons = downloader.get(item, sources.places(item))
        if reasons and item.kind == "wheel":
            return [*reasons, *why] if (why := wheels.download(item, downloader.store)) else []
        return reasons

    ordered = sorted(items, key=lambda item: -(item.size or 0))
    failed: dict[Input, list[str]] = {}
    pool = ThreadPoolExecutor(THREADS)
    try:
        pending = {item: pool.submit(get, item) for item in ordered}
        wait(pending.values(), return_when=FIRST_EXCEPTION)
        for item, future in pending.items():
            if future.done() and (reasons := future.result()):
                failed[item] = reasons
    finally:
        # After an error or Ctrl-C running downloads stop at their next block, and waiting ones never begin.
        downloader.stop.set()
        pool.shutdown(wait=True, cancel_futures=True)
        downloader.close()
    return failed


def _lacking(lock: Lock, failed: dict[Input, list[str]], *, cut_off: bool) -> KitError:
    """Return the error for files that no source has; `cut_off` when none of the sources answered at all."""
    named = [f"{item.name} ({'; '.join(reasons)})" for item, reasons in list(failed.items())[:MAX_NAMED]]
    if len(failed) > MAX_NAMED:
        named.append(f"and {len(failed) - MAX_NAMED} more")
    message = f"no source has {len(failed)} of the files of {lock.name}:\n  " + "\n  ".join(named)
    if cut_off:
        return KitError(
            f"{message}\nnone of them answers: this machine seems to have no network",
            f"connect it, or: KIT_SOURCE=FOLDER ./kit fetch --lock {lock.name}, with the folder that "
            "`./kit mirror FOLDER` filled where there is a network",
        )
    return KitError(
        message,
        f"KIT_SOURCE=DIR ./kit fetch --lock {lock.name}, DIR being a folder or URL that `./kit mirror DIR` filled; or "
        f"make a new lock from today's archive: ./kit lock --pin {lock.name}",
    )
