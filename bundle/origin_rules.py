"""Can the lock be one that was built, and is the image record that of a build from it?"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from bundle import layout, timing
from bundle.ledger import Disagreement

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bundle.evidence import Evidence

#: Bytes of the two blocks of zeros at the end of a tar.
SMALLEST_LAYER = 1024


def disagreements(evidence: Evidence) -> Iterator[Disagreement]:
    """Yield what a lock and the record of its image say that no build can have said."""
    lock, image = evidence.lock, evidence.image
    if lock:
        yield from _packages(lock, built=image is not None)
        if image is not None and evidence.start["backend"] not in {lock["torch"]["build"], "cpu"}:
            yield Disagreement(
                f"{layout.LOCK}: torch.build", lock["torch"]["build"], f"{evidence.start['backend']}, as it ran"
            )
    if image:
        yield from _record(image, evidence)
        if lock:
            yield from _of_the_lock(image, lock)


def _packages(lock: dict[str, Any], *, built: bool) -> Iterator[Disagreement]:
    for kind in ("debs", "wheels"):
        for name, count in Counter(package["name"] for package in lock[kind]).items():
            if count > 1:
                yield Disagreement(f"{layout.LOCK}: {kind}: {name}", f"{count} times", "once")
        for package in lock[kind] if built else ():
            if package["sha256"] is None:
                yield Disagreement(f"{layout.LOCK}: {kind}: {package['name']}", "no sha256", "one: an image was built")


def _of_the_lock(image: dict[str, Any], lock: dict[str, Any]) -> Iterator[Disagreement]:
    if image["channel"] != lock["channel"]:
        yield Disagreement(f"{layout.IMAGE}: channel", image["channel"], lock["channel"])
    wanted = f"{lock['base']['repo']}@{lock['base']['digest']}" if lock["base"] else "none"
    seen = image["base"]["reference"] if image["base"] else "none"
    if seen != wanted:
        yield Disagreement(f"{layout.IMAGE}: base", seen, wanted)


def _record(image: dict[str, Any], evidence: Evidence) -> Iterator[Disagreement]:
    twice, layers = image["built_twice"], image["diff_ids"]
    if twice and twice["identical"] and twice["differences"]:
        yield Disagreement(f"{layout.IMAGE}: built_twice", "identical, with differences", "one or the other")
    if image["base"] is None:  # bases of others repeat an empty layer, and engines count their bytes otherwise
        if len(set(layers)) != len(layers):
            yield Disagreement(f"{layout.IMAGE}: diff_ids", "a layer twice", "each layer once")
        if not image["size_bytes"] >= SMALLEST_LAYER * len(layers):
            yield Disagreement(f"{layout.IMAGE}: size_bytes", image["size_bytes"], f"{SMALLEST_LAYER} a layer or more")
    built, ran = timing.moment(image["built_at"]), timing.moment(evidence.start["started_at"])
    if built is None or (ran and built > ran + timing.OTHER_CLOCKS):
        yield Disagreement(f"{layout.IMAGE}: built_at", image["built_at"], f"a date, not after the run began, {ran}")
