"""Where the sources that ran (K) are those here, what they fix is made again: cases, protocol, checks, ends, caches."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any

from benchmarks import cases, hardware, plan, statistics
from benchmarks.workbench import Workbench
from bundle import identity, layout
from bundle.ledger import Disagreement
from schema import canon
from validate.checking import BY_NAME

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bundle.evidence import Evidence, Results


#: Of `benchmarks.measuring` and `benchmarks.child`, which would bring sockets and signals with them.
FEWEST_SAMPLES, MOST_SAMPLES, CPU_BUDGET_BYTES = 30, 10_000, 256 << 20
#: What cannot be checked where other sources ran.
AT_ITS_WORD = (
    "measured by sources that this checkout does not have: the protocol, the work and tolerances of its cases, the "
    "checks and their rules are taken at their word"
)


def same(evidence: Evidence) -> bool:
    """Tell whether the kit that ran is the kit that asks."""
    return bool(evidence.start["cargo_sha256"] == identity.cargo())


def disagreements(evidence: Evidence) -> Iterator[Disagreement]:
    """Yield what these sources would have said otherwise; nothing where others ran."""
    if not same(evidence):
        return
    if evidence.results:
        yield from _protocol(evidence.results)
        yield from _precision(evidence.results)
        yield from ends(evidence.results)
        yield from caches(evidence.results)
        yield from _tolerances(evidence.results)
    for name in unknown_checks(evidence):
        yield Disagreement(f"{layout.REPORT}: the check {name}", "facts", "none: this kit has no such check")


def missing_checks(evidence: Evidence) -> list[str]:
    """Return the checks that this kit has and the report lacks."""
    seen = {record["check"] for record in evidence.report.facts} if evidence.report else set(BY_NAME)
    return [name for name in BY_NAME if name not in seen]


def unknown_checks(evidence: Evidence) -> list[str]:
    """Return the checks that the report has and this kit lacks."""
    return (
        [record["check"] for record in evidence.report.facts if record["check"] not in BY_NAME]
        if evidence.report
        else []
    )


def _protocol(results: Results) -> Iterator[Disagreement]:
    """Compare with what `plan` fixes for the suite; a custom one chooses its cases, and the times of any suite."""
    said, backend = results.protocol, results.start["backend"]
    names, custom = [item["case"] for item in said["cases"]], said["suite"] == "custom"
    own = {item["case"]: item for item in said["cases"] if "file_sha256" in item}
    known = {item["case"]: item for case in cases.built_in() for item in cases.describe(case)} | own
    if stray := sorted(set(names) - known.keys()):
        yield Disagreement(f"{layout.PROTOCOL}: the case {stray[0]}", "no file of its own", "a case of this kit")
    elif not custom and said["suite"] not in plan.TIMING:
        yield Disagreement(f"{layout.PROTOCOL}: suite", said["suite"], f"{', '.join(plan.TIMING)} or custom")
    elif not custom and names != list(all_of := cases.SUITES[said["suite"]][cases.SIZES[backend]]):
        yield Disagreement(f"{layout.PROTOCOL}: cases", ", ".join(names), ", ".join(all_of))
    else:
        chosen = [known[name] for name in names]
        timings = plan.TIMING.values() if custom else [plan.TIMING[said["suite"]]]
        wanted = (
            plan.protocol(said["suite"], timing, int(said["seed"]), chosen, said["deadline_s"]) for timing in timings
        )
        for key, seen, expected in min((_differences(said, one) for one in wanted), key=len):
            yield Disagreement(f"{layout.PROTOCOL}: {key}", seen, expected)


def _differences(said: dict[str, Any], wanted: dict[str, Any]) -> list[Disagreement]:
    before, after = _flat(said), _flat(wanted)
    keys = sorted(before.keys() | after.keys())
    return [
        Disagreement(key, before.get(key), after.get(key)) for key in keys if _other(before.get(key), after.get(key))
    ]


def _flat(protocol: dict[str, Any]) -> dict[str, Any]:
    """Return a protocol with each field of each case in its own place."""
    of_cases = {f"{item['case']}: {key}": value for item in protocol["cases"] for key, value in item.items()}
    return {key: value for key, value in protocol.items() if key != "cases"} | of_cases


def _other(one: Any, other: Any) -> bool:
    return canon.dumps(one) != canon.dumps(other)


def _tolerances(results: Results) -> Iterator[Disagreement]:
    """No check of a case of the kit allowed more than the case does for its type; one's own case fixes its own."""
    allowed = {case.name: case.module.TOLERANCE for case in cases.built_in()}
    described = {item["case"]: item for item in results.protocol["cases"] if "file_sha256" not in item}
    for run in results.processes:
        item = described.get(run["case"])
        if item is None:
            continue
        most = allowed.get(run["case"].partition(".")[0], {}).get(item["dtype"], 0.0)
        for name in ("check_before", "check_after"):
            if name in run and not run[name]["tolerance"] <= most:
                what = f"{layout.SAMPLES}: the tolerance in {name} of {run['case']}, process {run['process']}"
                yield Disagreement(what, run[name]["tolerance"], f"at most {most}")


def _precision(results: Results) -> Iterator[Disagreement]:
    """What a process says of its precision follows from its samples."""
    for run in results.processes:
        series = results.samples.get((run["case"], run["process"]), ())
        if "stop" in run and series:
            width = statistics.median_half_width(series).relative
            said = run["stop"]["half_width"]
            if not math.isclose(math.inf if said is None else said, width, rel_tol=1e-9):
                what = f"{layout.SAMPLES}: half-width of {run['case']}, process {run['process']}"
                yield Disagreement(what, said, width if math.isfinite(width) else None)


def ends(results: Results) -> Iterator[Disagreement]:
    """Sampling ends as precise from so many samples on, by their count at the most there may be."""
    for run in results.processes:
        rule, taken = run.get("stop", {}).get("rule"), len(results.samples.get((run["case"], run["process"]), ()))
        what = f"{layout.SAMPLES}: the end of sampling of {run['case']}, process {run['process']}"
        if rule == "precision" and taken < FEWEST_SAMPLES:
            yield Disagreement(what, f"{rule}, after {taken} samples", f"at least {FEWEST_SAMPLES}")
        elif rule and (taken > MOST_SAMPLES or (rule == "count" and taken < MOST_SAMPLES)):
            yield Disagreement(what, f"{rule}, after {taken} samples", f"at most {MOST_SAMPLES}, and by count at that")


def caches(results: Results) -> Iterator[Disagreement]:
    """The cache is the device's, a set has the bytes that a case of the kit moves, and both fix how many there are."""
    described = {item["case"]: item for item in results.protocol["cases"]}
    # how much of a GPU's memory was free is in no record, nor is a processor's cache
    budgets = (CPU_BUDGET_BYTES,) if results.start["backend"] == "cpu" else (sys.maxsize, 0)
    for run in results.processes:
        cache, item = run.get("cache"), described.get(run["case"])
        what = f"{layout.SAMPLES}: {{}} of {run['case']}, process {run['process']}"
        if cache is None or item is None:
            if "first_call_s" in run:
                yield Disagreement(what.format("the input sets"), "not told", "told before the first step")
            continue
        for device in results.start["devices"][:1] if results.start["backend"] != "cpu" else ():
            units, reported = device.get("compute_units"), device.get("l2_bytes")
            if cache["llc_bytes"] != (known := hardware.last_level_cache(device["name"], units, reported)):
                yield Disagreement(what.format("the last-level cache"), cache["llc_bytes"], known or "an unknown one")
        # models are hot on purpose: they count no bytes, and ask for no sets
        moved = cache["set_bytes"] if "file_sha256" in item else math.ceil(item["bytes"] or 0)
        if cache not in (allowed := [_cache(cache["llc_bytes"], moved, budget) for budget in budgets]):
            yield Disagreement(what.format("the input sets"), _said(cache), " or ".join(map(_said, allowed)))


def _cache(llc_bytes: int | None, set_bytes: int, budget_bytes: int) -> dict[str, Any]:
    """Return what a process says of its input sets, by the workbench's own rule; it is made without a device."""
    bench = Workbench.__new__(Workbench)
    bench.llc_bytes, bench.budget_bytes, bench.notes = llc_bytes, budget_bytes, []
    bench.cache = {"mode": "hot", "sets": 1, "llc_bytes": llc_bytes, "set_bytes": 0}
    if set_bytes:
        bench.sets(set_bytes)
    return bench.cache


def _said(cache: dict[str, Any]) -> str:
    return f"{cache['mode']}, {cache['sets']} of {cache['set_bytes']} bytes"
