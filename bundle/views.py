"""Make every generated file of a bundle from its evidence: sealing writes them, verifying makes them again."""

from __future__ import annotations

import csv
import io
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from benchmarks.summary import summarize
from bundle import card, guide, junit, layout, page, report
from bundle.evidence import attempt
from bundle.format import visible
from bundle.identity import content_hash
from bundle.story import Story
from schema import canon, documents
from schema.errors import KitError

if TYPE_CHECKING:
    from bundle.evidence import Evidence

#: Columns of the table for a spreadsheet, base units.
COLUMNS = (
    "case", "title", "group", "dtype", "unit", "direction", "status", "value", "low", "high", "seconds", "processes",
    "samples", "within", "between", "p5_s", "p95_s", "peak", "of_peak", "power_w", "own",
)  # fmt: skip

AGAIN = "validate and measure again: no device works at such a rate"
FORMULA = frozenset("=+-@")


def summary(evidence: Evidence) -> dict[str, Any] | None:
    """Return the statistics of the raw samples; None without results."""
    if evidence.results is None:
        return None
    run = evidence.results
    taken = {key: list(series) for key, series in run.samples.items()}
    found: dict[str, Any] = attempt(
        "computing the summary", lambda: summarize(run.start, run.processes, taken, run.telemetry)
    )
    try:
        canon.dumps(found)
    except KitError as error:
        raise KitError(f"the summary of the samples has a figure beyond all numbers: {error.message}", AGAIN) from error
    documents.check(found, "summary-1", "the summary")
    return found


def views(evidence: Evidence, figures: dict[str, Any] | None) -> dict[str, bytes]:
    """Return every file that is generated from the evidence and the summary computed from it, by path."""
    story = Story(evidence, figures, content_hash(evidence))
    files = {
        "hardware.json": canon.dumps(hardware(evidence)),
        "report.md": report.markdown_report(story),
        "report.html": page.html(story),
        "card.md": card.section(story),
        layout.GUIDE: guide.text(evidence),
        **{f"packages/{name}.txt": text for name, text in packages(evidence).items()},
    }
    if evidence.report:
        files["validate/junit.xml"] = junit.junit(asdict(evidence.report)).encode()
    if figures:
        files[layout.SUMMARY] = canon.dumps(figures)
        files["benchmarks/summary.csv"] = spreadsheet(story)
    return files


def hardware(evidence: Evidence) -> dict[str, Any]:
    """Return what ran and on what, out of the start record: a view for people and tools that want just this."""
    start = evidence.start
    keys = ("backend", "runtime", "devices", "host", "environment", "torch", "python")
    return {key: start[key] for key in keys}


def spreadsheet(story: Story) -> bytes:
    """Return the figures as CSV; an unknown value is an empty cell, `own` marks the user's own case."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for case in story.figures:
        writer.writerow([_cell(case[column]) for column in COLUMNS])
    return out.getvalue().encode()


def _cell(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    text = visible(value)
    # a spreadsheet would run text that begins so as a formula, spaces in front or not
    return f"'{text}" if text.lstrip()[:1] in FORMULA else text


def packages(evidence: Evidence) -> dict[str, bytes]:
    """Return the package lists that the validation saw, one `name version` a line: `pip` has Python's."""
    seen: dict[str, Any] = {}
    for record in evidence.report.facts if evidence.report else []:
        if record["check"] == "inventory":
            seen = record["facts"]
    debs, rpms, wheels = (seen.get(kind) for kind in ("debs", "rpms", "wheels"))
    listed = {
        "dpkg": list(debs.items()) if isinstance(debs, dict) else [],
        "rpm": list(rpms.items()) if isinstance(rpms, dict) else [],
        "pip": [(wheel.get("name"), wheel.get("version")) for wheel in wheels if isinstance(wheel, dict)]
        if isinstance(wheels, list)
        else [],
    }
    return {
        name: "".join(
            sorted(f"{visible(str(package))} {visible(str(version))}\n" for package, version in pairs)
        ).encode()
        for name, pairs in listed.items()
        if pairs
    }
