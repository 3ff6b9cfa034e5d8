"""Judge a bundle from anyone, without a GPU.

L0, in this order; a step that stands on something already found wrong is left out, and said so:

| step                                                                                               | module         |
|----------------------------------------------------------------------------------------------------|----------------|
| (1) read within bounds: no link, device or path that leaves; nothing extracted, nothing executed   | reading        |
| (2) `bundle.json`: strict JSON, its schema, canonical bytes, its own hash                          | manifest       |
| (3) files: those listed and no other, each with its size and digest                                | manifest       |
| (4) evidence: each document against its schema, each stream complete                               | evidence       |
| (5) belonging: report, results, image, lock and the user's case file are of one run                | agreement      |
|     what the checks saw is what report and results say of software and devices                     | cross_checks   |
|     lock, image, devices, cases and ends of processes can have been                                | *_rules        |
|     the run kept its protocol, and no status is better than its samples                            | protocol_rules |
|     the sensors' readings can have been, and samples are tagged by them                            | sensors        |
|     the times can have been                                                                        | timing         |
|     where K is that of the sources here, they would have fixed the same                            | kin            |
| (6) figures: the summary computed again from the raw samples, to the last digit                    | again          |
| (7) findings: judged again from the recorded facts                                                 | judging        |
| (8) views: every generated file made again, byte for byte where the same sources made it           | again          |
| L1  the image built again through `rebuild`, and compared                                          | image          |

What is hashed is what was read; nothing is re-encoded. What only the sources that ran can tell is said apart where they
are not those here.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from bundle import again, identity, image, judging, layout, reading
from bundle import manifest as about
from bundle import story as tell
from bundle.agreement import disagreements
from bundle.evidence import Evidence, attempt, parse
from bundle.format import count
from bundle.ledger import Disagreement, Ledger
from bundle.protocol_rules import CLAIMS
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bundle.image import Rebuild, Shipped, Unexpected


def verify(
    path: Path | str,
    *,
    rebuild: Rebuild | None = None,
    unexpected: Unexpected | None = None,
    shipped: Shipped | None = None,
) -> dict[str, Any]:
    """Return the verdict (verdict-1) on the folder or archive at `path`.

    `rebuild` takes the lock and returns the record (image-1) of an image built from it anew. It is called only when
    L0 holds: a lock from a bundle that contradicts itself is not worth running. Where it raises KitError, L1 is not
    checked, and says why. `unexpected` takes the image record and returns in what (`field`, `built`, `committed`,
    `path`) it differs from the identity that ships with the kit for its lock, `shipped` the name of a lock and returns
    the digest of the kit's own of that name. Raises KitError for what cannot be read, or tries to leave its place.
    """
    return judge(reading.read(Path(path)), rebuild=rebuild, unexpected=unexpected, shipped=shipped)


def exit_code(verdict: dict[str, Any], *, rebuild: bool) -> int:
    """Return 1 for a bundle that is contradicted, 2 where the image could not be built again as asked, else 0."""
    if verdict["verdict"] != "CONFIRMED":
        return 1
    levels = {item["level"]: item["verdict"] for item in verdict["levels"]}
    return 2 if rebuild and levels["L1"] == "NOT_CHECKED" else 0


def judge(
    files: Mapping[str, bytes],
    *,
    rebuild: Rebuild | None = None,
    unexpected: Unexpected | None = None,
    shipped: Shipped | None = None,
) -> dict[str, Any]:
    """Return the verdict on these files, already read."""
    identity.require_docstrings()
    ledger = Ledger()
    manifest = about.read(files[layout.MANIFEST], ledger)
    levels: dict[str, str] = {}
    if manifest is None:
        ledger.skip("everything else", f"{layout.MANIFEST} does not say what belongs here")
        levels["L0"] = "CONTRADICTED"
        return ledger.verdict(levels, bundle_hash=None, gpu_result=None)
    sealed = again.Sealed(files, manifest, about.files(files, manifest, ledger))
    evidence = _evidence(sealed, ledger)
    if evidence:
        figures = again.figures(sealed, evidence, ledger)
        ledger.claimed += _claims(tell.Story(evidence, figures, manifest["content_hash"]), ledger)
        image.as_committed(evidence, unexpected, ledger)
        image.another_lock(evidence, shipped, ledger)
        about.follows(sealed, evidence, figures, ledger)
        judging.findings(evidence, ledger)
        again.views(sealed, evidence, figures, ledger)
        _missing(evidence, ledger)
    elif not ledger.contradicted:  # nothing may pass for want of evidence
        ledger.contradict("the evidence", "none that can be used", "a report or results")
    levels["L0"] = "CONTRADICTED" if ledger.contradicted else "CONFIRMED"
    levels["L1"] = image.built_again(evidence, rebuild, ledger)
    ledger.skip("L2 to L4: findings, errors and speed on this machine", "they need a run on it")
    return ledger.verdict(levels, bundle_hash=manifest["bundle_hash"], gpu_result=manifest["gpu_result"])


def _evidence(sealed: again.Sealed, ledger: Ledger) -> Evidence | None:
    """Steps 4 and 5. None when the evidence is not there, not all as sealed, or does not belong together."""
    paths = [item["path"] for item in sealed.manifest["files"] if layout.role(item["path"]) == "evidence"]
    if broken := [path for path in paths if path not in sealed.sound]:
        ledger.skip("what follows from the evidence", f"{broken[0]} is not as it was sealed")
        return None
    parsed = {path: _parsed(path, sealed.files[path], ledger) for path in paths}
    if None in parsed.values():
        return None
    cases = {path: data for path, data in parsed.items() if path.startswith(layout.CASE_FOLDER)}
    streams = parsed.get(layout.REPORT), parsed.get(layout.SAMPLES)
    evidence = Evidence(parsed.get(layout.LOCK), parsed.get(layout.IMAGE), *streams, cases)
    wrong = list(_disagreements(evidence, parsed.get(layout.PROTOCOL)))
    for what, seen, expected in wrong:
        ledger.contradict(what, seen, expected)
    if wrong:
        return None
    told = sum(path in layout.EVIDENCE for path in paths)
    ledger.confirmed.append(f"the evidence follows its schemas: {count(told, 'document')}, each stream complete")
    return evidence


def _disagreements(evidence: Evidence, protocol: Any) -> Iterator[Disagreement]:
    """Yield what keeps the evidence from being used as a whole."""
    if evidence.report is None and evidence.results is None:
        yield Disagreement("the evidence", "neither a report nor results", "at least one of them")
        return
    if protocol != (evidence.results.protocol if evidence.results else None):
        yield Disagreement(layout.PROTOCOL, "another protocol", "the protocol of the run, and none without a run")
    try:
        identity.content_hash(evidence)
    except KitError as error:  # a number beyond all bounds: a schema lets it pass
        yield Disagreement("the evidence", error, "what canonical JSON can say")
        return
    yield from disagreements(evidence)


def _parsed(path: str, data: bytes, ledger: Ledger) -> Any:
    """Return one evidence file, parsed; None when it is not what it must be."""
    try:
        return parse(path, data)
    except KitError as error:
        ledger.contradict(path, error, "a document that follows its schema")
        return None


def _claims(story: tell.Story, ledger: Ledger) -> list[str]:
    try:
        found: list[str] = attempt("saying what it claims", lambda: tell.claims(story))
    except KitError as error:
        ledger.contradict("the evidence", error, "evidence that can be reported")
        return []
    return found


def _missing(evidence: Evidence, ledger: Ledger) -> None:
    """Say what the bundle does not hold, and which figures could not be had."""
    if evidence.report is None:
        ledger.skip("validation", "the bundle has none: it holds benchmarks alone")
    if evidence.results is None:
        ledger.skip("benchmarks", "the bundle has none: it holds a validation alone")
    for run in evidence.results.processes if evidence.results else []:
        if run["status"] not in CLAIMS:
            ledger.miss(f"{run['case']}, process {run['process']}", f"{run['status']}: {run['reason']}")
    if evidence.start["host"]["driver"] is None:
        ledger.miss("GPU driver", "none was seen")
