"""Show records to a person as they come: one line a finding, one line a measured process."""

from __future__ import annotations

import os
import statistics
from collections import defaultdict
from typing import IO, Any

from bundle.format import interval, plain, quantity, share
from bundle.layout import NOT_A_GPU_RESULT

COLOURS = {"pass": "32", "ok": "32", "warn": "33", "fail": "31", "error": "31", "skip": "2"}
BAD = "33"  # every other status of a measured process
WIDTH = 5


class Console:
    """Print to `stream`; colour only on a terminal, never with `NO_COLOR`, and never as the only sign."""

    def __init__(self, stream: IO[str]) -> None:
        self.stream = stream
        self.colour = stream.isatty() and not os.environ.get("NO_COLOR")
        self.seconds: dict[tuple[str, int], list[float]] = defaultdict(list)

    def record(self, item: dict[str, Any]) -> None:
        """Show one record of a stream."""
        if item["kind"] == "finding":
            self.finding(item)
        elif item["kind"] == "sample":
            self.seconds[item["case"], item["process"]].append(item["seconds"])
        elif item["kind"] == "process":
            self.process(item)

    def finding(self, item: dict[str, Any]) -> None:
        """Show one finding: what was seen, or why it does not pass and the next step."""
        said = plain(item.get("reason") or item.get("seen", ""))
        self._line(item["status"], f"{item['code']:<28} {said}".rstrip())
        if item.get("remedy"):
            self._line("", f"{'':<28} -> {plain(item['remedy'])}")

    def process(self, item: dict[str, Any]) -> None:
        """Show one measured process: its median, or why it has none."""
        taken = self.seconds.pop((item["case"], item["process"]), [])
        figure = f"{quantity(statistics.median(taken), 's')} a step, {len(taken)} samples" if taken else ""
        why = f" ({plain(item['reason'])})" if item.get("reason") else ""
        self._line(item["status"], f"{item['case']:<28} process {item['process']}: {figure}{why}")

    def _line(self, status: str, text: str) -> None:
        word = f"{status:<{WIDTH}}"
        if self.colour and status:
            word = f"\x1b[{COLOURS.get(status, BAD)}m{word}\x1b[0m"
        print(f"{word} {text}".rstrip(), file=self.stream, flush=True)


def counted(findings: list[dict[str, Any]]) -> str:
    """Return `12 pass, 2 warn, 3 skip`."""
    order = ("pass", "warn", "fail", "error", "skip")
    statuses = [finding["status"] for finding in findings]
    return ", ".join(f"{statuses.count(status)} {status}" for status in order if status in statuses) or "none"


def ending(answer: dict[str, Any]) -> str:
    """Return the last lines of `reproduce`: digest, findings, figures, bundle, verdict."""
    summary = answer["summary"]
    notice = [] if summary["gpu_result"] else [f"**{NOT_A_GPU_RESULT}**: measured on {plain(summary['device'])}", ""]
    return "\n".join(
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
    return "\n".join(lines)
