"""Write `report.md`: the whole story as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bundle import rows
from bundle import story as tell
from bundle.format import count, plain
from bundle.layout import NOT_A_GPU_RESULT
from bundle.markup import code, markdown, table

if TYPE_CHECKING:
    from bundle.rows import Rows
    from bundle.story import Story


def markdown_report(story: Story) -> bytes:
    """Return the report."""
    evidence = story.evidence
    said = tell.notice(evidence, story.summary)
    lines = [
        *([notice(said), ""] if said else []),
        f"# {markdown(tell.title(evidence))}",
        "",
        f"Validation: {tell.validation_line(story)}  ",
        f"Benchmarks: {tell.benchmark_line(story)}  ",
        f"Measured: {evidence.start['started_at']}",
        "",
        "## Hardware",
        "",
        *terms(rows.hardware(evidence)),
        "",
        "## Image and software",
        "",
        *terms(rows.image(evidence)),
        "",
        *_environment(rows.environment(evidence)),
        "",
        "## Validation",
        "",
        *_validation(story),
        "",
        "## Benchmarks",
        "",
        *_benchmarks(story),
        "",
        "## How to reproduce",
        "",
        *[f"{index}. `{command}`: {text}" for index, (command, text) in enumerate(tell.commands(evidence), 1)],
        "",
        f"Content `{story.content_hash}`. Generated from the evidence; `VERIFY.md` says how to check it.",
        "",
    ]
    return "\n".join(lines).encode()


def notice(text: str) -> str:
    """Return the notice in Markdown, what is not a GPU result in bold."""
    if text.startswith(NOT_A_GPU_RESULT):
        return f"**{NOT_A_GPU_RESULT}**{markdown(text.removeprefix(NOT_A_GPU_RESULT))}"
    return f"**{markdown(text)}**"


def terms(said: Rows) -> list[str]:
    """Return the lines of a table of labels and texts."""
    return table(["", ""], [[markdown(label), markdown(text)] for label, text in said])


def figures(story: Story) -> list[str]:
    """Return the lines of the table of figures."""
    lines = [
        [
            code(case["case"]),
            markdown(tell.figure(case)),
            str(case["processes"]),
            f"{case['samples']:,}",
            tell.peak(case),
            tell.power(case),
            case["status"],
        ]
        for case in story.figures
    ]
    return table(["Case", "Figure (interval)", "Processes", "Samples", "Of peak", "Power", "Status"], lines)


def _environment(said: Rows) -> list[str]:
    if not said:
        return ["No variable that is known to influence results was set."]
    return ["Variables that influence results:", "", *terms(said)]


def _validation(story: Story) -> list[str]:
    if story.evidence.report is None:
        return ["There is no validation in this bundle."]
    lines = [[f"{finding['status']}", code(finding["code"]), _statement(finding)] for finding in story.findings]
    return [f"{count(len(lines), 'finding')}, worst first.", "", *table(["Status", "Code", "What was found"], lines)]


def _statement(finding: dict[str, Any]) -> str:
    seen = [(label, finding.get(label)) for label in ("seen", "expected")]
    text = " · ".join(f"{label} {plain(value)}" for label, value in seen if value is not None)
    parts = [
        markdown(finding.get("reason") or ""),
        markdown(text if len(text) <= 600 else f"{text[:600]}…"),
        f"Remedy: {code(finding['remedy'])}" if finding.get("remedy") else "",
    ]
    return "<br>".join(part for part in parts if part)


def _benchmarks(story: Story) -> list[str]:
    if story.evidence.results is None:
        return ["There are no benchmarks in this bundle."]
    odd = tell.remarks(story)
    remarks = ["", "What is odd about some of them:", "", *terms(odd)] if odd else []
    caution = rows.caution(story.figures)
    remarks += ["", markdown(caution)] if caution else []
    return [*figures(story), *remarks, "", "How it was measured:", "", *terms(rows.method(story.evidence))]
