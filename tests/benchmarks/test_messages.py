"""A line with any one value changed: refused, or what the parent writes of it follows the schema."""

import io
import json
import time

import pytest

from benchmarks.endings import Ended
from benchmarks.intake import Intake, Unfit
from benchmarks.progress import Progress
from benchmarks.running import Relay
from benchmarks.sampler import Sampler
from schema import documents
from schema.stream import Writer

CASE = "own.a"
CHECK = {"passed": True, "error": 0.0, "tolerance": 0.1, "finite": True, "reference": "itself"}
DESCRIBED = {
    "case": CASE,
    "title": "A case",
    "group": "custom",
    "parameters": {"n": 3},
    "dtype": "fp32",
    "unit": "FLOP/s",
    "direction": "higher",
    "work": 8,
    "flop": 8,
    "bytes": 2.5,
    "file_sha256": "a" * 64,
}
PROCESS = {
    "kind": "process",
    "case": CASE,
    "process": 0,
    "order": 0,
    "status": "drift",
    "reason": "its second half is slower",
    "device": "a processor",
    "setup_s": 0.5,
    "first_call_s": 0.1,
    "inner": 3,
    "clock": "host",
    "cache": {"mode": "rotate", "sets": 2, "llc_bytes": 1024, "set_bytes": 64},
    "warm_up": {"seconds": 1.0, "steps": 9, "steady": True},
    "stop": {"rule": "time", "samples": 1, "seconds": 1.0, "half_width": 0.1, "autocorrelation": 1.0},
    "check_before": CHECK,
    "check_after": CHECK,
    "facts": {"notes": ["one set is used"], "drift": {"relative": 0.1}},
}
SAMPLE = {"kind": "sample", "case": CASE, "process": 0, "index": 0, "seconds": 1.0, "at_s": 2.0}
HONEST = {
    "phase": {"kind": "phase", "phase": "prepare", "case": CASE, "process": 0},
    "sample": SAMPLE,
    "process": PROCESS,
    "described": {"kind": "described", "cases": [DESCRIBED]},
    "refused": {"kind": "refused", "message": "no", "hint": "mend it"},
}
HUGE, ENDLESS = "<huge>", "<endless>"  # numbers that Python's json would not write
DEEP = json.loads("[" * 100 + "]" * 100)
ODD = [
    None, True, False, 0, 1, -1, 7, 0.5, -0.5, 1e300, 10**25, float("nan"), float("inf"), HUGE, ENDLESS,
    "", " ", "x", "ok", "failed", "\ud800", [], [1], ["x"], {}, {"a": 1}, {"notes": 7}, DEEP,
]  # fmt: skip


def changed(value):
    """Yield a JSON value with any one part of it replaced by each odd one, removed, or given beside it."""
    yield from ODD
    if isinstance(value, dict):
        for key, part in value.items():
            yield {name: other for name, other in value.items() if name != key}
            yield from ({**value, key: odd} for odd in changed(part))
        yield {**value, "other": 1}
    if isinstance(value, list):
        yield [*value, *value]
        for place, part in enumerate(value):
            yield from ([*value[:place], odd, *value[place + 1 :]] for odd in changed(part))


def line(item):
    text = json.dumps(item).replace(json.dumps(HUGE), "1" + "0" * 400).replace(json.dumps(ENDLESS), "1e999")
    return text.encode()


@pytest.fixture(scope="module")
def sampler():
    sampler = Sampler("cpu", None, time.monotonic())
    sampler.close()
    sampler.alive = False
    return sampler


def written(kind, item, sampler):
    """Return what is written of one message, after the honest ones that it needs; None when it is unfit."""
    intake, channel = Intake([(CASE, 0, 0)]), io.StringIO()
    relay = Relay(Writer(channel), sampler, "cpu", {(CASE, 0): 0}, Progress("", 1.0))
    relay.begin({}, 0)
    if kind == "process":
        relay.take(intake.take(line(SAMPLE)))
    try:
        taken = intake.take(line(item))
    except Unfit:
        return None
    relay.take(taken)
    relay.end(Ended(0, note="left something behind"))
    return [taken, *map(json.loads, channel.getvalue().splitlines())]


@pytest.mark.parametrize("kind", HONEST)
def test_an_honest_message_is_taken(kind, sampler):
    message = written(kind, HONEST[kind], sampler)[0]

    assert {**message, "facts": HONEST[kind].get("facts")} == {**HONEST[kind], "facts": HONEST[kind].get("facts")}


@pytest.mark.parametrize("kind", HONEST)
def test_with_any_one_value_changed_it_is_unfit_or_follows_the_schema(kind, sampler):
    seen = [written(kind, item, sampler) for item in changed(HONEST[kind])]

    taken = [records for records in seen if records]
    assert 0 < len(taken) < len(seen)
    for message, *records in taken:
        for case in message.get("cases", ()):
            assert documents.problems(case, documents.validator("results-1", "#/$defs/case")) == []
        for record in records:
            assert documents.problems(record, documents.validator("results-1", f"#/$defs/{record['kind']}")) == []
        assert message["kind"] != "refused" or message["message"].strip()
