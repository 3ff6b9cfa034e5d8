"""Does the end of a process fit what it left, and can what it says of itself be?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bundle import layout
from bundle.ledger import Disagreement

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bundle.evidence import Evidence

CHECKS = ("check_before", "check_after")
#: What a wrong result ends in. `failed` where its process then broke the protocol of its records.
WRONG = frozenset({"invalid", "failed"})
#: Said of a process that left no record of its own, and so no check of its result.
NO_RECORD = frozenset({"killed", "timeout"})
#: Said of what did not run to its end.
NOT_RUN = frozenset({"skip", "unsupported"})


def disagreements(evidence: Evidence) -> Iterator[Disagreement]:
    """Yield the processes that deny their own record."""
    if evidence.results is None:
        return
    memory = max((device.get("memory_bytes") or 0 for device in evidence.results.start["devices"]), default=0)
    for run in evidence.results.processes:
        what = f"{layout.SAMPLES}: {{}} of {run['case']}, process {run['process']}"
        for name, seen, expected in (*_status(run), *_details(run), *_cache(run.get("cache"), memory)):
            yield Disagreement(what.format(name), seen, expected)


def _status(run: dict[str, Any]) -> Iterator[Disagreement]:
    """No status hides that a result was wrong, or that a process ran to its end and was right."""
    status, there = run["status"], [name for name in CHECKS if name in run]
    if status not in WRONG and any(not run[name]["passed"] for name in there):
        yield Disagreement("the status", status, "invalid: a check of its result did not pass")
    elif status in NO_RECORD and (there or "stop" in run):
        yield Disagreement("the status", status, "one with a record of its own: it was checked")
    elif status in NOT_RUN and "stop" in run and len(there) == len(CHECKS):
        yield Disagreement("the status", status, "one of what ran: it was sampled to its end, and right")


def _details(run: dict[str, Any]) -> Iterator[Disagreement]:
    if run["status"] == "ok" and "reason" in run:
        yield Disagreement("the reason", run["reason"], "none: its status is ok")
    tau = (run.get("stop") or {}).get("autocorrelation")
    if tau is not None and not tau >= 0:
        yield Disagreement("the autocorrelation time", tau, "at least 0 samples")


def _cache(cache: dict[str, Any] | None, memory: int) -> Iterator[Disagreement]:
    """Sets in turn are several, and lie in memory together; a hot cache is that of one set."""
    if cache is None:
        return
    sets, size = cache["sets"], cache["sets"] * cache["set_bytes"]
    if (cache["mode"] == "rotate") != (sets > 1):
        yield Disagreement(
            "the input sets", f"{sets}, {cache['mode']}", "several to rotate, one where the cache is hot"
        )
    elif cache["mode"] == "rotate" and not cache["set_bytes"] > 0:
        yield Disagreement("the bytes of an input set", cache["set_bytes"], "some: by them it is said how many rotate")
    elif memory and cache["mode"] == "rotate" and not size <= memory:
        yield Disagreement("the bytes of the input sets", size, f"at most the {memory} of its device")
    if cache["llc_bytes"] is not None and not cache["llc_bytes"] > 0:
        yield Disagreement("the last-level cache", cache["llc_bytes"], "some bytes, or unknown")
