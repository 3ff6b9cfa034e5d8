"""Write `report.html`: one page without network and without script, for a phone, a desk and paper.

The policy in its head forbids everything but its own style sheet, so that even a slip in escaping could run nothing.
"""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bundle import rows
from bundle import story as tell
from bundle.chart import charts, precision
from bundle.format import count, headline, plain
from bundle.layout import NOT_A_GPU_RESULT
from bundle.markup import Html, join, tag

if TYPE_CHECKING:
    from bundle.rows import Rows
    from bundle.story import Story

STYLE = Path(__file__).with_suffix(".css").read_text(encoding="utf-8")


def html(story: Story) -> bytes:
    """Return the page."""
    name = tell.title(story.evidence)
    fingerprint = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{fingerprint}'; base-uri 'none'; form-action 'none'"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", f"{name} · ROCm Repro Kit"),
        tag("style", Html(STYLE)),
    )
    body = tag(
        "main",
        _header(story, name),
        _section("Hardware", _terms(rows.hardware(story.evidence))),
        _section("Image and software", _terms(rows.image(story.evidence), mono=True), _environment(story)),
        _validation(story),
        _figures(story),
        _reproduce(story),
        _footer(story),
    )
    page = tag("html", head, tag("body", body), lang="en")
    return f"<!doctype html>\n{page}\n".encode()


def _header(story: Story, name: str) -> Html:
    notice = tell.notice(story.evidence, story.summary)
    tiles = [
        ("Validation", tell.validation_line(story)),
        ("Benchmarks", tell.benchmark_line(story)),
        ("Measured", story.evidence.start["started_at"].replace("T", " ").replace("Z", " UTC")),
    ]
    return tag(
        "header",
        _notice(notice) if notice else None,
        tag("p", "ROCm Repro Kit · reproducibility bundle", class_="kit"),
        tag("h1", name),
        tag("ul", *(tag("li", tag("b", label), tag("span", text)) for label, text in tiles), class_="tiles"),
    )


def _notice(text: str) -> Html:
    if text.startswith(NOT_A_GPU_RESULT):
        return tag("p", tag("strong", NOT_A_GPU_RESULT), text.removeprefix(NOT_A_GPU_RESULT), class_="notice")
    return tag("p", text, class_="notice")


def _section(heading: str, *children: Html | None) -> Html:
    return tag("section", tag("h2", heading), *children)


def _terms(said: Rows, *, mono: bool = False) -> Html:
    items = []
    for label, text in said:
        css = "mono" if mono and len(text) >= 64 and " " not in text else None
        items += [tag("dt", label), tag("dd", text, class_=css)]
    return tag("dl", *items)


def _environment(story: Story) -> Html:
    said = rows.environment(story.evidence)
    if not said:
        return tag("p", "No variable that is known to influence results was set.", class_="soft")
    return join(tag("h3", "Variables that influence results"), _terms(said))


def _validation(story: Story) -> Html:
    if story.evidence.report is None:
        return _section("Validation", tag("p", "There is no validation in this bundle."))
    told = [finding for finding in story.findings if finding["status"] != "pass"]
    passed = [finding for finding in story.findings if finding["status"] == "pass"]
    return _section(
        "Validation",
        tag("p", tell.validation_line(story)),
        _findings(told) if told else None,
        tag("details", tag("summary", f"{count(len(passed), 'finding')} passed"), _findings(passed))
        if passed
        else None,
    )


def _findings(findings: list[dict[str, Any]]) -> Html:
    lines = [
        tag(
            "tr",
            tag("td", tag("span", finding["status"], class_=f"status {finding['status']}")),
            tag("td", tag("code", finding["code"])),
            tag("td", *_statement(finding)),
        )
        for finding in findings
    ]
    return _table(["Status", "Code", "What was found"], lines, "findings")


def _statement(finding: dict[str, Any]) -> list[Html]:
    parts = [tag("div", finding["reason"])] if finding.get("reason") else []
    seen = [(label, finding.get(label)) for label in ("seen", "expected")]
    text = " · ".join(f"{label} {plain(value)}" for label, value in seen if value is not None)
    if text:
        parts.append(tag("div", text if len(text) <= 600 else f"{text[:600]}…", class_="soft"))
    if finding.get("remedy"):
        parts.append(tag("p", "Remedy: ", tag("code", finding["remedy"]), class_="remedy"))
    return parts


def _figures(story: Story) -> Html:
    if story.evidence.results is None:
        return _section("Benchmarks", tag("p", "There are no benchmarks in this bundle."))
    odd, caution = tell.remarks(story), rows.caution(story.figures)
    return _section(
        "Benchmarks",
        charts(story.figures),
        precision(story.figures),
        LEGEND,
        tag("h3", "The same in numbers"),
        _table(
            ["Case", "Figure (interval)", "Processes", "Samples", "Of peak", "Power", "Status"],
            [_case(case) for case in story.figures],
            "figures",
        ),
        tag("p", caution, class_="soft") if caution else None,
        join(tag("h3", "What is odd about some of them"), _terms(odd)) if odd else None,
        tag("h3", "How it was measured"),
        _terms(rows.method(story.evidence)),
    )


def _case(case: dict[str, Any]) -> Html:
    value, ends = headline(case["value"], case["low"], case["high"], case["unit"])
    own = tell.OWN if case["own"] and case["value"] is not None else ""
    if case["value"] is None:
        value = tell.figure(case)  # which says why
    return tag(
        "tr",
        tag("td", tag("code", case["case"]), tag("div", plain(case["title"]), class_="soft")),
        tag("td", tag("b", value), *(tag("div", said, class_="soft") for said in (ends, own) if said)),
        tag("td", str(case["processes"]), data_label="processes", class_="short"),
        tag("td", f"{case['samples']:,}", data_label="samples", class_="short"),
        tag("td", tell.peak(case), data_label="of datasheet peak", class_="short"),
        tag("td", tell.power(case), data_label="power", class_="short"),
        tag("td", case["status"], data_label="status", class_="short"),
    )


def _table(head: list[str], lines: list[Html], css: str | None = None) -> Html:
    heads = (tag("th", text, scope="col") for text in head)
    return tag("table", tag("thead", tag("tr", *heads)), tag("tbody", *lines), class_=css)


def _mark(*shapes: Html) -> Html:
    return tag("svg", *shapes, width=22, height=16, aria_hidden="true")


LEGEND = tag(
    "ul",
    tag("li", _mark(tag("circle", cx=11, cy=8, r=5, class_="dot")), "figure"),
    tag("li", _mark(tag("line", x1=4, x2=18, y1=8, y2=8, class_="interval")), "its interval"),
    tag("li", _mark(tag("circle", cx=11, cy=8, r=3, class_="process")), "median of one process"),
    tag("li", _mark(tag("line", x1=11, x2=11, y1=1, y2=15, class_="peak")), "datasheet peak, where known"),
    tag("li", _mark(tag("circle", cx=11, cy=8, r=5, class_="dot flagged")), "flagged, or no useful interval"),
    class_="legend",
)


def _reproduce(story: Story) -> Html:
    items = [
        tag("li", tag("span", f"{text[0].upper()}{text[1:]}:"), tag("pre", tag("code", command)))
        for command, text in tell.commands(story.evidence)
    ]
    return _section("How to reproduce", tag("ol", *items))


def _footer(story: Story) -> Html:
    return tag(
        "footer",
        tag("p", "Content ", tag("code", story.content_hash)),
        tag("p", "Generated from the evidence in this bundle; nothing here was typed. VERIFY.md says how to check it."),
    )
