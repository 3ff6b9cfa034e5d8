"""Do the documents of a bundle belong together, and does the run keep its own protocol?"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from bundle import layout
from schema import canon

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bundle.evidence import Evidence, Results

#: what, seen, expected
Disagreement = tuple[str, Any, Any]


def disagreements(evidence: Evidence) -> list[Disagreement]:
    """Return where report, results, image, lock and case files contradict each other; empty when they agree."""
    found = [*_streams(evidence), *_image(evidence), *_lock(evidence), *_cases(evidence)]
    if evidence.results:
        found += _protocol(evidence.results)
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


def _protocol(results: Results) -> Iterator[Disagreement]:
    """Compare what was run with what had been fixed before it: nothing added, nothing left out, in that order."""
    order = [(case, process) for case, process in results.protocol["order"]]
    known = {case["case"] for case in results.protocol["cases"]}
    if stray := sorted({case for case, _ in order} - known):
        yield f"{layout.PROTOCOL}: its order names a case it does not define", stray[0], "a case of the protocol"
    ran = {(run["case"], run["process"]): run for run in results.processes}
    if len(ran) != len(results.processes):
        yield f"{layout.SAMPLES}: a process stands twice", len(results.processes), len(ran)
    if missing := [key for key in order if key not in ran]:
        yield f"{layout.SAMPLES}: a process of the protocol did not report", _name(missing[0]), "one record each"
    if added := sorted(set(ran) - set(order)):
        yield f"{layout.SAMPLES}: a process that the protocol does not have", _name(added[0]), "none"
    for key, run in ran.items():
        place = int(run["order"])  # JSON Schema counts 1.0 among the integers
        if place < len(order) and order[place] != key:
            yield f"{layout.SAMPLES}: {_name(key)} ran out of order", place, _place(order, key)
        taken, said = len(results.samples.get(key, ())), (run.get("stop") or {}).get("samples")
        if said is not None and said != taken:
            yield f"{layout.SAMPLES}: samples of {_name(key)}", taken, said
    if stray_samples := sorted(set(results.samples) - set(ran)):
        yield f"{layout.SAMPLES}: samples of a process that did not report", _name(stray_samples[0]), "none"


def _place(order: list[tuple[str, int]], key: tuple[str, int]) -> int | None:
    return order.index(key) if key in order else None


def _name(key: tuple[str, int]) -> str:
    return f"{key[0]}, process {key[1]}"
