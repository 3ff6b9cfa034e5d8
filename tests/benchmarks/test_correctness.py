"""What passes is right in the whole and in every element, wherever in an output it lies."""

import math

import pytest

from benchmarks.correctness import compare, correctness, every_value_finite, judged, tensors, why_wrong


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch", reason="torch is not installed on this host; the images' own runs these")


def normal(torch, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("tolerance", [1e-5, 1e-2])
@pytest.mark.parametrize("zeroed", [1, 50])
def test_a_few_elements_never_written_do_not_vanish_in_the_norm(torch, tolerance, zeroed):
    reference = normal(torch, 1 << 20)
    output = reference.clone()
    output[(reference.abs() > 0.5).nonzero()[:zeroed]] = 0.0

    found = compare(output, reference, tolerance, "the truth")

    assert not found["passed"]
    assert found["reference"].startswith("the truth; one element is off by 0.")
    norm = float((output - reference).norm() / reference.norm())
    assert tolerance == 1e-5 or norm < tolerance  # the norm alone would let it pass


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_rounding_passes(torch, dtype):
    reference = normal(torch, 1 << 20)

    found = compare(reference.to(getattr(torch, dtype)), reference, {"bfloat16": 1e-2, "float16": 2e-3}[dtype], "it")

    assert (found["passed"], found["reference"]) == (True, "it")


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("where", ["output", "reference"])
def test_what_is_not_finite_never_passes(torch, bad, where):
    sides = {"output": normal(torch, 10), "reference": normal(torch, 10)}
    sides[where][3] = bad

    found = compare(**sides, tolerance=10.0, name="it")

    assert (found["passed"], found["finite"], found["error"]) == (False, False, None)


def test_nothing_is_right_about_zeros_but_zeros(torch):
    zeros = torch.zeros(10)

    assert compare(zeros, zeros, 1e-2, "it")["passed"]
    assert not compare(zeros + 1, zeros, 1e-2, "it")["passed"]


def test_an_output_of_another_shape_is_not_broadcast(torch):
    found = compare(torch.ones(4, 1), torch.ones(4, 4), 1.0, "it")

    assert not found["passed"]
    assert found["reference"] == "it (of shape (4, 4), the output has (4, 1))"


def test_tensors_are_found_however_deep_they_lie(torch):
    a, b, c = torch.ones(1), torch.ones(2), torch.tensor([math.nan])

    assert [id(tensor) for tensor in tensors({"x": [a, (b, {"y": c})], "z": 3})] == [id(a), id(b), id(c)]
    assert every_value_finite({"x": [a, (b, None, "text", torch.ones(2, dtype=torch.int8))]})
    assert not every_value_finite({"x": [a, (b, {"y": c})]})


@pytest.mark.parametrize("finite", [True, False])
@pytest.mark.parametrize("tolerance", [0.0, 1e-3, 1.0])
@pytest.mark.parametrize("error", [None, 0, 0.0, 1e-3, 1.0, 1.5, math.nan, math.inf])
def test_what_passes_follows_from_the_numbers_and_nothing_can_say_otherwise(error, tolerance, finite):
    found = correctness(error, tolerance, "it", finite=finite)

    number = error is not None and math.isfinite(error)
    assert found["passed"] is (finite and number and error <= tolerance)
    assert found["error"] == (error if number else None)
    assert judged(found) == found
    with pytest.raises(ValueError, match="say otherwise"):
        judged({**found, "passed": not found["passed"]})


RIGHT = correctness(0.0, 1e-3, "it")


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (None, "None, which is no dict"),
        (True, "True, which is no dict"),
        ([0.0], "which is no dict"),
        ({}, "which has no passed, error, tolerance, finite, reference"),
        ({**RIGHT, 3: 4}, "in which 3 means nothing"),
        ({**RIGHT, "passed": 1}, "passed 1, which is neither True nor False"),
        ({**RIGHT, "finite": None}, "finite None, which is neither True nor False"),
        ({**RIGHT, "error": True}, "error True, which is neither a number nor None"),
        ({**RIGHT, "error": "0"}, "error '0', which is neither a number nor None"),
        ({**RIGHT, "error": -1.0}, "error -1.0, which is less than nothing"),
        ({**RIGHT, "tolerance": None}, "tolerance None, which is no number"),
        ({**RIGHT, "tolerance": math.nan}, "tolerance nan, which is no number from 0 up"),
        ({**RIGHT, "tolerance": math.inf}, "tolerance inf, which is no number from 0 up"),
        ({**RIGHT, "tolerance": 10**400}, "which is no number from 0 up"),
        ({**RIGHT, "tolerance": -1}, "tolerance -1, which is no number from 0 up"),
        ({**RIGHT, "reference": 3}, "reference 3, which is no text"),
        ({**RIGHT, "error": 10**400, "passed": True}, "say otherwise"),
    ],
)
def test_what_is_no_correctness_is_told(found, message):
    with pytest.raises((TypeError, ValueError)) as caught:
        judged(found)

    assert message in str(caught.value)


class Computed:
    """A number as numpy and torch give it: of no dimension, with Python's own inside."""

    shape = ()

    def __init__(self, value):
        self.item = lambda: value


@pytest.mark.parametrize("kind", ["Computed", "numpy", "torch"])
def test_computed_numbers_are_taken_by_value(kind):
    make = Computed if kind == "Computed" else pytest.importorskip(kind).asarray
    said = {"passed": True, "error": 0.5, "tolerance": 1.0, "finite": True}

    found = judged({"reference": "it", **{name: make(value) for name, value in said.items()}})

    assert found == correctness(0.5, 1.0, "it")
    assert {type(found[name]) for name in said} == {bool, float}
    with pytest.raises(ValueError, match="say otherwise"):
        judged({**found, "passed": make(not found["passed"])})


@pytest.mark.parametrize(
    ("error", "tolerance", "words"),
    [
        (0.123456789012345678, 1e-4, "relative error 0.123, allowed 0.0001, against it"),
        (0.5, 0, "relative error 0.5, allowed 0, against it"),
        (0.010000001, 0.01, "relative error 0.010000001, allowed 0.01, against it"),
        (None, 0.01, "relative error that is no number, allowed 0.01, against it"),
        (0.01, 0.01, ""),
    ],
)
def test_an_error_is_told_in_as_many_digits_as_tell_it_from_what_is_allowed(error, tolerance, words):
    assert why_wrong(correctness(error, tolerance, "it")) == words


@pytest.mark.parametrize("tolerance", [1e-5, 1e-2])
def test_what_compare_finds_follows_from_its_own_numbers(torch, tolerance):
    reference = normal(torch, 1000)

    for spoilt in (reference, reference * 1.005, reference * math.nan, reference[:-1], reference.flip(0)):
        found = compare(spoilt, reference, tolerance, "it")
        assert judged(found) == found
