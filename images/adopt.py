"""Make pin and lock of an image that exists already: by digest, with the inventories that were read inside it.

A lock that adds nothing builds nothing: the image is its own base. What was read must hold from then on, both ways.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, NamedTuple

from images import inspect, inspect_inside, room
from images.confirmed import confirmed
from pins import lock as locks
from pins.paths import free_bytes, is_folder, there
from pins.progress import Progress, amount
from pins.references import HUB, Reference, parse
from pins.registry import image as in_registry
from schema import documents
from schema.canon import digest
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from images.engine import Engine
    from images.inspect import Looked

COMMENT = "Made from {ref} by `./kit lock --from-image`. Review it like code."
REPO = re.compile(r"[a-z0-9][a-z0-9._:/-]*")
MAX_EPOCH = 4102444800  # schema shared-1: epoch
GFX, VERSION = re.compile(r"gfx[0-9a-f]+"), re.compile(r"[A-Za-z0-9][A-Za-z0-9.+!~_:-]{0,99}")
#: Fields of a lock that are no components.
OWN_FIELDS = frozenset({"rocm", "python", "torch"})
LOOK = "./kit inspect shows what is in it"
NO_TORCH = "./kit inspect looks at any image; what is validated and measured needs PyTorch in it"
CONTAINERD = "push it to a registry and adopt it from there, or use an engine with the overlay2 store"


class Adopted(NamedTuple):
    """The lock that was written, the image, and the records of its reading."""

    path: Path
    image: Looked
    records: list[dict[str, Any]]


def adopt(engine: Engine, reference: str, out: Path, *, tell: Callable[[str], None], today: str = "") -> Adopted:
    """Write NAME.pin.yaml and NAME.lock.yaml into `out`.

    KitError, and nothing written, where the image cannot be had or run, or has no PyTorch.
    """
    if not is_folder(out):
        raise KitError(f"there is no folder {out}", f"mkdir -p {shlex.quote(str(out))}, then run it again")
    base, image = found(engine, reference, tell=tell, today=today or datetime.now(timezone.utc).date().isoformat())
    tell(f"reading {image.id} inside, without network and rights")
    records = inspect_inside.read(engine, image)
    pin, document = written(base, image, records)
    for item, suffix in ((pin, locks.PIN_SUFFIX), (document, locks.LOCK_SUFFIX)):
        locks.write(item, out / f"{pin['name']}{suffix}", COMMENT.format(ref=named(base)))
    return Adopted(out / f"{pin['name']}{locks.LOCK_SUFFIX}", image, records)


def found(engine: Engine, reference: str, *, tell: Callable[[str], None], today: str) -> tuple[dict[str, Any], Looked]:
    """Return the base (schema lock-1) that a reference means, and the image: the engine's, else a registry's."""
    image = inspect.look(engine, reference)
    if image:
        base = in_engine(replace(image, digests=confirmed(image.digests, tell)), today)
        if base["digest_kind"] == "config" and engine.about()["storage"] == "containerd":
            message = f"{reference} is in no registry, and this engine's containerd store does not tell what it is"
            raise KitError(message, CONTAINERD)
        kind = "by its own id: no registry is known to have it" if base["digest_kind"] == "config" else "as pulled"
        tell(f"{reference} is in the engine, {kind}: {base['digest']}")
        return base, image
    name = parse(reference)
    remote = in_registry(name)
    chosen = remote.index or remote.manifest
    kind = "index" if remote.index else "manifest"
    by_digest = f"{_repo(name)}@{chosen.digest}"
    tell(f"{reference} is {chosen.digest} ({kind}) on {today}; pulling it by that digest")
    image = _pulled(engine, by_digest, sum(layer.size for layer in remote.layers))
    if image.id not in {remote.config.digest, remote.manifest.digest, chosen.digest}:  # stores differ in which it is
        raise KitError(
            f"the engine calls {by_digest} {image.id}, its registry {remote.config.digest}",
            "pull it again; when it stays so, a mirror of the engine delivers something else",
        )
    base = _base(_repo(name), name.tag, chosen.digest, kind) | {
        "status": "verified",
        "sources": ["its registry, from which it was pulled by this digest"],
        "recorded": today,
    }
    return base, image


def in_engine(image: Looked, today: str) -> dict[str, Any]:
    """Return the base that an engine's image is: by a registry's digest where the engine knows one, else by its id."""
    repo, tag = _names(image)
    known = {name: value for name, _, value in (text.partition("@") for text in image.digests) if REPO.fullmatch(name)}
    if known:
        repo = repo if repo in known else min(known)
        base, source = _base(repo, tag, known[repo], "unknown"), "the engine, which has the image from there"
    else:
        base, source = _base(repo, tag, image.id, "config"), "the engine in which the image was found"
    return base | {"status": "recorded", "sources": [source], "recorded": today}


def written(
    base: dict[str, Any], image: Looked, records: list[dict[str, Any]]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return pin and lock of an image; KitError where it has no PyTorch, or more packages than a lock can hold."""
    start, facts = records[0], inspect_inside.facts(records)
    torch, sources = start["torch"], facts["versions"]["sources"]
    if not torch["version"]:
        raise KitError(f"{image.reference} has no PyTorch that can be imported: {torch.get('error')}", NO_TORCH)
    components = {name: rows[0][1] for name, rows in sorted(sources.items()) if name not in OWN_FIELDS and rows}
    arch = [str(item).split(":")[0] for item in torch.get("arch_list", [])]
    common = {
        "name": name_of(base),
        "rocm": release(sources.get("rocm", []), torch["build"]),
        "channel": "adopted",
    }
    rest: dict[str, Any] = {
        "gfx": list(dict.fromkeys(item for item in arch if GFX.fullmatch(item))) if torch["build"] == "rocm" else [],
        "components": {name: version for name, version in components.items() if VERSION.fullmatch(version)},
    }
    at = {"python": start["python"], "platform": inspect.PLATFORM, "source_date_epoch": epoch(image.created)}
    pin = {"pin_version": "1", **common, "pytorch": torch["version"], **at, "base": base, **rest}
    document = {
        "lock_version": "1",
        **common,
        "pin_sha256": digest(pin),
        **at,
        "base": base,
        "torch": {"version": torch["version"], "build": torch["build"]},
        **rest,
        "host_requirements": {},
        "environment": {},
        "debs": [],
        "wheels": [],
        "inventory": inventory(facts["inventory"]),
    }
    try:
        documents.check(pin, "pin-1", "its pin")
        documents.check(document, "lock-1", "its lock")
    except KitError as error:  # the image's own words are in it
        raise KitError(f"{image.reference} cannot be locked: {error.message}", LOOK) from error
    if len(locks.dump(document)) > locks.MAX_BYTES:
        raise KitError(f"{image.reference} has more packages than a lock can hold", LOOK)
    return pin, document


def inventory(facts: dict[str, Any]) -> dict[str, dict[str, str]]:
    """Return what a lock keeps of the packages that were seen, by kind; a kind that has no tool here is left out."""
    wheels = {item["name"]: item["version"] for item in facts["wheels"]}
    kinds = {"deb": facts["debs"], "rpm": facts["rpms"], "wheel": wheels}
    return {kind: dict(sorted(packages.items())) for kind, packages in kinds.items() if packages is not None}


def release(rows: list[list[str]], build: str) -> str:
    """Return the ROCm release that the most direct source tells; `none` in an image that is not for ROCm."""
    versions = (re.match(r"\d+(\.\d+){1,2}", version) for _, version in rows)
    return next((found[0] for found in versions if found), "unknown" if build == "rocm" else "none")


def epoch(created: str) -> int:
    """Return when an image says that it was created, in seconds since 1970; 0 where it does not say."""
    try:
        seconds = datetime.fromisoformat(f"{created[:19]}+00:00").timestamp()
    except (ValueError, OverflowError):
        return 0
    return min(max(int(seconds), 0), MAX_EPOCH)


def name_of(base: dict[str, Any]) -> str:
    """Return a name that no other image's lock has: where it came from, and twelve digits of its digest."""
    words = re.sub(r"[^a-z0-9._]+", "-", f"{base['repo']}-{base['tag'] or ''}".lower()).strip("-._")
    return f"adopted-{words[:70].rstrip('-._')}-{base['digest'].partition(':')[2][:12]}"


def named(base: dict[str, Any]) -> str:
    """Return a base as people write it."""
    tag = f":{base['tag']}" if base["tag"] else ""
    return f"{base['repo']}{tag}@{base['digest']}"


def _base(repo: str, tag: str, value: str, kind: str) -> dict[str, Any]:
    return {"repo": repo, "tag": tag or None, "digest": value, "digest_kind": kind}


def _names(image: Looked) -> tuple[str, str]:
    """Return repository and tag of an engine's image: the name that it was asked for by, else its first."""
    asked = [text for text in (image.reference, f"{image.reference}:latest") if text in image.tags]
    for text in [*asked, *image.tags]:
        repo, _, tag = text.rpartition(":")
        if REPO.fullmatch(repo):
            return repo, tag
    return "unnamed", ""


def _repo(name: Reference) -> str:
    """Return registry and repository as locks write them: Docker Hub is not named."""
    return str(name.repository if name.registry == HUB else name.name)


def _pulled(engine: Engine, reference: str, bytes_packed: int) -> Looked:
    """Pull by digest, and return the image; KitError before that where its layers would not find room."""
    place = room.engine_place(engine.about()).get("engine")
    needed = room.pulled_bytes(bytes_packed)
    if place and there(place) and (free := free_bytes(place)) < needed:
        said = f"{reference} needs about {amount(needed, 'B')} while it is pulled, and {amount(free, 'B')} are free"
        raise KitError(said, room.REMEDIES["engine"].format(client=engine.about()["name"]))
    with Progress("pull", unit="B", then="the engine unpacks it") as progress:

        def follow(done: int, known: int) -> None:
            progress.total = known
            progress.advance(done - progress.done)

        engine.pull(reference, on_progress=follow)
    return inspect.require(engine, reference)
