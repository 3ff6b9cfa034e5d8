"""The fast check says what the schema says."""

import json
import math
import random

import pytest

from schema import documents, samples

SAMPLE = {"kind": "sample", "case": "copy.fp32", "process": 0, "index": 3, "seconds": 1.5e-05, "at_s": 0.25}
TELEMETRY = {
    "kind": "telemetry",
    "process": 1,
    "at_s": 0.5,
    "device": "0000:c1:00.0",
    "power_w": 650.5,
    "clock_hz": 1.98e9,
    "temperature_c": 61,
    "memory_used_bytes": 1 << 30,
    "throttle": ["power cap"],
}
ODD = [
    None,
    True,
    False,
    0,
    1,
    -1,
    1.0,
    0.5,
    -0.0,
    1e300,
    10**25,
    "",
    "throttled",
    [],
    ["throttled"],
    [1],
    {},
    {"a": 1},
]


def mutated(seed):
    """Return a sample or telemetry record with up to two things changed."""
    rng = random.Random(seed)
    item = dict(rng.choice([SAMPLE, TELEMETRY, SAMPLE | {"tags": ["throttled"]}]))
    for _ in range(rng.randrange(3)):
        key = rng.choice([*SAMPLE, *TELEMETRY, "tags", "other"])
        if rng.random() < 0.3:
            item.pop(key, None)
        elif key != "kind":
            item[key] = rng.choice(ODD)
    return item


def test_the_fast_check_agrees_with_the_schema_on_thousands_of_mutated_records():
    wrong = []
    for seed in range(4000):
        item = mutated(seed)
        if item.get("kind") is None:
            assert samples.fault(item)
            continue
        schema = documents.validator("results-1", f"#/$defs/{item['kind']}")
        if schema.is_valid(item) == bool(samples.fault(item)):
            wrong.append(item)

    assert wrong == []


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_numbers_that_are_not_finite_are_refused(value):
    assert samples.fault(SAMPLE | {"seconds": value})
    assert samples.fault(SAMPLE | {"at_s": value})
    assert samples.fault(TELEMETRY | {"power_w": value})


def test_the_form_that_the_stream_writes_is_read_the_quick_way():
    line = json.dumps(SAMPLE | {"tags": ["throttled"]}, separators=(",", ":")).encode() + b"\n"

    assert samples.quick(line) == (b"copy.fp32", 0, 3, 1.5e-05, 0.25, True)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param((b"1.5e-05", b"1e999"), id="infinite"),
        pytest.param((b"1.5e-05", b"0.0"), id="zero"),
        pytest.param((b"1.5e-05", b"1e-400"), id="too small to be above zero"),
        pytest.param((b"1.5e-05", b"-1.0"), id="negative"),
        pytest.param((b"1.5e-05", b"NaN"), id="not a number"),
        pytest.param((b"0.25", b"1e400"), id="infinite time"),
        pytest.param((b'"index":3', b'"index":03'), id="leading zero"),
        pytest.param((b'"index":3', b'"index":3,"index":4'), id="key twice"),
        pytest.param((b'"sample"', b'"telemetry"'), id="another kind"),
        pytest.param((b"}", b"} "), id="space after"),
    ],
)
def test_any_other_form_is_left_to_the_slow_way(change):
    line = json.dumps(SAMPLE, separators=(",", ":")).encode()
    assert samples.quick(line) is not None

    assert samples.quick(line.replace(*change)) is None
