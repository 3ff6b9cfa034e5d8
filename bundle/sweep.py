"""One suite on several locks: each case's speed beside that of the first lock, with an interval, and what it shows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from benchmarks.statistics import Interval, geometric_mean, log_sd
from benchmarks.student_t import t_quantile
from bundle.format import UNKNOWN, interval, number, useful
from bundle.layout import NOT_A_GPU_RESULT
from bundle.markup import code, markdown, table
from bundle.rows import caution

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ALPHA = 0.05
NOTES = """\
- Ratios are of speed, of work in the same time: above 1 is faster. Each interval holds at 95 %: of twenty cases without
  any difference one is expected to show one.
- The locks were measured one after the other, at the times above, and not by turns: what changed on the machine
  meanwhile counts as a difference of the locks. Another sweep in another order tells.
"""


def ratio(first: Sequence[float], other: Sequence[float], alpha: float = ALPHA) -> Interval:
    """Return how much faster `other` is than `first`, from the process medians (seconds) of each, and its interval.

    The logarithms of the medians are compared: the difference of their means, with the interval for unequal variances
    of B. L. Welch (The generalization of Student's problem when several different population variances are involved,
    Biometrika 34, 1947) and the degrees of freedom of F. E. Satterthwaite (An approximate distribution of estimates of
    variance components, Biometrics Bulletin 2, 1946). The ends are None where one of them has a single process.
    """
    centre = geometric_mean(first) / geometric_mean(other)
    if min(len(first), len(other)) < 2:
        return Interval(centre, None, None)
    parts = [(log_sd(medians) ** 2 / len(medians), len(medians) - 1) for medians in (first, other)]
    variance = math.fsum(part for part, _ in parts)
    if variance == 0:  # no process differs from another: so short a clock tells no more
        return Interval(centre, centre, centre)
    degrees = variance**2 / math.fsum(part**2 / freedom for part, freedom in parts)
    reach = t_quantile(1 - alpha / 2, degrees) * math.sqrt(variance)
    return Interval(centre, centre * math.exp(-reach), centre * math.exp(reach))


def compare(summaries: Mapping[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one row for each case of any lock: its figures by lock, and how they compare with the first lock's.

    `difference` is faster or slower only where the interval of the ratio excludes 1; `none_shown` where it holds 1;
    `unknown` where there is no interval, or the two were not measured on the same device.
    """
    first, *_ = summaries
    cases: dict[str, dict[str, Any]] = {}
    for summary in summaries.values():
        for case in summary["cases"]:
            cases.setdefault(case["case"], {key: case[key] for key in ("case", "title", "unit", "direction")})
    rows = []
    for name, row in cases.items():
        found = {lock: _case(summary, name) for lock, summary in summaries.items()}
        alike = {lock: _device(summary) == _device(summaries[first]) for lock, summary in summaries.items()}
        locks = {
            lock: _cell(case, found[first] if alike[lock] and lock != first else None) for lock, case in found.items()
        }
        rows.append({**row, "locks": locks})
    return rows


def _case(summary: dict[str, Any], name: str) -> dict[str, Any] | None:
    return next((case for case in summary["cases"] if case["case"] == name), None)


def _device(summary: dict[str, Any]) -> tuple[Any, Any]:
    return summary["backend"], summary["device"]


def _cell(case: dict[str, Any] | None, first: dict[str, Any] | None) -> dict[str, Any]:
    """Return the figure of a case on one lock and, beside that on the first, the ratio."""
    keys = ("status", "value", "low", "high", "processes")
    cell: dict[str, Any] = {key: case[key] if case else None for key in keys}
    medians = [one["process_medians_s"] if one else [] for one in (first, case)]
    if not all(medians):
        return {**cell, "ratio": None, "ratio_low": None, "ratio_high": None, "difference": "unknown"}
    found = ratio(*medians)
    return {
        **cell,
        "ratio": found.centre,
        "ratio_low": found.low,
        "ratio_high": found.high,
        "difference": _difference(found),
    }


def _difference(found: Interval) -> str:
    if found.low is None or found.high is None:
        return "unknown"
    if found.low > 1:
        return "faster"
    return "slower" if found.high < 1 else "none_shown"


def report(document: dict[str, Any]) -> str:
    """Return a sweep as Markdown: what ran, in which order, on what; the table; what to keep in mind."""
    locks = document["locks"]
    what = f"{document['suite']}, {document['only']} alone" if document["only"] else document["suite"]
    lines = [f"# Sweep: {markdown(what)}", ""]
    if any(lock["backend"] == "cpu" for lock in locks):
        lines += [f"**{NOT_A_GPU_RESULT}**", ""]
    rows = [
        [
            str(place),
            code(lock["lock"]),
            markdown(lock["device"] or UNKNOWN),
            lock["started_at"] or "",
            markdown(lock["said"]),
        ]
        for place, lock in enumerate(locks, 1)
    ]
    lines += [*table(["order", "lock", "measured on", "at", "validation"], rows), ""]
    measured = [lock["lock"] for lock in locks if lock["started_at"]]
    if document["cases"]:
        head = ["case", *(code(name) for name in measured)]
        body = [[code(row["case"]), *(_text(row, name) for name in measured)] for row in document["cases"]]
        lines += [*table(head, body), "", f"Beside each figure: its ratio to that of {code(document['first'])}.", ""]
    said = caution([cell for row in document["cases"] for cell in row["locks"].values()])
    return "\n".join([*lines, NOTES]) + (f"- {said}.\n" if said else "")


def _text(row: dict[str, Any], name: str) -> str:
    """Return a cell: figure, status where it is not ok, ratio with interval, and a word where it shows a difference."""
    cell = row["locks"][name]
    if cell["value"] is None:
        return markdown(cell["status"] or "not in its suite")
    parts = [interval(cell["value"], cell["low"], cell["high"], row["unit"])]
    if cell["status"] != "ok":
        parts.append(cell["status"])
    if cell["ratio"] is not None:
        parts.append(_ratio(cell))
    text = markdown("; ".join(parts))
    return f"{text}; **{cell['difference']}**" if cell["difference"] in {"faster", "slower"} else text


def _ratio(cell: dict[str, Any]) -> str:
    low, high = cell["ratio_low"], cell["ratio_high"]
    if not useful(low, high):
        return f"{number(cell['ratio'])} x, no useful interval"
    precision = (high - low) / 2
    middle, first, last = (number(item, precision) for item in (cell["ratio"], low, high))
    return f"{middle} x ({first} to {last})"
