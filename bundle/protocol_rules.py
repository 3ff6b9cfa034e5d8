"""Did the run keep to what had been fixed before it, and does what it says of itself follow from its samples?

This holds for the records of every version of the kit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks import statistics
from benchmarks.clocks import CLOCKS
from benchmarks.throttling import SHARE
from bundle import layout
from bundle.format import plain
from bundle.ledger import Disagreement
from schema.records import MEASURED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bundle.evidence import Evidence, Report, Results

Key = tuple[str, int]
#: Statuses that claim a figure, best first.
CLAIMS = tuple(status.value for status in MEASURED)


def disagreements(evidence: Evidence) -> Iterator[Disagreement]:
    """Yield where report and results break their own word."""
    if evidence.report:
        yield from _devices(layout.REPORT, evidence.report.start)
        yield from _facts(evidence.report)
    if evidence.results:
        yield from _devices(layout.SAMPLES, evidence.results.start)
        yield from _plan(evidence.results.protocol)
        yield from _places(evidence.results)
        for run in evidence.results.processes:
            yield from _device(run, evidence.results.start)
            yield from _checks(run)
            if run["status"] in CLAIMS:
                yield from _claim(run, evidence.results)


def _devices(path: str, start: dict[str, Any]) -> Iterator[Disagreement]:
    for device in start["devices"]:
        if device["backend"] != start["backend"]:
            yield Disagreement(f"{path}: the backend of {device['name']}", device["backend"], start["backend"])


def _facts(report: Report) -> Iterator[Disagreement]:
    seen: set[str] = set()
    for record in report.facts:
        name, backend = record["check"], record["facts"].get("backend", report.start["backend"])
        if name in seen:
            yield Disagreement(f"{layout.REPORT}: the check {name}", "facts a second time", "once")
        seen.add(name)
        if backend != report.start["backend"]:
            yield Disagreement(f"{layout.REPORT}: the backend of the check {name}", backend, report.start["backend"])


def _plan(protocol: dict[str, Any]) -> Iterator[Disagreement]:
    """Each case in each process, once, and nothing else."""
    names = {case["case"] for case in protocol["cases"]}
    pairs = [(case, process) for case, process in protocol["order"]]
    wanted = len(names) * protocol["processes"]
    known = all(case in names and process < protocol["processes"] for case, process in pairs)
    if not known or not len(pairs) == len(set(pairs)) == wanted:
        seen = f"{len(set(pairs))} different pairs among {len(pairs)}"
        expected = f"{len(names)} cases in {protocol['processes']} processes, each pair once"
        yield Disagreement(f"{layout.PROTOCOL}: order", seen, expected)


def _places(results: Results) -> Iterator[Disagreement]:
    """Each position has its one record, in its place, with the samples that it says."""
    order: list[Key] = [(case, process) for case, process in results.protocol["order"]]
    places = {key: place for place, key in enumerate(order)}
    ran = {(run["case"], run["process"]): run for run in results.processes}
    if len(ran) != len(results.processes):
        yield Disagreement(f"{layout.SAMPLES}: a process stands twice", len(results.processes), len(ran))
    if missing := [key for key in order if key not in ran]:
        yield Disagreement(
            f"{layout.SAMPLES}: a process of the protocol did not report", _name(missing[0]), "one record each"
        )
    if added := sorted(ran.keys() - places.keys()):
        yield Disagreement(f"{layout.SAMPLES}: a process that the protocol does not have", _name(added[0]), "none")
    for key, run in ran.items():
        place = int(run["order"])  # JSON Schema counts 1.0 among the integers
        if place >= len(order) or order[place] != key:
            yield Disagreement(f"{layout.SAMPLES}: {_name(key)} ran out of order", place, places.get(key))
        taken, said = len(results.samples.get(key, ())), (run.get("stop") or {}).get("samples")
        if said is not None and said != taken:
            yield Disagreement(f"{layout.SAMPLES}: samples of {_name(key)}", taken, said)
    if stray := sorted(set(results.samples) - set(ran)):
        yield Disagreement(f"{layout.SAMPLES}: samples of a process that did not report", _name(stray[0]), "none")


def _device(run: dict[str, Any], start: dict[str, Any]) -> Iterator[Disagreement]:
    """The device of the start record did the work, timed as its kind is."""
    key, names = (run["case"], run["process"]), [device["name"] for device in start["devices"]]
    if "device" in run and run["device"] not in names:
        yield Disagreement(f"{layout.SAMPLES}: the device of {_name(key)}", run["device"], ", ".join(names) or "none")
    clock = CLOCKS[start["backend"]].name
    if run.get("clock", clock) != clock:
        yield Disagreement(
            f"{layout.SAMPLES}: the clock of {_name(key)}", run["clock"], f"{clock}, on {start['backend']}"
        )


def _checks(run: dict[str, Any]) -> Iterator[Disagreement]:
    """A check has passed when its error is within its tolerance, and not otherwise."""
    for name in ("check_before", "check_after"):
        if name not in run:
            continue
        check, what = run[name], f"{layout.SAMPLES}: {name} of {_name((run['case'], run['process']))}"
        error, tolerance = check["error"], check["tolerance"]
        if not tolerance >= 0 or not (error is None or error >= 0):
            yield Disagreement(what, f"error {plain(error)}, tolerance {tolerance}", "neither below 0")
        within = check["finite"] and error is not None and error <= tolerance
        if check["passed"] and not within:
            seen = f"passed with error {plain(error)}, {'finite' if check['finite'] else 'not finite'}"
            yield Disagreement(what, seen, f"a finite output, off by at most {tolerance}")


def _claim(run: dict[str, Any], results: Results) -> Iterator[Disagreement]:
    """A status may say worse of a process than its samples do, never better."""
    key = (run["case"], run["process"])
    deserved, why = max(_flags(run, key, results), key=lambda flag: CLAIMS.index(flag[0]), default=("ok", ""))
    if CLAIMS.index(run["status"]) < CLAIMS.index(deserved):
        yield Disagreement(f"{layout.SAMPLES}: the status of {_name(key)}", run["status"], f"{deserved}: {why}")


def _flags(run: dict[str, Any], key: Key, results: Results) -> Iterator[tuple[str, str]]:
    """Yield each status that the samples of a process deserve, and why."""
    series, times, stop = results.samples.get(key, ()), results.times.get(key, ()), run["stop"]
    wanted = results.protocol["half_width"]
    if results.throttled.get(key, 0) >= max(1, SHARE * len(series)):
        yield "throttled", f"{results.throttled[key]} of {len(series)} samples are tagged so"
    if series and statistics.drift(times, series).flagged:
        yield "drift", "its second half is not like its first"
    if not run["warm_up"]["steady"]:
        yield "not_steady", "its warm-up was not"
    if stop["rule"] != "precision" or stop["half_width"] is None or stop["half_width"] > wanted:
        reached = plain(stop["half_width"])
        yield "not_converged", f"stopped by {stop['rule']} at a half-width of {reached}, wanted {wanted}"


def _name(key: Key) -> str:
    return f"{key[0]}, process {key[1]}"
