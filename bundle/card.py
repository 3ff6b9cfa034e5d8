"""The model-card section: write it, and put it between markers into a README without touching another byte."""

from __future__ import annotations

import errno
import os
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bundle import layout, rows
from bundle import story as tell
from bundle.format import count, plain, share
from bundle.identity import content_hash
from bundle.markup import code, markdown, table
from bundle.report import notice, terms
from schema.errors import KitError

if TYPE_CHECKING:
    from bundle.evidence import Evidence
    from bundle.story import Story

BEGIN = b"<!-- repro-bundle:begin"
END = b"<!-- repro-bundle:end -->"
#: An interval from fewer fresh processes is no headline.
HEADLINE_PROCESSES = 5
_ANY_MARKER = re.compile(rb"<!--\s*repro-bundle\b")
_BLOCK = re.compile(rb"<!-- repro-bundle:begin(?: [a-z0-9_]+=[a-z0-9]+)* -->.*?<!-- repro-bundle:end -->", re.DOTALL)


def section(story: Story) -> bytes:
    """Return `card.md`: hardware, versions, throughput, configuration, image, packages, how to verify."""
    evidence = story.evidence
    said = tell.notice(evidence, story.summary)
    lines = [
        *([notice(said), ""] if said else []),
        f"## Reproducible results: {markdown(rows.devices(evidence.start))}",
        "",
        f"Validation: {tell.validation_line(story)}  ",
        f"Benchmarks: {tell.benchmark_line(story)}  ",
        f"Measured: {evidence.start['started_at']}",
        "",
        *_throughput(story),
        "### Hardware",
        "",
        *terms(rows.hardware(evidence)),
        "",
        "### Software",
        "",
        *terms(rows.image(evidence)),
        "",
        _packages(evidence),
        "",
        "### Configuration",
        "",
        *terms([*rows.method(evidence), ("Variables", _variables(evidence))]),
        "",
        "### Verify",
        "",
        *[f"- `{command}`: {text}" for command, text in tell.commands(evidence)],
        f"- content `{story.content_hash}`",
        "",
    ]
    return "\n".join(lines).encode()


def _throughput(story: Story) -> list[str]:
    if story.evidence.results is None:
        return []
    lines = [
        [
            code(case["case"]),
            code(case["dtype"]),
            markdown(tell.figure(case)),
            str(case["processes"]),
            tell.peak(case),
            markdown(case["status"]),
        ]
        for case in story.figures
    ]
    fewest = processes(story.figures)
    few = f"From {count(fewest, 'process', 'processes')} a case: a quick run, not a headline."
    quick = [few, ""] if fewest < HEADLINE_PROCESSES else []
    head = ["Case", "Type", "Figure (95 % interval)", "Processes", "Of peak", "Status"]
    if story.summary and story.summary["confidence"] != 0.95:
        head[2] = f"Figure ({share(story.summary['confidence'])} interval)"
    caution = rows.caution(story.figures)
    return ["### Throughput", "", *quick, *table(head, lines), "", *([markdown(caution), ""] if caution else [])]


def processes(cases: list[dict[str, Any]]) -> int:
    """Return the fewest processes behind any figure; 0 without figures."""
    return min((case["processes"] for case in cases if case["value"] is not None), default=0)


def _packages(evidence: Evidence) -> str:
    if evidence.lock:
        return "Every package is in the bundle's `lock.json` by version and sha256."
    return "The packages found are in the bundle's `packages/` where the validation listed them."


def _variables(evidence: Evidence) -> str:
    return "; ".join(f"{name}={value}" for name, value in rows.environment(evidence)) or "none set that matter"


def insert(readme: bytes, text: bytes, *, bundle_hash: str = "") -> bytes:
    """Return the README with the section between its markers, at its end if there were none.

    Every other byte is kept, whatever its encoding; the README's line ends are followed. A second call changes
    nothing. Damaged markers (one alone, a pair twice, in the wrong order) are refused.
    """
    if _ANY_MARKER.search(text):
        raise KitError("the section itself holds a marker of ours", "seal the bundle again")
    newline = b"\r\n" if b"\r\n" in readme else b"\n"
    opening = BEGIN + (f" sha256={bundle_hash}".encode() if bundle_hash else b"") + b" -->"
    block = (opening + b"\n" + text.replace(b"\r\n", b"\n").rstrip(b"\n") + b"\n" + END).replace(b"\n", newline)
    found = _BLOCK.findall(readme)
    markers = len(_ANY_MARKER.findall(readme))
    if markers != 2 * len(found) or len(found) > 1 or (found and len(_ANY_MARKER.findall(found[0])) != 2):
        raise KitError(
            "the card's markers are damaged",
            f"leave one {BEGIN.decode()} --> and, after it, one {END.decode()}, or none",
        )
    if found:
        return readme.replace(found[0], block)
    gap = b"" if not readme else newline if readme.endswith(b"\n") else 2 * newline
    return readme + gap + block + newline


def permit(gpu_result: bool, summary: dict[str, Any] | None, *, allow_cpu: bool, allow_quick: bool) -> None:  # noqa: FBT001 - a fact, not a switch
    """Raise KitError unless these figures may stand on a model card."""
    if summary is None:
        raise KitError("the bundle has no benchmarks to put on a card", "measure, and seal again")
    fewest, weak = processes(summary["cases"]), {}
    if not gpu_result and not allow_cpu:
        weak["--allow-cpu"] = f"{layout.NOT_A_GPU_RESULT}: a CPU's figures say nothing about a GPU"
    if fewest < HEADLINE_PROCESSES and not allow_quick:
        found = count(fewest, "process", "processes")
        weak["--allow-quick"] = f"the figures come from {found} a case, a headline needs {HEADLINE_PROCESSES}"
    if weak:
        hint = f"measure on a GPU with --suite publish, or say {' '.join(weak)}"
        raise KitError("; ".join(weak.values()), hint)


def put(bundle: Path, readme: Path, *, allow_cpu: bool = False, allow_quick: bool = False) -> dict[str, Any]:
    """Put the card section of a bundle, once it is verified, into `readme`; return what was done.

    The section is written here, from the evidence: the one in the bundle may be by sources that nobody here knows.
    """
    from bundle import reading, views
    from bundle.seal import understood
    from bundle.verify import judge

    _refuse(readme, bundle)
    files = reading.read(bundle)
    verdict = judge(files)
    if verdict["verdict"] != "CONFIRMED":
        wrong = ", ".join(plain(item["what"]) for item in verdict["contradicted"][:3])
        raise KitError(f"the bundle does not verify: {wrong}", "run verify on it for all that is wrong")
    evidence = understood(files)
    figures = views.summary(evidence)
    permit(verdict["gpu_result"], figures, allow_cpu=allow_cpu, allow_quick=allow_quick)
    text = section(tell.Story(evidence, figures, content_hash(evidence)))
    created = not readme.exists()
    try:
        before = b"" if created else readme.read_bytes()
        after = insert(before, text, bundle_hash=verdict["bundle_hash"])
        if after != before:
            _replace(readme, after)
    except OSError as error:
        hint = "make room there" if error.errno in {errno.ENOSPC, errno.EDQUOT} else "name a card that you may write"
        raise KitError(f"cannot write {readme}: {error.strerror}", hint) from error
    return {
        "card": str(readme),
        "bundle_hash": verdict["bundle_hash"],
        "changed": after != before,
        "created": created,
    }


def _refuse(readme: Path, bundle: Path) -> None:
    """Raise KitError unless a card may stand at this path: a regular file or none, and its own."""
    if not readme.name or (os.path.lexists(readme) and not readme.is_file()):
        raise KitError(f"{readme} is not a regular file", "name the model card, e.g. README.md")
    if bundle.resolve() in readme.resolve().parents:
        raise KitError(f"{readme} belongs to the bundle, which it would break", "name a card outside of it")
    if readme.exists() and readme.stat().st_nlink > 1:
        raise KitError(f"{readme} has other names (hard links), which would part from it", "make a copy of it first")


def _replace(path: Path, content: bytes) -> None:
    """Write a file so that a crash leaves the old or the new one; a link is followed, mode and owner are kept."""
    path = path.resolve()
    before = path.stat() if path.exists() else None
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fchmod(stream.fileno(), before.st_mode & 0o777 if before else 0o644)
            if before and os.geteuid() == 0:  # only root writes cards of others
                os.fchown(stream.fileno(), before.st_uid, before.st_gid)
            os.fsync(stream.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
