"""A ratio of speeds and its interval, what is called a difference, and the table that says it."""

import math
import random
import re

import pytest

from benchmarks.student_t import t_quantile
from bundle.sweep import compare, ratio, report


def summary(*cases, backend="rocm", device="AMD Instinct MI300X"):
    return {"backend": backend, "device": device, "gpu_result": backend != "cpu", "cases": list(cases)}


def case(name, *medians, status="ok", unit="FLOP/s"):
    value = 1e12 / medians[0] if medians else None
    return {
        "case": name,
        "title": "Matrix product",
        "unit": unit,
        "direction": "higher",
        "status": status,
        "value": value,
        "low": value and value * 0.99,
        "high": value and value * 1.01,
        "processes": len(medians),
        "process_medians_s": list(medians),
    }


def test_the_ratio_is_of_speed():
    assert ratio([2.0, 2.0], [1.0, 1.0]).centre == pytest.approx(2)
    assert ratio([1.0, 4.0], [4.0, 4.0]).centre == pytest.approx(0.5), "the geometric mean of 1 and 4 is 2"


def test_with_equal_variances_and_counts_it_is_student_s_interval():
    first, spread, count = [1.0, 1.1, 1.21], math.log(1.1), 3
    found = ratio(first, [median * 1.5 for median in first])
    reach = t_quantile(0.975, 2 * (count - 1)) * spread * math.sqrt(2 / count)

    assert found.centre == pytest.approx(1 / 1.5)
    assert math.log(found.high / found.centre) == pytest.approx(reach)
    assert math.log(found.centre / found.low) == pytest.approx(reach)


def test_one_that_does_not_vary_leaves_the_other_s_own_interval():
    first = [1.0, 1.1, 1.21]
    found = ratio(first, [1.0, 1.0, 1.0])

    assert math.log(found.high / found.centre) == pytest.approx(t_quantile(0.975, 2) * math.log(1.1) / math.sqrt(3))


def test_the_other_way_round_it_is_the_reciprocal():
    one, other = [1.0, 1.2, 1.1], [2.0, 2.9, 2.2, 2.4]
    found, turned = ratio(one, other), ratio(other, one)

    assert (found.centre, found.low, found.high) == pytest.approx((1 / turned.centre, 1 / turned.high, 1 / turned.low))


def test_it_holds_the_truth_as_often_as_it_says():
    """Of unequal counts and spreads, for which Student's own interval with pooled variances fails."""
    chance = random.Random(1)
    runs, held = 2000, 0
    for _ in range(runs):
        first = [math.exp(chance.gauss(0, 0.02)) for _ in range(4)]
        other = [math.exp(chance.gauss(0, 0.2)) for _ in range(8)]
        found = ratio(first, other)
        held += found.low <= 1 <= found.high

    assert 0.935 < held / runs < 0.965


def test_a_clock_too_coarse_to_differ_is_no_division_by_zero():
    found = ratio([1.0, 1.0], [1.0, 1.0])

    assert (found.centre, found.low, found.high) == (1, 1, 1)


@pytest.mark.parametrize(("first", "other"), [([1.0], [1.0, 1.1]), ([1.0, 1.1], [2.0])])
def test_a_single_process_has_a_ratio_and_no_interval(first, other):
    found = ratio(first, other)

    assert found.centre > 0
    assert (found.low, found.high) == (None, None)


A, FASTER, SLOWER, ALIKE = [1.0, 1.01, 0.99], [0.5, 0.51, 0.49], [2.0, 2.02, 1.98], [1.0, 1.02, 0.97]


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        (case("x", *FASTER), "faster"),
        (case("x", *SLOWER), "slower"),
        (case("x", *ALIKE), "none_shown"),
        (case("x", 0.5), "unknown"),
        (case("x", status="invalid"), "unknown"),
        (case("y", *FASTER), "unknown"),
    ],
    ids=["faster", "slower", "within the interval", "a single process", "no figure", "not in the other's suite"],
)
def test_a_difference_is_called_one_only_where_the_interval_excludes_1(other, difference):
    row = compare({"a": summary(case("x", *A)), "b": summary(other)})[0]

    assert row["locks"]["b"]["difference"] == difference
    assert (row["locks"]["a"]["ratio"], row["locks"]["a"]["difference"]) == (None, "unknown"), (
        "the first is compared to"
    )


@pytest.mark.parametrize(
    "other", [{"backend": "cpu", "device": "a CPU"}, {"device": "AMD Instinct MI210"}], ids=["a CPU", "another GPU"]
)
def test_figures_of_two_devices_have_no_ratio(other):
    row = compare({"a": summary(case("x", *A)), "b": summary(case("x", *FASTER), **other)})[0]

    assert (row["locks"]["b"]["ratio"], row["locks"]["b"]["difference"]) == (None, "unknown")
    assert row["locks"]["b"]["value"]


def test_every_case_of_any_lock_has_a_row_in_order():
    rows = compare({"a": summary(case("x", *A), case("y", *A)), "b": summary(case("z", *A), case("x", *A))})

    assert [row["case"] for row in rows] == ["x", "y", "z"]
    assert rows[1]["locks"]["b"]["value"] is None


def document(summaries, only=None, **more):
    locks = [
        {
            "lock": name,
            "backend": one["backend"],
            "device": one["device"],
            "started_at": "2026-12-01T03:31:32Z",
            "said": "9 pass",
        }
        for name, one in summaries.items()
    ]
    return {"suite": "quick", "only": only, "first": "a", "locks": locks, "cases": compare(summaries)} | more


def test_the_table_has_a_row_a_case_and_a_column_a_lock():
    said = report(
        document({"a": summary(case("x", *A)), "b": summary(case("x", *FASTER)), "c": summary(case("x", *ALIKE))})
    )
    row = next(line for line in said.splitlines() if line.startswith("| `x`"))
    first, faster, alike = row.strip("| ").split(" | ")[1:]

    assert re.fullmatch(r"1\.000 TFLOP/s \(0\.990 to 1\.010\)", first)
    assert re.fullmatch(r"2\.000 TFLOP/s \(.*\); 2\.000 x \(1\.9\d+ to 2\.0\d+\); \*\*faster\*\*", faster)
    assert "x (" in alike
    assert "**" not in alike
    assert "not a GPU result" not in said


def test_what_stands_behind_the_figures_is_said():
    said = report(
        document(
            {
                "a": summary(case("x", *A, status="not_converged"), backend="cpu"),
                "b": summary(case("x", *A), backend="cpu"),
            }
        )
    )

    assert "**not a GPU result**" in said.splitlines()[2]
    assert "not\\_converged" in said
    assert "not_converged: sampling ended" in said
    assert "one after the other" in said


def test_a_lock_that_did_not_validate_has_a_line_and_no_column():
    found = document({"a": summary(case("x", *A)), "b": summary(case("x", *A))})
    bad = {"lock": "bad", "backend": "rocm", "device": None, "started_at": None, "said": "3 pass, 1 fail"}
    said = report(found | {"locks": [*found["locks"], bad]})

    assert "| 3 | `bad` | unknown |  | 3 pass, 1 fail |" in said
    assert said.count("`bad`") == 1


def test_a_stranger_s_name_is_text():
    said = report(document({"a": summary(case("x", *A), device="<b>|x|</b>"), "b": summary(case("x", *A))}))

    assert "<b>" not in said
    assert [line.count(" | ") for line in said.splitlines() if line.startswith("| 1 ")] == [4]
