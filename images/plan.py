"""What building a lock would take: its inputs, room on the disk, steps. Nothing is done."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from images import record
from images.room import needs
from pins.paths import free_bytes, there
from pins.progress import amount
from pins.sources import inputs as required
from pins.store import Store
from schema.errors import KitError

if TYPE_CHECKING:
    from images.engine import Engine
    from pins.lock import Lock


def plan(
    lock: Lock, store: Store | None = None, out: Path | None = None, *, engine: Engine | KitError | None = None
) -> dict[str, Any]:
    """Return lock, inputs, sizes in bytes and steps as one JSON document.

    `engine`, or what looking for one gave, is asked whether it has the image (`image`, its id, else null).
    KitError for a lock that is not resolved, which `build` refuses.
    """
    required(lock)
    store, out = store or Store(), out or Path()
    needed = needs(lock)
    known = None if engine is None or isinstance(engine, KitError) else record.there(lock, engine, out)
    inputs = [item for item in (*lock.debs, *lock.wheels) if item["sha256"]]
    missing = [item for item in inputs if not there(store.path(item["sha256"]))]
    return {
        "lock": lock.name,
        "lock_sha256": lock.sha256,
        "image": known and known["image_id"],
        "channel": lock.channel,
        "base": f"{lock.base['repo']}@{lock.base['digest']}" if lock.base else None,
        "inputs": {
            "files": len(inputs),
            "bytes": needed["cache"],
            "missing_files": len(missing),
            "missing_bytes": sum(item["size"] or 0 for item in missing),
            "missing_of_unknown_size": sum(item["size"] is None for item in missing),
        },
        "disk": {
            "work_bytes": needed["outputs"],
            "engine_bytes": needed["engine"],
            "work_free_bytes": free_bytes(out),
        },
        "steps": steps(lock),
    }


def steps(lock: Lock) -> list[str]:
    """Return in words what `build` does for this lock."""
    inputs, added = len(lock.debs) + len(lock.wheels), []
    verify = [f"verify {inputs} files in the store, fetch what is missing"] if inputs else []
    if lock.debs and lock.base:
        added = [f"in a container of it, with the network off: dpkg installs {len(lock.debs)} packages"]
    if lock.wheels:
        added.append(f"in a container, with the network off: pip installs {len(lock.wheels)} wheels beside its Python")
    end = ["load, check the engine's id, write the record"]
    if lock.base:
        had = "find in the engine" if lock.base["digest_kind"] == "config" else "pull"
        pull = f"{had} {lock.base['repo']}@{lock.base['digest']}"
        if not lock.adds:
            return [pull, "record its identity; nothing is added to it"]
        look = "look into it: its Python, PyTorch and ROCm must be the lock's"
        take = ["take out what changed as one layer; the base is neither read nor sent"] if added else []
        return [*verify, pull, look, *added, *take, *end]
    first = sum(bool(item["bootstrap"]) for item in lock.debs)
    return [
        *verify,
        f"unpack {first} packages of the minimal system into a first layer",
        f"build with the network off: dpkg installs {len(lock.debs)} packages, byte code, audit",
        *added,
        "save, rewrite into the canonical form",
        *end,
    ]


def describe(document: dict[str, Any]) -> str:
    """Return a plan as text for a person."""
    there = "the engine has it: `./kit build` keeps it; the rest is what `./kit build --force` would do"
    lines = [
        *([f"image   {document['image']}", f"        {there}"] if document["image"] else []),
        f"lock    {document['lock']} ({document['channel']})",
        f"        {document['lock_sha256']}",
        f"base    {document['base'] or 'none: every byte comes from packages'}",
        f"needs   {sizes(document)}",
        *(f"step {number}  {step}" for number, step in enumerate(document["steps"], 1)),
    ]
    return "\n".join(lines)


def sizes(document: dict[str, Any]) -> str:
    """Return in one line what a plan fetches, and what room it takes while it builds."""
    inputs, disk = document["inputs"], document["disk"]
    pull = ", most of it while the base is pulled" if document["base"] and disk["engine_bytes"] else ""
    engine = f"{amount(disk['engine_bytes'], 'B')} in the engine{pull}"
    if not inputs["files"]:
        return f"about {engine}"
    unknown = inputs["missing_of_unknown_size"]
    unsized = f", and {unknown} files whose size the lock does not know, gigabytes maybe" if unknown else ""
    fetch = f"{amount(inputs['bytes'], 'B')} ({amount(inputs['missing_bytes'], 'B')} to fetch{unsized})"
    here = f"{amount(disk['work_bytes'], 'B')} of disk here ({amount(disk['work_free_bytes'], 'B')} free)"
    return f"{inputs['files']} files, {fetch}; about {here} and {engine}"
