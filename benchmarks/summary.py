"""Statistics of a whole run, from its raw samples: the summary-1 document. Pure; the same on every Python.

Computed on reading, by the host alone, never stored beside the samples as a second truth. Numbers are rounded to 12
significant digits, below what different C libraries agree on.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from benchmarks import hardware, statistics
from benchmarks.correctness import wrong
from schema.records import MEASURED, SampleStatus

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

DIGITS = 12
#: When, in seconds since the run began, and watts.
Reading = tuple[float, float]
#: From best to worst: the status of a case is the worst of its processes.
WORSE = (
    SampleStatus.OK,
    SampleStatus.THROTTLED,
    SampleStatus.DRIFT,
    SampleStatus.NOT_STEADY,
    SampleStatus.NOT_CONVERGED,
    SampleStatus.SKIP,
    SampleStatus.UNSUPPORTED,
    SampleStatus.OUT_OF_MEMORY,
    SampleStatus.KILLED,
    SampleStatus.TIMEOUT,
    SampleStatus.FAILED,
    SampleStatus.INVALID,
)
_FIGURES = {status.value for status in MEASURED}


def from_records(records: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return the summary of a stream of results-1 records, which `schema.stream.read` has held together."""
    start: dict[str, Any] = {}
    processes: list[dict[str, Any]] = []
    samples: dict[tuple[str, int], list[float]] = {}
    telemetry: list[dict[str, Any]] = []
    for record in records:
        if record["kind"] == "start":
            start = record
        elif record["kind"] == "sample":
            samples.setdefault((record["case"], record["process"]), []).append(record["seconds"])
        elif record["kind"] == "process":
            processes.append(record)
        elif record["kind"] == "telemetry":
            telemetry.append(record)
    return summarize(start, processes, samples, telemetry)


def summarize(
    start: dict[str, Any],
    processes: Sequence[dict[str, Any]],
    samples: Mapping[tuple[str, int], Sequence[float]],
    telemetry: Sequence[dict[str, Any]],
) -> dict[str, Any]:
    """Return the summary-1 document of a run.

    `samples` maps (case, process) to the seconds of each sample. A case of which any process proved a wrong result has
    no figure: the speed of a wrong result is not a speed. Otherwise the processes that were measured count.
    """
    protocol = start["protocol"]
    readings = _by_process(telemetry)
    devices = start["devices"]
    device = devices[0] if devices else None
    cases = []
    for item in protocol["cases"]:
        own = sorted((p for p in processes if p["case"] == item["case"]), key=lambda p: p["process"])
        cases.append(_case(item, own, samples, readings, device=device, alpha=protocol["alpha"]))
    document = {
        "schema": "summary-1",
        "suite": protocol["suite"],
        "backend": start["backend"],
        "runtime": start["runtime"],
        "gpu_result": start["backend"] != "cpu",
        "device": device["name"] if device else None,
        "confidence": 1 - protocol["alpha"],
        "cases": cases,
    }
    rounded: dict[str, Any] = round_figures(document)
    return rounded


def _case(
    item: dict[str, Any],
    processes: list[dict[str, Any]],
    samples: Mapping[tuple[str, int], Sequence[float]],
    readings: Mapping[int, Sequence[Reading]],
    *,
    device: dict[str, Any] | None,
    alpha: float,
) -> dict[str, Any]:
    statuses = [SampleStatus(process["status"]) for process in processes]
    status = max(statuses, key=WORSE.index, default=SampleStatus.SKIP)
    denied = [process for process in processes if wrong(process) and process["status"] != SampleStatus.INVALID.value]
    if denied:
        status = SampleStatus.INVALID
    # The same words from several processes are said once, in the order of their first appearance.
    reasons = list(dict.fromkeys(process["reason"] for process in processes if process.get("reason")))
    reasons += [f"process {process['process']}: a check found its result wrong" for process in denied]
    counted = [
        process
        for process in processes
        if process["status"] in _FIGURES and samples.get((item["case"], process["process"]))
    ]
    if status is SampleStatus.INVALID:
        counted = []
    series = [samples[item["case"], process["process"]] for process in counted]
    if not processes:
        reasons = ["the stream has no process of this case"]
    row = {key: item[key] for key in ("case", "title", "group", "dtype", "unit", "direction")}
    row.update(status=status.value, reasons=reasons, processes=len(series), samples=sum(map(len, series)))
    row.update(_figures(item, series, alpha))
    row["peak"], row["peak_source"] = None, None
    if device and device["backend"] != "cpu" and item["group"] in {"compute", "memory"}:
        units = device.get("compute_units")
        row["peak"], row["peak_source"] = hardware.peak(device["name"], units, item["unit"], item["dtype"])
    row["of_peak"] = row["value"] / row["peak"] if row["peak"] and row["value"] is not None else None
    row["power_w"] = _power(counted, readings)
    return row


def _figures(item: dict[str, Any], series: Sequence[Sequence[float]], alpha: float) -> dict[str, Any]:
    """Return the figures of a case; all null without a measured process."""
    if not series:
        names = ("seconds", "value", "low", "high", "within", "between", "p5_s", "p95_s")
        return {**dict.fromkeys(names), "process_medians_s": []}
    medians = [statistics.median(values) for values in series]
    interval = statistics.t_interval(medians, alpha)

    def headline(seconds: float | None) -> float | None:
        if seconds is None or item["unit"] == "s":
            return seconds
        return float(item["work"]) / seconds

    ends = [headline(interval.low), headline(interval.high)]
    low, high = ends if item["direction"] == "lower" else reversed(ends)
    pooled = [value for values in series for value in values]
    return {
        "seconds": interval.centre,
        "value": headline(interval.centre),
        "low": low,
        "high": high,
        "process_medians_s": medians,
        "within": statistics.median(
            [statistics.MAD_TO_SD * statistics.mad(values) / middle for values, middle in zip(series, medians)]
        ),
        "between": statistics.log_sd(medians) if len(medians) > 1 else None,
        "p5_s": statistics.quantile(pooled, 0.05),
        "p95_s": statistics.quantile(pooled, 0.95),
    }


def _power(processes: Sequence[dict[str, Any]], readings: Mapping[int, Sequence[Reading]]) -> float | None:
    """Return the mean of the power readings while these processes sampled; None where there are none."""
    watts = []
    for process in processes:
        begin, end = _sampling_of(process)
        watts += [power_w for at_s, power_w in readings.get(process["order"], ()) if begin <= at_s <= end]
    return math.fsum(watts) / len(watts) if watts else None


def _by_process(telemetry: Sequence[dict[str, Any]]) -> dict[int, list[Reading]]:
    """Return the power readings of each process, by its place in the order."""
    found: dict[int, list[Reading]] = {}
    for reading in telemetry:
        if "power_w" in reading:
            found.setdefault(reading["process"], []).append((reading["at_s"], reading["power_w"]))
    return found


def _sampling_of(process: dict[str, Any]) -> tuple[float, float]:
    """Return when a process sampled, by its facts, which nobody has held to a form; never, where they do not tell."""
    found = process.get("facts", {}).get("sampling_s")
    told = isinstance(found, list) and len(found) == 2 and all(isinstance(at, (int, float)) for at in found)
    return (found[0], found[1]) if told else (math.inf, -math.inf)


def round_figures(document: Any) -> Any:
    """Return a JSON document with every fraction rounded to 12 significant digits."""
    if isinstance(document, float):
        return float(f"{document:.{DIGITS}g}")
    if isinstance(document, dict):
        return {key: round_figures(value) for key, value in document.items()}
    if isinstance(document, list):
        return [round_figures(value) for value in document]
    return document
