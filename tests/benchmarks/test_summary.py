"""The summary is computed from raw samples alone, and is the same on every Python."""

import hashlib
import json
import math
import random
import subprocess
from pathlib import Path

import pytest

from benchmarks import summary
from schema.documents import problems, validator
from tests.test_container_closure import FOUND

ROOT = Path(__file__).resolve().parents[2]
ITEM = {
    "case": "matmul.bf16.8192",
    "title": "Matrix product",
    "group": "compute",
    "parameters": {"m": 8192},
    "dtype": "bf16",
    "unit": "FLOP/s",
    "direction": "higher",
    "work": 2 * 8192**3,
    "flop": 2 * 8192**3,
    "bytes": 3 * 2 * 8192**2,
}
LATENCY = {**ITEM, "case": "own.a", "group": "custom", "unit": "s", "direction": "lower", "work": None}


def start(*items, backend="cuda", name="NVIDIA H200", units=132):
    return {
        "kind": "start",
        "backend": backend,
        "runtime": "host",
        "devices": [{"backend": backend, "index": 0, "name": name, "compute_units": units}],
        "protocol": {"suite": "quick", "alpha": 0.05, "cases": list(items)},
    }


def process(number, status="ok", item=ITEM, order=None, **fields):
    place = number if order is None else order
    record = {"kind": "process", "case": item["case"], "process": number, "order": place, "status": status}
    return {**record, **({} if status == "ok" else {"reason": f"it is {status}"}), **fields}


def row(processes, samples, item=ITEM, telemetry=(), **options):
    document = summary.summarize(start(item, **options), processes, samples, list(telemetry))
    assert problems(document, validator("summary-1")) == []
    return document["cases"][0]


CASE = ITEM["case"]
THREE = {(CASE, 0): [1.0, 2.0, 3.0], (CASE, 1): [2.0, 2.0, 2.0], (CASE, 2): [2.0, 2.2, 2.4]}


def test_the_figures_are_those_of_the_process_medians():
    seen = row([process(number) for number in range(3)], THREE)

    centre = (2.0 * 2.0 * 2.2) ** (1 / 3)
    sd = math.log(1.1) / math.sqrt(3)
    reach = math.exp(4.302652729749464 * sd / math.sqrt(3))
    assert (seen["processes"], seen["samples"]) == (3, 9)
    assert seen["process_medians_s"] == [2.0, 2.0, 2.2]
    assert seen["seconds"] == pytest.approx(centre)
    assert seen["value"] == pytest.approx(ITEM["work"] / centre)
    assert seen["low"] == pytest.approx(ITEM["work"] / centre / reach)
    assert seen["high"] == pytest.approx(ITEM["work"] / centre * reach)
    assert seen["between"] == pytest.approx(sd)
    assert seen["within"] == pytest.approx(1.4826 * 0.2 / 2.2)
    assert seen["peak"] == 989.4e12
    assert seen["of_peak"] == pytest.approx(seen["value"] / 989.4e12)


def test_a_part_of_a_card_has_no_peak_and_says_why():
    seen = row([process(0)], {(CASE, 0): [2.0]}, units=16)

    assert (seen["peak"], seen["of_peak"]) == (None, None)
    assert seen["peak_source"] == "unknown: 16 compute units, and a whole NVIDIA H200 has 132"


def test_seconds_are_better_when_lower_and_their_interval_runs_upwards():
    samples = {(LATENCY["case"], number): values for (_, number), values in THREE.items()}

    seen = row([process(number, item=LATENCY) for number in range(3)], samples, LATENCY)

    assert seen["low"] < seen["value"] == seen["seconds"] < seen["high"]
    assert seen["peak"] is None


def test_one_process_has_a_value_but_no_interval():
    seen = row([process(0)], {(CASE, 0): [2.0]})

    assert seen["value"] is not None
    assert (seen["low"], seen["high"], seen["between"]) == (None, None, None)


@pytest.mark.parametrize(
    ("statuses", "status", "counted"),
    [
        (["ok", "ok"], "ok", 2),
        (["ok", "throttled"], "throttled", 2),
        (["drift", "not_converged", "not_steady"], "not_converged", 3),
        (["ok", "timeout"], "timeout", 1),
        (["ok", "killed", "failed"], "failed", 1),
        (["unsupported", "unsupported"], "unsupported", 0),
        (["ok", "invalid", "ok"], "invalid", 0),
    ],
)
def test_the_worst_status_counts_and_a_wrong_result_takes_all_figures_away(statuses, status, counted):
    processes = [process(number, each) for number, each in enumerate(statuses)]

    seen = row(processes, {(CASE, number): [2.0, 2.0] for number in range(len(statuses))})

    assert (seen["status"], seen["processes"]) == (status, counted)
    assert (seen["value"] is None) == (counted == 0)
    assert seen["reasons"] == [f"it is {each}" for each in dict.fromkeys(statuses) if each != "ok"]


WRONG = {"passed": False, "error": 1.0, "tolerance": 0.1, "finite": True, "reference": "itself"}


@pytest.mark.parametrize("check", ["check_before", "check_after"])
@pytest.mark.parametrize("status", ["ok", "drift", "failed", "unsupported", "killed", "invalid"])
def test_a_check_that_did_not_pass_takes_all_figures_away_whatever_the_status_says(status, check):
    seen = row([process(0), process(1, status, **{check: WRONG})], {(CASE, 0): [2.0], (CASE, 1): [2.0]})

    assert (seen["status"], seen["processes"], seen["value"]) == ("invalid", 0, None)
    told = "it is invalid" if status == "invalid" else "process 1: a check found its result wrong"
    assert told in seen["reasons"]


def test_a_case_without_any_process_says_so():
    seen = row([], {})

    assert (seen["status"], seen["reasons"]) == ("skip", ["the stream has no process of this case"])


def test_power_is_that_of_the_sampling_alone():
    processes = [process(0, order=4, facts={"sampling_s": [10.0, 12.0]})]
    telemetry = [
        {"process": 4, "at_s": 9.9, "power_w": 1.0},
        {"process": 4, "at_s": 10.5, "power_w": 600.0},
        {"process": 4, "at_s": 11.5, "power_w": 700.0},
        {"process": 4, "at_s": 11.6},
        {"process": 3, "at_s": 11.0, "power_w": 1.0},
        {"process": 4, "at_s": 12.1, "power_w": 1.0},
    ]

    assert row(processes, {(CASE, 0): [2.0]}, telemetry=telemetry)["power_w"] == 650.0
    assert row(processes, {(CASE, 0): [2.0]})["power_w"] is None


@pytest.mark.parametrize("told", ["x", None, 3, [], [1.0], ["a", "b"], [1.0, 2.0, 3.0], {"begin": 1.0}])
def test_facts_that_do_not_tell_when_it_sampled_give_no_power(told):
    telemetry = [{"process": 0, "at_s": 1.5, "power_w": 1.0}]

    assert row([process(0, facts={"sampling_s": told})], {(CASE, 0): [2.0]}, telemetry=telemetry)["power_w"] is None


@pytest.mark.parametrize(("backend", "expected"), [("cpu", False), ("cuda", True), ("rocm", True)])
def test_a_cpu_gives_no_gpu_result(backend, expected):
    document = summary.summarize(start(ITEM, backend=backend, name="x"), [], {}, [])

    assert document["gpu_result"] is expected
    assert document["cases"][0]["peak"] is None


def test_a_stream_gives_the_same_as_its_parts():
    records = [
        start(ITEM),
        {"kind": "sample", "case": CASE, "process": 0, "index": 0, "seconds": 2.0, "at_s": 1.0},
        process(0),
        {"kind": "telemetry", "process": 0, "at_s": 1.0, "device": "x", "power_w": 5.0},
        {"kind": "end", "finished_at": "2026-01-01T00:00:00Z", "counts": {}},
    ]

    assert summary.from_records(records) == summary.summarize(
        records[0], [records[2]], {(CASE, 0): [2.0]}, [records[3]]
    )


@pytest.mark.parametrize(
    ("value", "expected"),
    [(1 / 3, 0.333333333333), (123456789.0123456, 123456789.012), (7, 7), ([0.1 + 0.2], [0.3]), (None, None)],
)
def test_fractions_are_rounded_to_twelve_digits(value, expected):
    assert summary.round_figures(value) == expected


def stream():
    """Return a run of noisy samples, enough for every statistic."""
    rng = random.Random(3)
    records = [start(ITEM, LATENCY)]
    for number in range(5):
        for item in (ITEM, LATENCY):
            level = 0.0017 * math.exp(0.01 * rng.gauss(0, 1))
            records += [
                {
                    "kind": "sample",
                    "case": item["case"],
                    "process": number,
                    "seconds": level * math.exp(rng.gauss(0, 0.01)),
                }
                for _ in range(60)
            ]
            records.append(process(number, item=item))
    return records


@pytest.mark.parametrize("python", FOUND.values(), ids=FOUND.keys())
def test_every_python_computes_the_same_document(python):
    records = stream()
    program = (
        "import json, sys; from benchmarks import summary;"
        "print(json.dumps(summary.from_records(json.load(sys.stdin)), sort_keys=True))"
    )

    done = subprocess.run(
        [python, "-S", "-W", "error", "-c", program],
        input=json.dumps(records),
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )

    here = json.dumps(summary.from_records(records), sort_keys=True)
    assert done.stderr == ""
    assert hashlib.sha256(done.stdout.strip().encode()).hexdigest() == hashlib.sha256(here.encode()).hexdigest()
