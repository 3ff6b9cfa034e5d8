"""Say what has become of a lock's inputs since it was made: gone, changed, moved on, superseded. Nothing is changed."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pins import reach, registry
from pins.choice import numbers
from pins.references import Reference, parse
from pins.registry_client import Client
from pins.registry_errors import RegistryError
from pins.registry_places import mirrored
from pins.sources import Sources, inputs
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pins.lock import Lock
    from pins.reach import Reached
    from pins.store import Store

MAX_NAMED = 8
ONLINE = "run it again where the sources can be reached"
PLURAL = {"deb": "Debian packages", "wheel": "wheels"}


@dataclass(frozen=True)
class BaseFacts:
    """What registries say of a base today; each unknown stands with its reason."""

    name: Reference
    tag: str
    askable: bool = True
    digest_there: bool | None = None
    digest_reason: str = ""
    mirror_has_it: bool = False
    tag_leads_to: tuple[str, ...] | None = None
    tag_reason: str = ""


def check(
    lock: Lock, locks: Sequence[Lock], store: Store, *, sources: Sources | None = None, progress: bool = True
) -> list[dict[str, Any]]:
    """Return findings {code, status, seen, reason, remedy} on a lock; `locks` are all that are here.

    A digest or a file that nobody has any more fails; a tag that moved on, and a newer lock, are warnings: a build by
    digest is the same as ever. What gives no answer is an error, what nobody could ask is skipped, with the reason.
    KitError when a hash is unknown.
    """
    reached = reach.look(inputs(lock), sources or Sources(), progress=progress)
    found = [judge_inputs(kind, [one for one in reached if one.item.kind == kind], store, lock) for kind in PLURAL]
    found += judge_base(gather_base(lock.base)) if lock.base else []
    return [finding for finding in (*found, judge_age(lock, locks)) if finding]


def judge_inputs(kind: str, reached: list[Reached], store: Store, lock: Lock) -> dict[str, Any] | None:
    """Return the finding on the files of one kind; None where a lock has none."""
    if not reached:
        return None
    lost = [one for one in reached if one.state in {"gone", "changed"}]
    unknown, unasked = ([one for one in reached if one.state == state] for state in ("unknown", "unasked"))
    seen = {state: sum(one.state == state for one in reached) for state in reach.ORDER}
    counted = ", ".join(f"{state}: {count}" for state, count in seen.items() if count)
    code = f"inputs.{kind}"
    if lost:
        kept = [one for one in lost if store.has(one.item.sha256)]
        remedy = f"a mirror that was made earlier (KIT_SOURCE=...), or another lock: ./kit lock --pin {lock.name}"
        if len(kept) == len(lost):
            remedy = f"all of them are still in this machine's store: keep them, ./kit mirror DIR --lock {lock.name}"
        return _finding(code, "fail", counted, f"no source has {_named(lost)}", remedy)
    if unknown:
        return _finding(code, "error", counted, f"no answer about {_named(unknown)}", ONLINE)
    if unasked:
        return _finding(code, "skip", counted, f"not asked for: {_named(unasked)}")
    return _finding(code, "pass", f"{len(reached)} {PLURAL[kind]}, all of the recorded size at a source")


def gather_base(base: dict[str, Any]) -> BaseFacts:
    """Ask the registry of a base for its digest and its tag, and the registry that KIT_SOURCE names for the digest."""
    name = parse(base["repo"])
    if base["digest_kind"] == "config":
        why = "it is an image's own id, which no registry can be asked for"
        return BaseFacts(name.at(base["digest"]), "", askable=False, digest_reason=why, tag_reason=why)
    with closing(Client(name.registry)) as client:
        there, why = _there(name.at(base["digest"]), client)
        leads, tag_why = _leads(name.tagged(base["tag"]), client) if base["tag"] else (None, "no tag was recorded")
    mirror = mirrored(name.at(base["digest"]))
    has = False
    if mirror:
        with closing(Client(mirror.registry)) as client:
            has = _there(mirror, client)[0] or bool(_size(mirror, client))
    return BaseFacts(
        name.at(base["digest"]),
        base["tag"],
        digest_there=there,
        digest_reason=why,
        mirror_has_it=has,
        tag_leads_to=leads,
        tag_reason=tag_why,
    )


def judge_base(facts: BaseFacts) -> list[dict[str, Any]]:
    """Return the findings on a base's digest and on its tag."""
    return [_judge_digest(facts), _judge_tag(facts)]


def _judge_digest(facts: BaseFacts) -> dict[str, Any]:
    code, seen = "base.digest", str(facts.name)
    if facts.digest_there:
        return _finding(code, "pass", seen)
    if facts.mirror_has_it:
        return _finding(code, "warn", seen, f"{facts.digest_reason}; the registry of KIT_SOURCE has it")
    if facts.digest_there is None:
        return _unanswered(code, seen, facts.digest_reason, facts.askable)
    remedy = (
        "a copy could be in a registry that ./kit mirror oci://HOST/REPOSITORY filled (KIT_SOURCE=oci://...), or in an "
        "engine that pulled it (docker save); the tag is no copy, and is not taken"
    )
    return _finding(code, "fail", seen, facts.digest_reason, remedy)


def _judge_tag(facts: BaseFacts) -> dict[str, Any]:
    code = "base.tag"
    if facts.tag_leads_to is None:
        return _unanswered(code, facts.tag, facts.tag_reason, facts.askable and bool(facts.tag))
    if not facts.tag_leads_to:
        return _finding(code, "warn", facts.tag, f"{facts.tag_reason}; the digest is what counts")
    if facts.name.digest in facts.tag_leads_to:
        return _finding(code, "pass", f"{facts.tag} leads to the recorded digest")
    reason = f"the tag {facts.tag} has moved on to {facts.tag_leads_to[0]}; builds go on with the recorded digest"
    return _finding(code, "warn", facts.tag, reason, "a new pin with that digest is another lock, with another image")


def _unanswered(code: str, seen: str, reason: str, askable: bool) -> dict[str, Any]:  # noqa: FBT001 - a fact, no switch
    return _finding(code, "error" if askable else "skip", seen, reason, ONLINE if askable else "")


def judge_age(lock: Lock, locks: Sequence[Lock]) -> dict[str, Any]:
    """Return the finding on newer locks of the same channel and of the same line of ROCm: 7.2 for 7.2.4."""
    newer = [
        other
        for other in locks
        if (other.channel, _line(other)) == (lock.channel, _line(lock)) and _versions(other) > _versions(lock)
    ]
    if not newer:
        return _finding("lock.newest", "pass", f"the newest {lock.channel} lock of ROCm {_line(lock)} here")
    best = max(newer, key=_versions)
    reason = f"superseded by {best.name}: ROCm {best.rocm}, PyTorch {best.document['torch']['version']}"
    return _finding("lock.newest", "warn", lock.name, reason)


def _there(name: Reference, client: Client) -> tuple[bool | None, str]:
    """Say whether a registry has an image by digest: None, with the reason, where it cannot be asked.

    An index without its manifest for linux/amd64 is no image that can be pulled.
    """
    try:
        for digest in registry.leads_to(name, client):
            registry.present(name.at(digest), client)
    except KitError as error:
        gone = isinstance(error, RegistryError) and error.status == 404
        return False if gone else None, error.message
    return True, ""


def _leads(name: Reference, client: Client) -> tuple[tuple[str, ...] | None, str]:
    """Return the digests that a tag leads to; none where it is gone, None with the reason where nobody can be asked."""
    try:
        return registry.leads_to(name, client), ""
    except KitError as error:
        gone = isinstance(error, RegistryError) and error.status == 404
        return () if gone else None, error.message


def _size(name: Reference, client: Client) -> int | None:
    try:
        return client.size(name.repository, name.digest)
    except KitError:
        return None


def _versions(lock: Lock) -> list[tuple[int, ...]]:
    return [numbers(version) for version in (lock.rocm, lock.document["torch"]["version"], lock.document["python"])]


def _line(lock: Lock) -> str:
    return ".".join(lock.rocm.split(".")[:2])


def _named(reached: list[Reached]) -> str:
    shown = [f"{one.item.name} ({'; '.join(one.reasons)[:300]})" for one in reached[:MAX_NAMED]]
    return ", ".join(shown) + (f", and {len(reached) - MAX_NAMED} more" if len(reached) > MAX_NAMED else "")


def _finding(code: str, status: str, seen: Any, reason: str = "", remedy: str = "") -> dict[str, Any]:
    return {"code": code, "status": status, "seen": seen, "reason": reason or None, "remedy": remedy or None}
