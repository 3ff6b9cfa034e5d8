import json
import math

import pytest

from tests.validate.fakes_node import by_code, instinct, laptop, numerics_rows, statuses
from validate.checks import numerics, torch_build
from validate.machine import Ran
from validate.probes.numerics import DTYPES, PLAN

CODE = "numerics.matmul.float16"
SHAPE = {"m": 127, "k": 129, "n": 131}


def judged(rows, backend="cpu"):
    devices = ["cpu"] if backend == "cpu" else ["cuda:0"]
    return numerics.judge({"backend": backend, "devices": devices, "rows": rows, "repeats": 3}, None)


@pytest.mark.parametrize(
    ("row", "status"),
    [
        ({}, "pass"),
        ({"relative": 0.5}, "fail"),
        ({"worst": 0.5}, "fail"),
        ({"relative": math.nan}, "fail"),
        ({"worst": math.nan}, "fail"),
        ({"nonfinite": 1, "relative": None, "worst": None}, "fail"),
        ({"shape_ok": False, "relative": None, "worst": None}, "fail"),
        ({"identical": False}, "pass"),
        ({"status": "unsupported", "error": "RuntimeError: not implemented for 'Half'"}, "skip"),
        ({"status": "failed", "error": "RuntimeError: invalid device function"}, "fail"),
        ({"relative": -1.0}, "fail"),
        ({"nonfinite": None}, "fail"),
    ],
    ids=[
        "small error",
        "large error",
        "one bad element",
        "NaN error",
        "NaN element",
        "an element is NaN",
        "another shape",
        "repeats differ",
        "refused",
        "stopped",
        "an error below nothing",
        "nobody counted",
    ],
)
def test_an_operator_is_judged(row, status):
    assert statuses(judged(numerics_rows("cpu", **row)))[CODE] == status


def test_one_bad_shape_is_enough():
    rows = [*numerics_rows("cpu"), *numerics_rows("cpu", relative=0.9)]

    assert statuses(judged(rows))[CODE] == "fail"


def test_that_repeats_differ_is_told():
    outcome = by_code(judged(numerics_rows("cpu", identical=False)))[CODE]

    assert outcome.seen["repeats_identical"] is False


def test_a_result_from_the_processor_does_not_stand_for_the_gpu():
    assert set(statuses(judged(numerics_rows("cpu"), "rocm")).values()) == {"fail"}


def test_a_run_that_no_device_answered_fails():
    facts = {"backend": "rocm", "devices": [], "rows": [], "repeats": 3}

    assert statuses(numerics.judge(facts, None)) == {"numerics.no_device": "fail"}


@pytest.mark.parametrize("left_out", range(len(PLAN)), ids=[f"{op} {place}" for place, (op, *_) in enumerate(PLAN)])
def test_a_case_that_was_left_out_is_not_passed_over(left_out):
    rows = numerics_rows("cpu")
    gone = rows.pop(left_out * len(DTYPES))

    failed = {code for code, status in statuses(judged(rows)).items() if status != "pass"}

    assert failed == {f"numerics.{gone['op']}.{gone['dtype']}"}


def test_one_row_is_not_a_whole_run():
    outcomes = judged(numerics_rows("cpu")[:1])

    assert {outcome.status.value for outcome in outcomes} == {"fail"}
    assert len(outcomes) == len(numerics.ROUNDINGS) * len(DTYPES)


def test_a_second_device_that_was_left_out_fails():
    machine = instinct(probes={"numerics": json.dumps({"rows": numerics_rows("cuda:0"), "repeats": 3})})

    outcomes = numerics.judge(numerics.gather(machine, None), None)

    assert {("cuda:1" in (outcome.reason or ""), outcome.status.value) for outcome in outcomes} == {
        (False, "pass"),
        (True, "fail"),
    }


@pytest.mark.parametrize(
    ("op", "dtype", "shape", "whole"),
    [
        ("matmul", "float32", {"m": 1, "k": 4096, "n": 1}, 2 * (2**-24 + 64 * 2**-24)),
        ("matmul", "float16", {"m": 1, "k": 4096, "n": 1}, 2 * (2**-11 + 64 * 2**-24)),
        ("conv2d", "bfloat16", {"inputs": 4, "kernel": 3}, 2 * (2**-8 + 6 * 2**-24)),
        (
            "group_norm",
            "float32",
            {"channels": 32, "groups": 2, "height": 2, "width": 2},
            2 * (2 * 2**-24 + 8 * 2**-24),
        ),
        ("softmax", "float32", {"columns": 100}, 2 * (2**-24 + 10 * 2**-24)),
        ("attention", "float16", {"width": 64, "length": 36}, 2 * (2 * 2**-11 + 10 * 2**-24)),
    ],
)
def test_the_tolerance_follows_from_type_terms_and_operator(op, dtype, shape, whole):
    assert numerics.tolerance(op, dtype, shape) == pytest.approx((whole, 2 * whole))


def test_an_operator_without_a_tolerance_is_an_error_and_not_a_pass():
    with pytest.raises(ValueError, match="no tolerance"):
        judged(numerics_rows("cpu", op="fft"))


WITHOUT = {"torch": {"version": None, "build": None, "error": "ImportError: libamdhip64.so.6"}, "devices": []}


@pytest.mark.parametrize(
    ("devices", "why"),
    [
        (json.dumps(WITHOUT), "ImportError: libamdhip64.so.6"),
        (Ran(("python3",), -11, "", ""), "probe devices: python3 was killed by SIGSEGV"),
        (Ran(("python3",), None, "", "", timed_out=True), "probe devices: python3 ran out of time"),
    ],
    ids=["an import error", "a crash", "a hang"],
)
def test_without_torch_one_cause_is_one_failure_and_the_reason_is_in_the_facts(devices, why):
    machine = instinct(probes={"devices": devices})
    facts = {check: check.gather(machine, None) for check in (torch_build, numerics)}

    found = [outcome for check in facts for outcome in check.judge(facts[check], None)]

    assert statuses(found) == {"torch_build.import": "fail", "numerics.no_torch": "skip"}
    assert facts[numerics]["torch_error"] == facts[torch_build]["torch"]["error"] == why


def test_what_was_computed_is_judged_whatever_is_said_of_torch():
    facts = {"backend": "cpu", "devices": ["cpu"], "rows": numerics_rows("cpu", relative=0.9), "torch_error": "none"}

    assert set(statuses(numerics.judge(facts, None)).values()) == {"fail"}


@pytest.mark.parametrize(
    ("ran", "says"),
    [
        (Ran(("python3",), -6, "", "Memory access fault by GPU node-1"), "SIGABRT"),
        (Ran(("python3",), None, "", "File numerics.py, line 1 in learn", timed_out=True), "ran out of time"),
        (Ran(("python3",), 1, "", "ModuleNotFoundError: No module named 'torch'"), "ended with code 1"),
    ],
    ids=["abort", "hang", "no torch"],
)
def test_a_kernel_that_kills_its_process_is_a_finding_with_its_last_words(ran, says):
    facts = numerics.gather(instinct(probes={"numerics": ran}), None)

    outcome = numerics.judge(facts, None)[0]

    assert (outcome.code, outcome.status.value) == ("numerics.stopped", "fail")
    assert says in outcome.reason
    assert ran.stderr in outcome.reason


@pytest.mark.parametrize(("backend", "kind"), [("rocm", "cuda"), ("cuda", "cuda"), ("cpu", "cpu")])
def test_the_command_that_shows_the_operator_is_for_the_device_that_it_ran_on(backend, kind):
    (outcome,) = numerics.judge({"backend": backend, "error": "x", "rows": [], "devices": []}, None)

    assert outcome.remedy.startswith(f"python3 -m validate.probes.numerics {numerics.PROBE_S} {kind} ")


TRACEBACK = "Traceback (most recent call last):\n  File x\n"


@pytest.mark.parametrize(
    ("stderr", "told"),
    [
        (f"{TRACEBACK}ImportError: libamdhip64.so.6: not found", "ImportError: libamdhip64.so.6: not found"),
        (f"{TRACEBACK}torch.cuda.OutOfMemoryError: HIP\nnoise", "torch.cuda.OutOfMemoryError: HIP"),
        ("Memory access fault by GPU node-1\n\n", "Memory access fault by GPU node-1"),
    ],
)
def test_a_finding_has_the_line_that_says_most_and_the_facts_have_all(stderr, told):
    facts = numerics.gather(instinct(probes={"numerics": Ran(("python3",), 1, "", stderr)}), None)

    (outcome,) = numerics.judge(facts, None)

    assert told in outcome.reason
    assert "Traceback" not in outcome.reason
    assert facts["stderr"] == stderr.strip()


def test_the_probe_is_told_which_kind_of_device_to_use():
    machine = instinct()
    numerics.gather(machine, None)

    assert [argv[-1] for argv in machine.asked if "validate.probes.numerics" in argv] == ["cuda"]


def test_on_this_machine_the_probe_agrees_with_float64():
    pytest.importorskip("torch", reason="torch is not in this Python; the end-to-end test runs the probe in the image")
    from validate.machine import Machine

    machine = Machine()
    machine.memory["context"] = {"runtime": "host", "backend": "cpu"}
    facts = json.loads(json.dumps(numerics.gather(machine, None)))

    assert {outcome.status.value for outcome in numerics.judge(facts, None)} <= {"pass", "skip"}
    assert {row["op"] for row in facts["rows"]} == set(numerics.ROUNDINGS)


def test_a_laptop_is_computed_on_its_processor():
    machine = laptop()

    assert set(statuses(numerics.judge(numerics.gather(machine, None), None)).values()) == {"pass"}
