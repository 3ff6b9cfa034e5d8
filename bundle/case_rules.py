"""Can the cases of a protocol be what they are said to be? A user's own is one file, and poses as nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks import cases
from bundle import layout
from bundle.ledger import Disagreement

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bundle.evidence import Evidence

#: Work of one step that nothing does.
MOST_WORK = 1e30


def disagreements(evidence: Evidence) -> Iterator[Disagreement]:
    """Yield what a protocol says of its cases that cannot be."""
    if evidence.results is None:
        return
    protocol = evidence.results.protocol
    yield from _own(protocol)
    names = [case["case"] for case in protocol["cases"]]
    if len(set(names)) != len(names):
        yield Disagreement(f"{layout.PROTOCOL}: cases", "a case twice", "each case once")
    for case in protocol["cases"]:
        for name, seen, expected in _case(case):
            yield Disagreement(f"{layout.PROTOCOL}: {case['case']}: {name}", seen, expected)


def _own(protocol: dict[str, Any]) -> Iterator[Disagreement]:
    own = [case for case in protocol["cases"] if "file_sha256" in case]
    built_in = {item["case"] for case in cases.built_in() for item in cases.describe(case)}
    for name in [case["case"] for case in own if case["case"] in built_in]:
        yield Disagreement(
            f"{layout.PROTOCOL}: the user's own case", name, "a name that is not that of a case of the kit"
        )
    if own and protocol["suite"] != "custom":
        yield Disagreement(f"{layout.PROTOCOL}: suite", protocol["suite"], "custom: it has a case of the user's own")
    if len(files := {case["file_sha256"] for case in own}) > 1:
        yield Disagreement(f"{layout.PROTOCOL}: files of the user's own cases", len(files), "one a run")


def _case(case: dict[str, Any]) -> Iterator[Disagreement]:
    """A figure is work in a second, the more the better, or seconds, the fewer the better; its unit says of what."""
    unit, work = case["unit"], case["work"]
    direction = "lower" if unit == "s" else "higher"
    if case["direction"] != direction:
        yield Disagreement("direction", case["direction"], f"{direction}, in {unit}")
    if not (work or 0) <= MOST_WORK:
        yield Disagreement("work", work, f"at most {MOST_WORK}")
    counted = cases.UNITS[unit]
    if (work is None) != (counted is None):
        yield Disagreement("work", work, f"none, in {unit}" if counted is None else f"the {counted} of a step")
    elif counted in case and case[counted] != work:
        yield Disagreement("work", work, f"its {counted}, {case[counted]}")
    for name in ("flop", "bytes"):
        if case[name] is not None and not 0 < case[name] <= MOST_WORK:
            yield Disagreement(name, case[name], f"above 0, at most {MOST_WORK}")
