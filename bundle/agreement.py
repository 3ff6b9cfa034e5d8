"""Do the documents of a bundle belong together?"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from bundle import (
    case_rules,
    cross_checks,
    device_rules,
    kin,
    layout,
    origin_rules,
    process_rules,
    protocol_rules,
    sensors,
    timing,
)
from bundle.evidence import attempt
from bundle.format import plain
from bundle.ledger import Disagreement
from schema import canon
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bundle.evidence import Evidence


def disagreements(evidence: Evidence) -> list[Disagreement]:
    """Return where the evidence contradicts itself, or the rules that it names; empty when it agrees."""
    return _found(evidence, (*BELONGING, *(part.disagreements for part in RULES)))


def strangers(evidence: Evidence) -> list[Disagreement]:
    """Return which documents are not of the one run; empty when they belong together."""
    return _found(evidence, BELONGING)


def _found(evidence: Evidence, parts: tuple[Callable[[Evidence], Iterator[Disagreement]], ...]) -> list[Disagreement]:
    try:
        found: list[Disagreement] = attempt("comparing it", lambda: [item for part in parts for item in part(evidence)])
    except KitError as error:
        return [Disagreement("the evidence", error.message, "what can be compared")]
    return found


def _streams(evidence: Evidence) -> Iterator[Disagreement]:
    report, results = evidence.report, evidence.results
    if results and report is None and results.start["runtime"] != "host":
        yield Disagreement("a container's results without a report", "no report", "a report of the same image")
    if not (report and results):
        return
    for key, said in (
        ("image_id", "image"),
        ("lock_sha256", "lock (L)"),
        ("cargo_sha256", "sources of the kit (K)"),
        ("runtime", "runtime"),
        ("backend", "backend"),
    ):
        if report.start[key] != results.start[key]:
            yield Disagreement(
                f"the results name another {said} than the report", results.start[key], report.start[key]
            )
    # inside a container a machine may be unknown; two known ones must be the same
    one, other = (stream.start["host"]["identity"] for stream in (report, results))
    if one != other and (report.start["runtime"] == "host" or (one and other)):
        yield Disagreement("the results are of another machine than the report", other, one)
    then, now = _about(report.start), _about(results.start)
    for what, seen in now.items():
        if seen != then[what]:
            yield Disagreement(f"the results name another {what} than the report", plain(seen), plain(then[what]))
    before, after = report.start["environment"], results.start["environment"]
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            what = f"the results name another value of {plain(name)} than the report"
            yield Disagreement(what, plain(after.get(name, "not set")), plain(before.get(name, "not set")))


def _about(start: dict[str, Any]) -> dict[str, Any]:
    """Return what two runs of one kit on one machine, one after the other, say alike."""
    keys = ["name", "pci", "gfx", "compute_capability", "compute_partition", "memory_partition", "driver", "vbios"]
    if start["backend"] != "cpu":  # how much of a machine a process may use can change
        keys += ["compute_units", "memory_bytes"]
    return {
        "Python": start["python"],
        "PyTorch": start["torch"],
        "kernel, processor or driver": {key: start["host"][key] for key in ("kernel", "architecture", "cpu", "driver")},
        "set of devices": [{key: device.get(key) for key in keys} for device in start["devices"]],
    }


def _image(evidence: Evidence) -> Iterator[Disagreement]:
    start, image = evidence.start, evidence.image
    if start["runtime"] == "host":
        if image or start["image_id"]:
            yield Disagreement("an image with a run on the host", start["image_id"] or "an image record", "none")
        return
    if image is None:
        yield Disagreement("image.json", "missing", f"the record of {start['image_id']}")
        return
    for key in ("image_id", "lock_sha256"):
        if image[key] != start[key]:
            yield Disagreement(f"image.json: {key}", image[key], start[key])


def _lock(evidence: Evidence) -> Iterator[Disagreement]:
    named, lock = evidence.start["lock_sha256"], evidence.lock
    if lock is None:
        if named:
            yield Disagreement("lock.json", "missing", f"the lock with digest {named}")
    elif named is None:
        yield Disagreement("lock.json", "a lock", "none: the run names none")
    elif (digest := canon.digest(lock)) != named:
        yield Disagreement("lock.json: its digest", digest, named)
    if lock and evidence.image and evidence.image["name"] != lock["name"]:
        yield Disagreement("image.json: name", evidence.image["name"], lock["name"])


def _cases(evidence: Evidence) -> Iterator[Disagreement]:
    named = own_files(evidence)
    there = {hashlib.sha256(data).hexdigest() for data in evidence.cases.values()}
    for digest in sorted(named - there):
        yield Disagreement(f"{layout.CASE_FOLDER}: the user's case file", "missing", f"the file with digest {digest}")
    for digest in sorted(there - named):
        yield Disagreement(f"{layout.CASE_FOLDER}: a file that no case names", digest, "none")


def own_files(evidence: Evidence) -> set[str]:
    """Return the digests of the user's own case files that were measured."""
    cases = evidence.results.protocol["cases"] if evidence.results else []
    return {case["file_sha256"] for case in cases if "file_sha256" in case}


RULES = (
    cross_checks, origin_rules, device_rules, case_rules, protocol_rules, process_rules, timing, sensors, kin,
)  # fmt: skip
BELONGING = (_streams, _image, _lock, _cases)
