"""Can the times of a run have been? Nothing lasts longer than the time in which it happened.

What is held here follows from what the fields mean, so for the records of every version of the kit: `at_s` is one clock
that only goes forward, a sample is `inner` steps that end at its `at_s`, samples of a process and processes of a run
come one after another, and all of them between start and end. Bounds that are not exact are far from what honest runs
show, busy machines included.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from benchmarks.clocks import IN_FLIGHT
from bundle import layout, speed_rules
from bundle.ledger import Disagreement

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bundle.evidence import Evidence, Report, Results

FIRST_YEAR, LAST_YEAR = 2020, 2100  # a clock that says less was never set; no file of the kit is younger
#: By so much may the clocks of two machines differ.
OTHER_CLOCKS = timedelta(days=1)
#: By so much a validation may lie before or after the run that stands on it.
APART = timedelta(days=366)
#: Seconds of a step, far beyond all that any device does.
SHORTEST_S, LONGEST_S = 1e-15, 1e9
#: Seconds by which the dates may disagree with the monotonic clock: a run's origin lies before its date, which is
#: written to the second, and a machine's clock may be set while a run lasts.
DATES_S = 300.0
#: Seconds by which two readings of one monotonic clock may disagree when they are subtracted again.
READING_S = 1e-5
#: Seconds, and share, by which the device's clock may disagree with the host's.
DEVICE_S, DEVICE = 1e-4, 0.02
#: Seconds from a deadline until a process is gone.
KILLED_S = 15.0


def moment(text: str) -> datetime | None:
    """Return the time that an RFC 3339 text says; None where there is no such day, or nobody can have measured then."""
    try:
        found = datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc)
    except ValueError:
        return None
    return found if FIRST_YEAR <= found.year <= LAST_YEAR else None


def disagreements(evidence: Evidence) -> Iterator[Disagreement]:
    """Yield the times that cannot have been."""
    if evidence.report:
        yield from _report(evidence.report)
    if evidence.report and evidence.results:
        yield from _apart(evidence.report.start["started_at"], evidence.results.start["started_at"])
    if evidence.results:
        if not evidence.results.protocol["deadline_s"] <= LONGEST_S:
            said = evidence.results.protocol["deadline_s"]
            yield Disagreement(f"{layout.PROTOCOL}: deadline_s", said, f"at most {LONGEST_S}")
        yield from _dates(layout.SAMPLES, evidence.results)
        yield from _in_turn(evidence.results)
        groups = {case["case"]: case["group"] for case in evidence.results.protocol["cases"]}
        for run in evidence.results.processes:
            key = (run["case"], run["process"])
            series, times = evidence.results.samples.get(key, ()), evidence.results.times.get(key, ())
            what = f"{layout.SAMPLES}: {{}} of {key[0]}, process {key[1]}"
            for name, seen, expected in _process(run, series, times, evidence.results.protocol, groups.get(key[0])):
                yield Disagreement(what.format(name), seen, expected)


def _dates(path: str, stream: Report | Results) -> Iterator[Disagreement]:
    start, end = stream.start["started_at"], stream.end["finished_at"]
    for name, text in (("started_at", start), ("finished_at", end)):
        if moment(text) is None:
            yield Disagreement(f"{path}: {name}", text, f"a date from {FIRST_YEAR} to {LAST_YEAR}")
    if _lasted(stream) < 0:
        yield Disagreement(f"{path}: finished_at", end, f"not before {start}, when it began")


def _apart(validated: str, ran: str) -> Iterator[Disagreement]:
    one, other = moment(validated), moment(ran)
    if one and other and abs(one - other) > APART:
        yield Disagreement(
            f"{layout.SAMPLES}: started_at", ran, f"within {APART.days} days of its validation, {validated}"
        )


def _lasted(stream: Report | Results) -> float:
    """Return the seconds from start to end; 0 where a date is none."""
    start, end = moment(stream.start["started_at"]), moment(stream.end["finished_at"])
    return (end - start).total_seconds() if start and end else 0.0


def _report(report: Report) -> Iterator[Disagreement]:
    yield from _dates(layout.REPORT, report)
    took, lasted = sum(record["seconds"] for record in report.facts), _lasted(report)
    if not took <= lasted + DATES_S:
        yield Disagreement(
            f"{layout.REPORT}: seconds of all checks", took, f"at most the {lasted:.0f} that the validation lasted"
        )


def _in_turn(results: Results) -> Iterator[Disagreement]:
    """Each process begins when the one before has ended, and the last ends before the run does."""
    before, name = 0.0, "the start of the run"
    for run in sorted(results.processes, key=lambda run: float(run["order"])):
        key = (run["case"], run["process"])
        times = results.times.get(key)
        if not times:
            continue
        began = _sampling_began(run, times) - _before_sampling(run)
        if not began >= before - READING_S:
            yield Disagreement(
                f"{layout.SAMPLES}: the beginning of {key[0]}, process {key[1]}", began, f"after {name}, at {before}"
            )
        before, name = times[-1], f"the end of {key[0]}, process {key[1]}"
    for reading, after in pairwise([{"at_s": 0.0}, *results.telemetry]):
        if not after["at_s"] >= reading["at_s"]:
            yield Disagreement(
                f"{layout.SAMPLES}: a sensor reading's time",
                after["at_s"],
                f"after the one before, {reading['at_s']}",
            )
            break
    last = max([before, *(reading["at_s"] for reading in results.telemetry)])
    lasted = _lasted(results)
    if not last <= lasted + DATES_S:
        yield Disagreement(f"{layout.SAMPLES}: the last time", last, f"within the {lasted:.0f} s that the run lasted")


def _sampling_began(run: dict[str, Any], times: Sequence[float]) -> float:
    return times[-1] - run["stop"]["seconds"] if "stop" in run else times[0]


def _before_sampling(run: dict[str, Any]) -> float:
    """Return the seconds of what a process says it did before it sampled."""
    return float(run.get("setup_s", 0.0) + run.get("first_call_s", 0.0) + run.get("warm_up", {}).get("seconds", 0.0))


def _process(
    run: dict[str, Any], series: Sequence[float], times: Sequence[float], protocol: dict[str, Any], group: str | None
) -> Iterator[Disagreement]:
    """Yield what cannot be in one process of a case of this group: its name, what was seen, what was expected."""
    for index, seconds in enumerate(series):
        if not SHORTEST_S <= seconds <= LONGEST_S:
            yield Disagreement(f"the seconds of sample {index}", seconds, f"between {SHORTEST_S} and {LONGEST_S}")
            return
    for index, (before, after) in enumerate(pairwise(times), 1):
        if not after > before:
            yield Disagreement(f"the time of sample {index}", after, f"after the sample before it, {before}")
            return
    if "warm_up" in run:
        yield from _warm_up(run["warm_up"], protocol)
    if not series or not {"inner", "clock", "warm_up", "stop"} <= run.keys():
        return
    yield from _stop(run, times, protocol)
    took, began = [run["inner"] * seconds for seconds in series], _sampling_began(run, times)
    longest, ran = max(took), times[-1] - began + run["warm_up"]["seconds"]
    if not longest <= ran * (1 + DEVICE) + DEVICE_S:
        yield Disagreement(
            "the inner steps of its longest sample", longest, f"at most the {ran} s since the warm-up began"
        )
    yield from (_by_host if run["clock"] == "host" else _by_device)(took, [began, *times])
    yield from speed_rules.disagreements(run, series, times, group)


def _warm_up(warm_up: dict[str, Any], protocol: dict[str, Any]) -> Iterator[Disagreement]:
    most = protocol.get("warm_up_max_s", 30.0)
    least = min(protocol["warm_up_s"], most) if warm_up["steady"] else most
    if not warm_up["seconds"] >= least:
        yield Disagreement("the seconds of the warm-up", warm_up["seconds"], f"at least the protocol's {least}")


def _stop(run: dict[str, Any], times: Sequence[float], protocol: dict[str, Any]) -> Iterator[Disagreement]:
    """Sampling lasts as long as its rule wants, where its facts say, and no longer than a process may live."""
    stop, facts = run["stop"], run.get("facts", {})
    least = {"precision": protocol["sampling_s"], "time": protocol["sampling_max_s"]}.get(stop["rule"], 0.0)
    if not stop["seconds"] >= least:
        yield Disagreement(
            f"the sampling stopped by {stop['rule']}", stop["seconds"], f"at least the protocol's {least} s"
        )
    said, wanted = facts.get("sampling_s"), [times[-1] - stop["seconds"], times[-1]]
    if said is not None and not (
        isinstance(said, list)
        and len(said) == len(wanted)
        and all(abs(one - other) <= READING_S for one, other in zip(said, wanted, strict=True))
    ):
        yield Disagreement("the time of the sampling", said, f"{wanted}, by its samples and `stop`")
    lived = _before_sampling(run) + stop["seconds"]
    if not lived <= protocol["deadline_s"] + KILLED_S:
        yield Disagreement("the life", lived, f"at most the protocol's deadline of {protocol['deadline_s']} s")


def _by_host(took: list[float], times: list[float]) -> Iterator[Disagreement]:
    """Each sample is over before the next begins; `times` begins with that of the sampling."""
    for index, (seconds, (before, after)) in enumerate(zip(took, pairwise(times), strict=True)):
        if not seconds <= after - before + READING_S:
            yield Disagreement(
                f"the inner steps of sample {index}", seconds, f"at most the {after - before} s that it had"
            )
            return


def _by_device(took: list[float], times: list[float]) -> Iterator[Disagreement]:
    """All that was queued after the first sample was seen to end lies between its end and the last one's.

    The host sees an end late or at once, so two neighbours tell nothing.
    """
    seconds, had = sum(took[IN_FLIGHT:]), times[-1] - times[1]
    if not seconds <= had * (1 + DEVICE) + DEVICE_S:
        yield Disagreement("the inner steps of its samples", seconds, f"at most the {had} s that they had")
