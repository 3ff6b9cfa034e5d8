"""Do the documents of a bundle belong together?"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from bundle import conduct, kin, layout, timing, witness
from bundle.evidence import attempt
from bundle.format import plain
from schema import canon
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bundle.evidence import Evidence

#: what, seen, expected
Disagreement = tuple[str, Any, Any]


def disagreements(evidence: Evidence) -> list[Disagreement]:
    """Return where the evidence contradicts itself, or the rules that it names; empty when it agrees."""
    parts = (_streams, _image, _lock, _cases, witness.breaches, conduct.breaches, timing.breaches, kin.breaches)
    try:
        found: list[Disagreement] = attempt("comparing it", lambda: [item for part in parts for item in part(evidence)])
    except KitError as error:
        return [("the evidence", error.message, "what can be compared")]
    return found


def _streams(evidence: Evidence) -> Iterator[Disagreement]:
    report, results = evidence.report, evidence.results
    if results and report is None and results.start["runtime"] != "host":
        yield "a container's results without a report", "no report", "a report of the same image"
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
            yield f"the results name another {said} than the report", results.start[key], report.start[key]
    # inside a container a machine may be unknown; two known ones must be the same
    one, other = (stream.start["host"]["identity"] for stream in (report, results))
    if one != other and (report.start["runtime"] == "host" or (one and other)):
        yield "the results are of another machine than the report", other, one
    then, now = _about(report.start), _about(results.start)
    for what, seen in now.items():
        if seen != then[what]:
            yield f"the results name another {what} than the report", plain(seen), plain(then[what])


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
            yield "an image with a run on the host", start["image_id"] or "an image record", "none"
        return
    if image is None:
        yield "image.json", "missing", f"the record of {start['image_id']}"
        return
    for key in ("image_id", "lock_sha256"):
        if image[key] != start[key]:
            yield f"image.json: {key}", image[key], start[key]


def _lock(evidence: Evidence) -> Iterator[Disagreement]:
    named, lock = evidence.start["lock_sha256"], evidence.lock
    if lock is None:
        if named:
            yield "lock.json", "missing", f"the lock with digest {named}"
    elif named is None:
        yield "lock.json", "a lock", "none: the run names none"
    elif (digest := canon.digest(lock)) != named:
        yield "lock.json: its digest", digest, named
    if lock and evidence.image and evidence.image["name"] != lock["name"]:
        yield "image.json: name", evidence.image["name"], lock["name"]


def _cases(evidence: Evidence) -> Iterator[Disagreement]:
    named = {case["file_sha256"] for case in _cases_of(evidence) if "file_sha256" in case}
    there = {hashlib.sha256(data).hexdigest() for data in evidence.cases.values()}
    for digest in sorted(named - there):
        yield f"{layout.CASE_FOLDER}: the user's case file", "missing", f"the file with digest {digest}"
    for digest in sorted(there - named):
        yield f"{layout.CASE_FOLDER}: a file that no case names", digest, "none"


def _cases_of(evidence: Evidence) -> list[dict[str, Any]]:
    return list(evidence.results.protocol["cases"]) if evidence.results else []
