"""The room on disks that building a lock takes: asked for before anything begins."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from images.devices import elsewhere
from pins.paths import disk_of, free_bytes, there
from pins.progress import amount
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pins.lock import Lock

UNPACKED = 6  # a .deb of this kind holds five times its size; the rest is room for byte code
BASE_BYTES = 75 * 10**9  # published images for ROCm have 30 GB, and take 2.5 times that while they are pulled
PULLED = 4  # packed layers stay until all are unpacked, to three times their size
REMEDIES = {
    "engine": "`{client} system df` says what the engine holds: remove images that you no longer need",
    "cache": "export KIT_CACHE=/a/folder/with/room",
    "outputs": "export KIT_OUT=/a/folder/with/room",
}


class Room(NamedTuple):
    """A place of a build: the bytes that are needed and free on its disk, and what to do where they are too few."""

    path: Path
    needed: int
    free: int
    remedy: str

    @property
    def lack(self) -> str:
        """Say what is needed and how much of it lacks; empty where nothing does."""
        if self.free >= self.needed:
            return ""
        return f"about {amount(self.needed, 'B')}, {amount(self.needed - self.free, 'B')} more than is free"


def pulled_bytes(packed: int | None) -> int:
    """Return the bytes that a pull takes in the engine, from those of the packed layers where they are known."""
    return BASE_BYTES if packed is None else PULLED * packed


def needs(lock: Lock, base_bytes: int | None = None) -> dict[str, int]:
    """Return the bytes that a first build takes in the store's cache, among the outputs and in the engine.

    `base_bytes` is what the lock's base, if it has one, still takes in the engine; None where that is not known.

    At once: the engine's build (packages and tree), its saved archive, ours, and the loaded image.
    """
    total = sum(item["size"] or 0 for item in (*lock.debs, *lock.wheels))
    pulled = lock.base is not None and lock.base["digest_kind"] != "config"  # which no registry has: it is there or not
    return {
        "cache": total,
        "outputs": total * (UNPACKED + 1) * 2,
        "engine": total * (UNPACKED * 2 + 1) + (pulled_bytes(None) if base_bytes is None else base_bytes) * pulled,
    }


def rooms(needed: Mapping[str, int], places: Mapping[str, Path], about: Mapping[str, Any]) -> dict[str, Room]:
    """Return the room of each place: what places on one disk need adds up. `about` is the engine's."""
    disks = {place: disk_of(path) for place, path in places.items()}
    return {
        place: Room(
            path,
            sum(needed[other] for other in places if disks[other] == disks[place]) if needed[place] else 0,
            free_bytes(path),
            REMEDIES[place].format(client=about.get("name", "docker")),
        )
        for place, path in places.items()
    }


def engine_place(about: Mapping[str, Any]) -> dict[str, Path]:
    """Return the folder of an engine's images, where it is a folder of this machine."""
    return {} if not about or elsewhere(about) else {"engine": Path(about["data_root"] or "/")}


def require(lock: Lock, about: Mapping[str, Any], out: Path, *, base_bytes: int | None = None) -> None:
    """Raise KitError where a first build for `out`, in an engine that says `about` of itself, has too little room.

    An engine's folder that cannot be seen is not judged: this may run in a container that has the engine's socket.
    """
    places = {"outputs": out} | {place: path for place, path in engine_place(about).items() if there(path)}
    for room in rooms(needs(lock, base_bytes), places, about).values():
        if room.lack:
            free = amount(room.free, "B")
            raise KitError(f"{lock.name} needs {room.lack} ({free}) on the disk of {room.path}", room.remedy)
