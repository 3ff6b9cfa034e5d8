"""Seal a report and results, with the image and the lock they stand on, into a folder and a `.tar` of the same."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from bundle import agreement, identity, layout, reading, redaction, streams, writing
from bundle import story as tell
from bundle.evidence import Evidence, Report, Results, attempt, parse
from bundle.format import plain
from bundle.verify import judge
from bundle.views import summary, views
from schema import VERSION, canon
from schema.errors import KitError
from schema.stream import now

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

GIVE_CASE = "./kit bundle --case FILE"
OTHER_RUN = "one of these files belongs to another run: give those of one run"
MEASURE_AGAIN = "take the records as the run wrote them, or validate and measure again"


def seal(
    report_path: Path | None,
    results_path: Path | None,
    *,
    image: dict[str, Any] | None,
    lock: dict[str, Any] | None,
    out: Path,
    case: Path | None = None,
    created_at: str = "",
    names: Mapping[bytes, str] | None = None,
) -> dict[str, str]:
    """Write `out/bundle/` and `out/bundle.tar`; return {path, tar, bundle_hash, content_hash, title, summary}.

    The results may also be packed, as they lie in a bundle: what a bundle holds is sealed again so.

    Raises KitError, and writes nothing, unless all of it names the same image, lock (L) and sources (K), holds nothing
    that names a machine or a person (`names`; by default this machine's own), and verifies.
    """
    files = gather(report_path, results_path, image=image, lock=lock, case=case)
    writing.refuse_to_overwrite(out)
    try:
        manifest, files, summary = assemble(files, created_at=created_at or now(), names=names)
    except KitError as error:  # the user knows these records by the names of their files
        message = error.message.replace(layout.REPORT, str(report_path)).replace(layout.SAMPLES, str(results_path))
        raise KitError(message, error.hint or "take the file whole, as the run wrote it, or run it again") from error
    path = writing.write(files, out)
    return {
        "path": str(path),
        "tar": str(path.with_name(writing.ARCHIVE)),
        "bundle_hash": manifest["bundle_hash"],
        "content_hash": manifest["content_hash"],
        "title": manifest["title"],
        "summary": summary,
    }


def gather(
    report_path: Path | None,
    results_path: Path | None,
    *,
    image: dict[str, Any] | None,
    lock: dict[str, Any] | None,
    case: Path | None,
) -> dict[str, bytes]:
    """Return the evidence as it will lie in the bundle, but for what has to be derived from it."""
    files: dict[str, bytes] = {}
    if report_path:
        files[layout.REPORT] = _read(report_path)
    if results_path:
        data = _read(results_path)
        files[layout.SAMPLES] = b"".join(streams.unpack(data)) if results_path.suffix == ".gz" else data
    if image:
        files[layout.IMAGE] = _canonical(image, layout.IMAGE)
    if lock:
        files[layout.LOCK] = _canonical(lock, layout.LOCK)
    if case:
        name = re.sub(r"[^A-Za-z0-9_.-]", "_", case.name).lstrip(".-") or "case.py"
        files[layout.CASE_FOLDER + name] = _read(case)
    return files


class Assembled(NamedTuple):
    """A bundle to be written: its manifest, every file, and one line on what is in it."""

    manifest: dict[str, Any]
    files: dict[str, bytes]
    summary: str


def assemble(raw: dict[str, bytes], *, created_at: str, names: Mapping[bytes, str] | None = None) -> Assembled:
    """Return the bundle made from this evidence; KitError when it cannot be sealed."""
    identity.require_docstrings()
    files = dict(raw)
    redaction.refuse(files, dict(redaction.names() if names is None else names), raw.get(layout.LOCK, b""))
    if layout.SAMPLES in files:
        files[layout.SAMPLES] = streams.pack(files[layout.SAMPLES])
    evidence = understood(files)
    own_case(evidence)
    one_origin(evidence)
    if evidence.results:
        files[layout.PROTOCOL] = canon.dumps(evidence.results.protocol)
    figures = summary(evidence)
    files |= attempt("writing the reports", lambda: views(evidence, figures))
    manifest = describe(files, evidence, figures, created_at)
    files[layout.MANIFEST] = canon.dumps(manifest) + b"\n"
    verdict = judge(files)
    if verdict["verdict"] != "CONFIRMED":
        wrong = verdict["contradicted"][0]
        raise KitError(f"this would not verify: {_said(**wrong)}", MEASURE_AGAIN)
    return Assembled(manifest, files, tell.summary_line(tell.Story(evidence, figures, manifest["content_hash"])))


def understood(files: Mapping[str, bytes]) -> Evidence:
    """Return the evidence, parsed and held against its schemas."""
    found = {path: parse(path, data) for path, data in files.items() if path in layout.EVIDENCE}
    report: Report | None = found.get(layout.REPORT)
    results: Results | None = found.get(layout.SAMPLES)
    if report is None and results is None:
        raise KitError("there is nothing to seal: neither a report nor results", "validate and measure first")
    cases = {path: data for path, data in files.items() if path.startswith(layout.CASE_FOLDER)}
    return Evidence(found.get(layout.LOCK), found.get(layout.IMAGE), report, results, cases)


def own_case(evidence: Evidence) -> None:
    """Raise KitError unless the user's case file is given exactly where it was measured."""
    measured = agreement.own_files(evidence)
    given = {hashlib.sha256(data).hexdigest(): path.rpartition("/")[2] for path, data in evidence.cases.items()}
    if given and not measured:
        raise KitError("nothing here was measured with a case of your own", "seal it without --case")
    if wrong := [name for digest, name in given.items() if digest not in measured]:
        raise KitError(f"{wrong[0]} is not the file that was measured", f"{GIVE_CASE}, as it was when it ran")
    if measured - given.keys():
        raise KitError("the results are of your own case, and its file is not given", GIVE_CASE)


def one_origin(evidence: Evidence) -> None:
    """Raise KitError unless report, results, image and lock belong together, and agree with themselves."""
    for look, hint in ((agreement.strangers, OTHER_RUN), (agreement.disagreements, MEASURE_AGAIN)):
        if found := look(evidence):
            raise KitError(_said(*found[0]), hint)


def _said(what: str, seen: Any, expected: Any) -> str:
    return f"{what}: {plain(seen)}, expected {plain(expected)}"


def describe(
    files: Mapping[str, bytes], evidence: Evidence, figures: dict[str, Any] | None, created_at: str
) -> dict[str, Any]:
    """Return the manifest."""
    manifest = {
        "schema": "bundle-1",
        "kit_version": VERSION,
        "renderer_sha256": identity.renderer(),
        "created_at": created_at,
        "title": tell.title(evidence),
        "gpu_result": evidence.gpu,
        "notice": tell.notice(evidence, figures),
        "chain": identity.chain(evidence),
        "files": [
            {
                "path": path,
                "sha256": hashlib.sha256(data).hexdigest(),
                "size_bytes": len(data),
                "role": layout.role(path),
            }
            for path, data in sorted(files.items())
        ],
        "content_hash": identity.content_hash(evidence),
    }
    return {**manifest, "bundle_hash": identity.bundle_hash(manifest)}


def _canonical(document: dict[str, Any], path: str) -> bytes:
    try:
        return canon.dumps(document)
    except KitError as error:
        raise KitError(f"{path}: {error.message}", "take it as the kit wrote it, or build again") from error


def _read(path: Path) -> bytes:
    try:
        return reading.content(path, layout.MAX_TOTAL_BYTES)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise KitError(f"cannot read {path}: {reason}", "run validate and benchmark first") from error
