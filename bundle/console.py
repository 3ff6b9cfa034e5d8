"""Show records to a person as they come: one line a finding."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from bundle.format import interval, plain, printed, share, visible
from bundle.layout import AT_ITS_WORD, NOT_A_GPU_RESULT

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


def counted(findings: list[dict[str, Any]]) -> str:
    """Return `12 pass, 2 warn, 3 skip`."""
    order = ("pass", "warn", "fail", "error", "skip")
    statuses = [finding["status"] for finding in findings]
    return ", ".join(f"{statuses.count(status)} {status}" for status in order if status in statuses) or "none"


def image_lines(answer: dict[str, Any]) -> str:
    """Return what `build` answers, and what differed if two builds, or the committed identity, did."""
    lines = [f"image     {answer['image_id']}", f"manifest  {answer['manifest_digest']}"]
    if "identical" in answer:
        lines.append("built twice: identical" if answer["identical"] else "built twice: NOT identical")
        lines += [f"  {item['path']}: {item['kind']} ({item['class']})" for item in answer["differences"]]
    for item in answer.get("unexpected", []):
        lines.append(f"NOT the image in {item['path']}: {item['field']} {item['built']}, there {item['committed']}")
    return printed(lines)


def verdict_lines(verdict: dict[str, Any]) -> str:
    """Return a verdict: what is claimed, holds, does not, was not checked, nobody knows; the answer last.

    The answer says too where something hangs on sources that are not here.
    """
    lines = [f"**{NOT_A_GPU_RESULT}**"] if verdict["gpu_result"] is False else []
    lines += [f"claimed       {plain(item)}" for item in verdict["claimed"]]
    lines += [f"confirmed     {plain(item)}" for item in verdict["confirmed"]]
    for item in verdict["contradicted"]:
        said = f"{plain(item['seen'])}, expected {plain(item['expected'])}"
        lines.append(f"CONTRADICTED  {plain(item['what'])}: {said}")
    for key, word in (("not_checked", "not checked"), ("unknown", "unknown")):
        lines += [f"{word:<13} {plain(item['what'])}: {plain(item['reason'])}" for item in verdict[key]]
    lines += [f"note          {plain(item)}" for item in verdict["notes"]]
    levels = ", ".join(item["level"] for item in verdict["levels"] if item["verdict"] == verdict["verdict"])
    at_its_word = any(item["what"] == AT_ITS_WORD for item in verdict["not_checked"])
    but = f", but for {AT_ITS_WORD}" if at_its_word and verdict["verdict"] == "CONFIRMED" else ""
    return printed([*lines, f"{verdict['verdict']} at {levels or 'L0'}{but}"])


def ending(answer: dict[str, Any]) -> str:
    """Return the last lines of `reproduce`: digest, findings, figures, bundle, verdict."""
    summary = answer["summary"]
    notice = [] if summary["gpu_result"] else [f"**{NOT_A_GPU_RESULT}**: measured on {plain(summary['device'])}", ""]
    return printed(
        [
            *notice,
            f"image     {answer['image_id']}",
            f"manifest  {answer['manifest_digest']}",
            f"findings  {counted(answer['findings'])}",
            *(f"{'figures' if index == 0 else '':<9} {line}" for index, line in enumerate(table(summary).splitlines())),
            f"bundle    {answer['bundle']}",
            f"verdict   {answer['verdict']['verdict']} at L0",
        ]
    )


def table(summary: dict[str, Any]) -> str:
    """Return the summary's cases as lines for a terminal, figures with their intervals."""
    lines = []
    for case in summary["cases"]:
        figure = interval(case["value"], case["low"], case["high"], case["unit"])
        if case["value"] is None:
            figure = plain("; ".join(case["reasons"])) or "no figure"
        elif case["of_peak"] is not None:
            figure += f", {share(case['of_peak'])} of peak"
        spread = f", {case['processes']} processes" if case["processes"] else ""
        lines.append(f"{case['status']:<13} {case['case']:<28} {figure}{spread}")
    return printed(lines)
