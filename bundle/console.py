"""Show records to a person as they come: one line a finding."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from bundle.format import interval, plain, printed, share, visible
from bundle.layout import AT_ITS_WORD, NO_MANIFEST, NOT_A_GPU_RESULT, THE_IMAGE
from bundle.rows import caution

if TYPE_CHECKING:
    from collections.abc import Callable

COLOURS = {"pass": "32", "warn": "33", "fail": "31", "error": "31", "skip": "2"}
WIDTH = 5


class Console:
    """Hand lines to `tell`; `colour` for a terminal, never with `NO_COLOR`, and never as the only sign."""

    def __init__(self, tell: Callable[[str], None], *, colour: bool) -> None:
        self.tell = tell
        self.colour = colour and not os.environ.get("NO_COLOR")

    def record(self, item: dict[str, Any]) -> None:
        """Show a record, if it is a finding: a benchmark tells its progress itself, on stderr."""
        if item["kind"] == "finding":
            self.finding(item)

    def finding(self, item: dict[str, Any]) -> None:
        """Show one finding: what was seen, or why it does not pass and the next step."""
        seen, reason = (plain(item[key]) if item.get(key) is not None else "" for key in ("seen", "reason"))
        said = f"{reason} [{seen}]" if reason and seen else reason or seen
        self._line(item["status"], f"{item['code']:<28} {said}".rstrip())
        if item.get("remedy"):
            self._line("", f"{'':<28} -> {plain(item['remedy'])}")

    def _line(self, status: str, text: str) -> None:
        word = f"{status:<{WIDTH}}"
        text = visible(text)
        if self.colour and status:
            word = f"\x1b[{COLOURS[status]}m{word}\x1b[0m"
        self.tell(f"{word} {text}".rstrip())


def counted(findings: list[dict[str, Any]], *, gpu_result: bool = True) -> str:
    """Return `12 pass, 2 warn, 3 skip`; in a line before it what a CPU's are not."""
    order = ("pass", "warn", "fail", "error", "skip")
    statuses = [finding["status"] for finding in findings]
    counts = ", ".join(f"{statuses.count(status)} {status}" for status in order if status in statuses) or "none"
    return printed([*_notice(gpu_result), counts])


def _notice(gpu_result: bool | None) -> list[str]:  # noqa: FBT001 - a fact, not a switch
    return [NOT_A_GPU_RESULT] if gpu_result is False else []


def image_lines(answer: dict[str, Any]) -> str:
    """Return what `build` answers, and what differed if two builds, or the committed identity, did."""
    lines = [f"image     {answer['image_id']}", f"manifest  {answer['manifest_digest'] or NO_MANIFEST}"]
    if "identical" in answer:
        lines.append("built twice: identical" if answer["identical"] else "built twice: NOT identical")
        lines += [f"  {item['path']}: {item['kind']} ({item['class']})" for item in answer["differences"]]
    for item in answer.get("unexpected", []):
        lines.append(f"NOT the image in {item['path']}: {item['field']} {item['built']}, there {item['committed']}")
    return printed(lines)


def verdict_lines(verdict: dict[str, Any], *, rebuild: bool = False) -> str:
    """Return a verdict: what is claimed, holds, does not, was not checked, nobody knows; the answer last.

    The answer says too where something hangs on sources that are not here, and with `rebuild`, for which the image was
    to be built again, why it was not.
    """
    lines = _notice(verdict["gpu_result"])
    lines += [f"claimed       {plain(item)}" for item in verdict["claimed"]]
    lines += [f"confirmed     {plain(item)}" for item in verdict["confirmed"]]
    lines += _contradicted(verdict)
    for key, word in (("not_checked", "not checked"), ("unknown", "unknown")):
        lines += [f"{word:<13} {plain(item['what'])}: {plain(item['reason'])}" for item in verdict[key]]
    lines += [f"note          {plain(item)}" for item in verdict["notes"]]
    return printed([*lines, _answer(verdict, rebuild=rebuild)])


def _contradicted(verdict: dict[str, Any]) -> list[str]:
    return [
        f"CONTRADICTED  {plain(item['what'])}: {plain(item['seen'])}, expected {plain(item['expected'])}"
        for item in verdict["contradicted"]
    ]


def _answer(verdict: dict[str, Any], *, rebuild: bool) -> str:
    levels = ", ".join(item["level"] for item in verdict["levels"] if item["verdict"] == verdict["verdict"])
    answer = f"{verdict['verdict']} at {levels or 'L0'}"
    if verdict["verdict"] == "CONFIRMED":
        reasons = {item["what"]: plain(item["reason"]) for item in verdict["not_checked"]}
        answer += f", but for {AT_ITS_WORD}" if AT_ITS_WORD in reasons else ""
        answer += f"; the image was not built again: {reasons[THE_IMAGE]}" if rebuild and THE_IMAGE in reasons else ""
    return answer


def demo_lines(shown: dict[str, Any]) -> str:
    """Return what `demo` found: the bundle's verdict, that of its copy with one byte changed, and whether it was so."""
    right = (shown["verdict"]["verdict"], shown["caught"]["verdict"]) == ("CONFIRMED", "CONTRADICTED")
    return printed(
        [
            *verdict_lines(shown["verdict"]).splitlines(),
            f"one byte of {shown['changed']} changed in a copy:",
            *_contradicted(shown["caught"]),
            _answer(shown["caught"], rebuild=False),
            f"the report, for a browser: {shown['report']}",
            "as it should be: the changed byte was caught" if right else "NOT as it should be: see above",
        ]
    )


def ending(answer: dict[str, Any]) -> str:
    """Return the last lines of `reproduce`: digest, findings, figures, bundle, verdict."""
    summary = answer["summary"]
    return printed(
        [
            *(f"{notice}: measured on {plain(summary['device'])}" for notice in _notice(summary["gpu_result"])),
            f"image     {answer['image_id']}",
            f"manifest  {answer['manifest_digest'] or NO_MANIFEST}",
            f"findings  {counted(answer['findings'])}",
            *(f"{'figures' if index == 0 else '':<9} {line}" for index, line in enumerate(_figures(summary))),
            f"bundle    {answer['bundle']}",
            f"verdict   {answer['verdict']['verdict']} at L0",
        ]
    )


def table(summary: dict[str, Any]) -> str:
    """Return the summary's cases as lines for a terminal, figures with their intervals; first what a CPU's are not."""
    return printed([*_notice(summary["gpu_result"]), *_figures(summary)])


def _figures(summary: dict[str, Any]) -> list[str]:
    lines = []
    for case in summary["cases"]:
        figure = interval(case["value"], case["low"], case["high"], case["unit"])
        if case["value"] is None:
            figure = plain("; ".join(case["reasons"])) or "no figure"
        elif case["of_peak"] is not None:
            figure += f", {share(case['of_peak'])} of peak"
        spread = f", {case['processes']} processes" if case["processes"] else ""
        lines.append(visible(f"{case['status']:<13} {case['case']:<28} {figure}{spread}"))
    return [*lines, said] if (said := caution(summary["cases"])) else lines
