"""Of a child's lines only the next ones are believed."""

import json
import time

import pytest

from benchmarks.intake import COPIED, FIGURE, NOT_OURS, Intake, Unfit
from schema.documents import validator

CHECK = {"passed": True, "error": 0.0, "tolerance": 0.0, "finite": True, "reference": "itself"}


def phase(name="a", process=0):
    return {"kind": "phase", "case": name, "process": process, "phase": "prepare"}


def sample(index, name="a", process=0, **more):
    return {"kind": "sample", "case": name, "process": process, "index": index, "seconds": 1.0, "at_s": 2.0, **more}


def ended(samples, name="a", process=0, order=0, **more):
    stop = {"rule": "time", "samples": samples, "seconds": 1.0, "half_width": None, "autocorrelation": None}
    record = {"kind": "process", "case": name, "process": process, "order": order, "status": "ok", "stop": stop}
    measured = {"device": "cpu", "inner": 1, "clock": "host", "warm_up": {"seconds": 1.0, "steps": 1, "steady": True}}
    return {**record, **measured, "check_before": CHECK, "check_after": CHECK, **more}


def without(key):
    return {name: value for name, value in ended(1).items() if name != key}


NOTHING = {"kind": "process", "case": "a", "process": 0, "order": 0}


def take(*items):
    """Take items as lines of a child with two positions; return its intake."""
    intake = Intake([("a", 0, 0), ("b", 0, 1)])
    for item in items:
        line = item if isinstance(item, bytes) else json.dumps(item).encode()
        assert isinstance(item, bytes) or intake.take(line) == item
        if isinstance(item, bytes):
            intake.take(line)
    return intake


def test_what_a_child_should_say_is_taken():
    first = [{"kind": "phase", "phase": "import"}, phase(), sample(0), sample(1), ended(2)]

    intake = take(*first, phase("b"), sample(0, "b"), ended(1, "b", order=1))

    assert intake.done
    assert not take(*first).done


@pytest.mark.parametrize(
    "items",
    [
        pytest.param([b"garbage"], id="no JSON"),
        pytest.param([b"[1]"], id="a list"),
        pytest.param([b"{}"], id="no kind"),
        pytest.param([b'{"kind":["sample"]}'], id="a kind that is no text"),
        pytest.param([b"[" * 100_000], id="deep nesting"),
        pytest.param([b"\xff\xfe"], id="no text"),
        pytest.param([b'{"kind":"sample","case":"a","process":0,"index":0,"seconds":NaN,"at_s":1}'], id="NaN"),
        pytest.param([{"kind": "start"}], id="a record that only the parent writes"),
        pytest.param([phase("b")], id="a phase of another case"),
        pytest.param([sample(0, "b")], id="a sample of another case"),
        pytest.param([sample(0, process=1)], id="a sample of another process"),
        pytest.param([sample(1)], id="a sample is missing"),
        pytest.param([sample(0), sample(0)], id="a sample twice"),
        pytest.param([sample(0, seconds=0)], id="a sample without time"),
        pytest.param([sample(0, note="x")], id="a sample that says more"),
        pytest.param([sample(0), ended(2)], id="another count of samples"),
        pytest.param([sample(0), ended(1), sample(0), ended(1)], id="a process twice"),
        pytest.param([sample(0), ended(1, order=1)], id="another position"),
        pytest.param([sample(0), ended(1, status="good")], id="no status"),
        pytest.param([sample(0), ended(1, status="drift")], id="a status without a reason"),
        pytest.param([sample(0), ended(1, stop=3)], id="an odd stop"),
        pytest.param([sample(0), ended(1, speed=3)], id="an unknown field"),
        pytest.param(
            [sample(0), ended(1, check_after={**CHECK, "error": 1.0})], id="passed beside an error above the tolerance"
        ),
        pytest.param(
            [sample(0), ended(1, check_before={**CHECK, "finite": False})], id="passed beside what is not finite"
        ),
        pytest.param(
            [sample(0), ended(1), sample(0, "b"), ended(1, "b", order=1), phase("b")], id="more than was asked for"
        ),
        pytest.param([ended(0)], id="a figure without a sample"),
        *(pytest.param([sample(0), without(key)], id=f"a figure without {key}") for key in sorted(FIGURE)),
        pytest.param([sample(0), {**NOTHING, "status": "ok"}], id="a figure with nothing behind it"),
        pytest.param([{"kind": "refused", "message": "no", "hint": ""}, phase()], id="more after a refusal"),
    ],
)
def test_anything_else_is_unfit(items):
    with pytest.raises(Unfit, match=NOT_OURS):
        take(*items)


def test_a_figure_needs_what_it_needs_in_the_schema():
    (of_figures,) = [
        rule["then"]["required"]
        for rule in validator("results-1").schema["$defs"]["process"]["allOf"]
        if "required" in rule.get("then", {})
    ]

    assert set(of_figures) == FIGURE


def test_the_times_of_a_figure_are_held_against_when_its_samples_came():
    began = time.monotonic()
    intake = Intake([("a", 0, 0)], began - 100)
    intake.take(json.dumps(sample(0, at_s=50.0)).encode(), began)

    with pytest.raises(Unfit, match="its clock falls behind"):
        intake.take(json.dumps(ended(1)).encode(), began)


def test_a_copy_of_the_process_is_told_apart():
    with pytest.raises(Unfit) as caught:
        take(phase(), {"kind": "copied"})

    assert str(caught.value) == COPIED
