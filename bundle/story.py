"""What a report says, in words and rows: Markdown, HTML and the card show the same, each in its own form.

Everything here follows from the evidence and the summary alone. Nothing is typed, nothing knows the time of day.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bundle import judging, kin, layout, rows
from bundle.format import count, interval, plain, quantity, share

if TYPE_CHECKING:
    from bundle.evidence import Evidence

SHOWN = 2  # figures among the claims
#: Stands with each figure of a user's own case.
OWN = "the user's own case, its work as its author counts it"
STATUSES = ("fail", "error", "warn", "skip", "pass")


@dataclass(frozen=True)
class Story:
    """The evidence with the figures computed from it."""

    evidence: Evidence
    summary: dict[str, Any] | None
    content_hash: str

    @property
    def figures(self) -> list[dict[str, Any]]:
        """The cases of the summary, in its order, each with `own`: whether it is of the user's own file."""
        results = self.evidence.results
        own = {case["case"] for case in results.protocol["cases"] if "file_sha256" in case} if results else set()
        return [case | {"own": case["case"] in own} for case in self.summary["cases"]] if self.summary else []

    @property
    def findings(self) -> list[dict[str, Any]]:
        """The findings, worst first, otherwise as found."""
        found = self.evidence.report.findings if self.evidence.report else []
        return sorted(found, key=lambda finding: STATUSES.index(finding["status"]))


def title(evidence: Evidence) -> str:
    """Return one line: device, software."""
    start = evidence.start
    return " · ".join([rows.devices(start), *(f"{name} {version}" for name, version in rows.software(evidence)[:2])])


def notice(evidence: Evidence, figures: dict[str, Any] | None) -> str | None:
    """Return what a reader must be told first, of the evidence and its summary; None when there is nothing."""
    said = []
    if not evidence.gpu:
        said.append(f"{layout.NOT_A_GPU_RESULT}: a CPU did the work, the figures say nothing about a GPU")
    if evidence.report is None:
        said.append(
            "without validation: nothing here shows that the software computes rightly, beyond each case's check"
        )
    elif bad := sum(finding["status"] in {"fail", "error"} for finding in evidence.report.findings):
        said.append(f"validation found {count(bad, 'failure')}")
    if missing := kin.missing_checks(evidence):
        said.append(f"validation incomplete: without {', '.join(missing)}")
    if not kin.same(evidence):
        said.append(kin.AT_ITS_WORD)
        if other := judging.otherwise(evidence):
            said.append(f"{count(other, 'finding')} would be judged otherwise by the kit that wrote this")
    if over := above_peak(figures):
        said.append(f"above the datasheet's peak, so doubtful: {', '.join(over)}")
    if evidence.results is None:
        said.append("without benchmarks")
    if evidence.results and any("file_sha256" in case for case in evidence.results.protocol["cases"]):
        said.append("measured with the user's own case, sealed in case/: how much work it does is its author's word")
    return "; ".join(said) or None


def above_peak(figures: dict[str, Any] | None) -> list[str]:
    """Return the cases that are faster than the datasheet allows."""
    return [case["case"] for case in figures["cases"] if (case["of_peak"] or 0) > 1] if figures else []


def claims(story: Story) -> list[str]:
    """Return what a bundle says, in a few lines: what ran on what, when, what was found, the first figures."""
    evidence = story.evidence
    start, results = evidence.start, evidence.results
    software = ", ".join(f"{name} {version}" for name, version in rows.software(evidence))
    lines = [
        f"on {rows.devices(start)} ({start['backend']})"
        + (f", {rows.driver(start)}" if start["host"]["driver"] else ""),
        f"with {software}; {'the image ' + start['image_id'] if start['image_id'] else 'no image: a host'}",
        f"at {start['started_at']}; validation: {validation_line(story)}",
    ]
    if results:
        processes = count(int(results.protocol["processes"]), "process", "processes")
        lines.append(f"suite {plain(results.protocol['suite'])}, {processes} a case: {benchmark_line(story)}")
    measured = [case for case in story.figures if case["value"] is not None]
    lines += [f"{plain(case['case'])}: {figure(case)}, {case['status']}" for case in measured[:SHOWN]]
    if rest := measured[SHOWN:]:
        own = sum(case["own"] for case in rest)
        lines[-1] += f"; and {count(len(rest), 'figure')} more" + (f", {own} of the user's own case" if own else "")
    return lines


def summary_line(story: Story) -> str:
    """Return in one line what was sealed: suite and figures, findings; what there is not is said."""
    results = story.evidence.results
    measured = f"suite {plain(results.protocol['suite'])}: {benchmark_line(story)}" if results else "without benchmarks"
    found = f"validation: {validation_line(story)}" if story.evidence.report else "without validation"
    return f"{measured}; {found}"


def figure(case: dict[str, Any]) -> str:
    """Return the headline of a case (of `Story.figures`) in words, and whose it is; or why it has none."""
    if case["value"] is None:
        return f"no figure: {plain(case['status'])}"
    said = interval(case["value"], case["low"], case["high"], case["unit"])
    return f"{said}; {OWN}" if case["own"] else said


def peak(case: dict[str, Any]) -> str:
    """Return the share of the datasheet's peak."""
    return share(case["of_peak"]) if case["of_peak"] is not None else "-"


def power(case: dict[str, Any]) -> str:
    """Return the mean power while sampling."""
    return quantity(case["power_w"], "W") if case["power_w"] is not None else "-"


def remarks(story: Story) -> rows.Rows:
    """Return each case that is not simply ok, with its status and every reason that its processes gave."""
    return [
        (case["case"], f"{case['status']}: {'; '.join(plain(reason) for reason in case['reasons'])}")
        for case in story.figures
        if case["reasons"]
    ]


def validation_line(story: Story) -> str:
    """Return the counts of the findings in one line."""
    if story.evidence.report is None:
        return "not in this bundle"
    found = [finding["status"] for finding in story.findings]
    parts = [
        f"{found.count(name)} {name}" for name in reversed(STATUSES) if found.count(name) or name in {"pass", "fail"}
    ]
    return " · ".join(parts)


def benchmark_line(story: Story) -> str:
    """Return in one line how many cases have a figure."""
    if story.evidence.results is None:
        return "not in this bundle"
    good = sum(case["value"] is not None for case in story.figures)
    samples = sum(len(series) for series in story.evidence.results.samples.values())
    return f"{good} of {count(len(story.figures), 'case')} measured · {count(samples, 'sample')}"


def commands(evidence: Evidence) -> rows.Rows:
    """Return three commands with what each does: check, rebuild, repeat."""
    name = evidence.lock["name"] if evidence.lock else None
    suite = (rows.timing(evidence.results.protocol) if evidence.results else "") or "smoke"
    own = "".join(f" --case bundle/{path}" for path in sorted(evidence.cases))
    check = ("./kit verify bundle", "check every byte, figure and finding again; needs neither GPU nor engine")
    if name and evidence.image:
        measure = (f"./kit reproduce --lock {name} --suite {suite}", "build, validate and measure on your own machine")
        if own:
            measure = (
                f"./kit benchmark --lock {name} --suite {suite}{own}",
                "measure the same case on your own machine",
            )
        return [
            check,
            ("./kit verify bundle --rebuild", "build the image from its lock again and compare it bit for bit"),
            measure,
        ]
    return [
        check,
        (f"python3 -m benchmarks --suite {suite}{own} > results.jsonl", "measure with your own Python and PyTorch"),
        (f"./kit bundle --results results.jsonl{own}", "seal what you measured, to hold it against this"),
    ]
