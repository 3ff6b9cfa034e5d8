"""Is the image the one that its lock gives: by the identity that ships with the kit, and built again?"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bundle import layout
from schema import documents
from schema.errors import KitError

if TYPE_CHECKING:
    from bundle.evidence import Evidence
    from bundle.ledger import Ledger

#: Takes a lock; returns the record (image-1) of an image built from it anew.
Rebuild = Callable[[dict[str, Any]], dict[str, Any]]
#: Takes an image record; returns in what it differs from the identity that ships with the kit for its lock.
Unexpected = Callable[[dict[str, Any]], list[dict[str, str]]]
#: Takes the name of a lock; returns the digest of the lock of that name that ships with the kit, None without one.
Shipped = Callable[[str], str | None]


def as_committed(evidence: Evidence, unexpected: Unexpected | None, ledger: Ledger) -> None:
    """Compare the image with the identity that ships with the kit for the same lock, where there is one."""
    for item in unexpected(evidence.image) if unexpected and evidence.image else ():
        ledger.contradict(
            f"{layout.IMAGE}: {item['field']}", item["built"], f"{item['committed']}, as {item['path']} says"
        )


def another_lock(evidence: Evidence, shipped: Shipped | None, ledger: Ledger) -> None:
    """Note a lock that bears the name of one of ours and is another: no identity is committed for its image."""
    lock, digest = evidence.lock, evidence.start["lock_sha256"]
    ours = shipped(lock["name"]) if lock and shipped else None
    if lock and ours not in {None, digest}:
        ledger.notes.append(
            f"a lock of this name ships with the kit, and this is another: {lock['name']} here {digest}, with the kit "
            f"{ours}; so its image is held against no committed identity"
        )


def built_again(evidence: Evidence | None, rebuild: Rebuild | None, ledger: Ledger) -> str:
    """Return the verdict of L1: build the image from its lock again, and compare every identity."""
    what = layout.THE_IMAGE
    if evidence is None or ledger.contradicted:
        ledger.skip(what, "L0 does not hold")
    elif evidence.image is None or evidence.lock is None:
        ledger.skip(what, "measured on a host: there is no image")
    elif _exists(evidence.lock) and evidence.lock["base"]["digest_kind"] == "config":
        ledger.skip(what, "it existed before its lock, which knows it by its own id: nothing builds it")
    elif rebuild is None:
        ledger.skip(what, "--rebuild builds it from its lock and compares")
    else:
        try:
            built, recorded = rebuild(evidence.lock), evidence.image
            documents.check(built, "image-1", "the rebuilt image")
        except KitError as error:
            ledger.skip(
                what, f"it could not be built again: {error.message}" + (f"; {error.hint}" if error.hint else "")
            )
            return "NOT_CHECKED"
        for key in ("lock_sha256", "image_id", "manifest_digest"):
            ledger.equal(f"rebuilt image: {key}", built[key], recorded[key])
        if built["diff_ids"] != recorded["diff_ids"]:
            ledger.contradict("rebuilt image: layers", *_layers(built["diff_ids"], recorded["diff_ids"]))
        if not ledger.contradicted:
            how = "is a published one, had again by its digest" if _exists(evidence.lock) else "was built again"
            ledger.confirmed.append(f"the image {how}, bit for bit: {built['image_id']}")
        return "CONTRADICTED" if ledger.contradicted else "CONFIRMED"
    return "NOT_CHECKED"


def _exists(lock: dict[str, Any]) -> bool:
    """Say whether the image is the lock's base, to which nothing is added."""
    return bool(lock["base"] and not (lock["debs"] or lock["wheels"] or lock["environment"]))


def _layers(built: list[str], recorded: list[str]) -> tuple[str, str]:
    """Say which layers differ: a base that moved, or what we built."""
    if len(built) != len(recorded):
        return f"{len(built)} layers", f"{len(recorded)} layers"
    differ = [index for index, pair in enumerate(zip(built, recorded, strict=True), 1) if pair[0] != pair[1]]
    place = f"layer {', '.join(map(str, differ))} of {len(built)}"
    return f"{place}: {built[differ[0] - 1]}", f"{place}: {recorded[differ[0] - 1]}"
