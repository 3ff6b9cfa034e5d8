"""The numbers that figures rest on: known values, and what the intervals promise, by simulation with fixed seeds."""

import math
import random

import pytest

from benchmarks import statistics, student_t

# Quantiles of Student's t, computed with mpmath at 30 digits from the incomplete beta function.
T_QUANTILES = [
    (0.9, 3, 1.6377443536962101),
    (0.95, 7, 1.8945786050900074),
    (0.975, 1, 12.706204736174705),
    (0.975, 2, 4.3026527297494639),
    (0.975, 4, 2.7764451051977944),
    (0.975, 9, 2.2621571627982055),
    (0.975, 100, 1.9839715185235523),
    (0.995, 29, 2.7563859036706055),
    (0.9995, 5, 6.8688266258811102),
]


@pytest.mark.parametrize(("probability", "degrees", "expected"), T_QUANTILES)
def test_t_quantiles_are_the_known_ones(probability, degrees, expected):
    assert student_t.t_quantile(probability, degrees) == pytest.approx(expected, rel=1e-9)


def test_t_is_symmetric_and_its_quantile_inverts_its_distribution():
    assert student_t.t_quantile(0.025, 6) == -student_t.t_quantile(0.975, 6)
    assert student_t.t_cdf(student_t.t_quantile(0.8, 5), 5) == pytest.approx(0.8, abs=1e-12)


@pytest.mark.parametrize(
    ("a", "b", "x", "expected"),
    [
        (1, 1, 0.3, 0.3),  # uniform
        (2, 1, 0.5, 0.25),  # x^2
        (1, 3, 0.2, 1 - 0.8**3),  # 1 - (1 - x)^3
        (0.5, 0.5, 0.25, 1 / 3),  # arcsine: 2/pi asin(sqrt(x))
        (5, 5, 0.5, 0.5),  # symmetric
        (2, 3, 0.0, 0.0),
        (2, 3, 1.0, 1.0),
    ],
)
def test_incomplete_beta_where_it_has_a_closed_form(a, b, x, expected):
    assert student_t.incomplete_beta(a, b, x) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("values", "expected"), [([3.0], 3.0), ([4.0, 1.0], 2.5), ([9.0, 1.0, 2.0], 2.0), ([1, 2, 3, 100], 2.5)]
)
def test_median(values, expected):
    assert statistics.median(values) == expected


def test_mad_is_not_moved_by_an_outlier():
    assert statistics.mad([1.0, 2.0, 3.0, 4.0, 1000.0]) == 1.0


@pytest.mark.parametrize(("fraction", "expected"), [(0.0, 1.0), (0.05, 1.2), (0.5, 3.0), (1.0, 5.0)])
def test_quantile_interpolates(fraction, expected):
    assert statistics.quantile([5.0, 1.0, 4.0, 2.0, 3.0], fraction) == pytest.approx(expected)


def noise(rng, count, rho=0.0, sd=0.01):
    """Return log-normal noise around 1 with an AR(1) correlation of its logarithm."""
    state, values = rng.gauss(0, 1), []
    for _ in range(count):
        values.append(math.exp(sd * state))
        state = rho * state + math.sqrt(1 - rho * rho) * rng.gauss(0, 1)
    return values


def sign_autocorrelation_time(rho):
    """Return the integrated autocorrelation time of the sign of an AR(1): the arcsine law."""
    return 0.5 + math.fsum(2 / math.pi * math.asin(rho**lag) for lag in range(1, 400))


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_autocorrelation_time_of_an_ar1_is_that_of_its_signs(rho):
    rng = random.Random(11)
    found = [statistics.autocorrelation_time(noise(rng, 4000, rho)) for _ in range(20)]

    assert statistics.median(found) == pytest.approx(sign_autocorrelation_time(rho), rel=0.2)


def test_lags_are_paired_as_geyer_pairs_them():
    """Signs that change every second sample: lag 1 adds to lag 0, and lags 2 and 3 are negative together."""
    values = [1.0, 1.0, 2.0, 2.0] * 50

    correlation = [statistics._sign_correlation(int("0011" * 50, 2), 200, lag, 0.5) for lag in range(4)]

    assert correlation[0] == pytest.approx(1)
    assert correlation[2] + correlation[3] < 0
    assert statistics.autocorrelation_time(values) == pytest.approx(max(0.5, 0.5 + correlation[1]))


def test_a_first_lag_below_zero_is_taken_with_the_zeroth():
    """An AR(1) of -0.5 is known better than independent samples, but never taken to be."""
    assert statistics.autocorrelation_time(noise(random.Random(12), 4000, -0.5)) == 0.5


@pytest.mark.parametrize("values", [[1.0], [1.0, 2.0], [2.0] * 50], ids=["one", "two", "all equal"])
def test_autocorrelation_time_of_too_little_is_that_of_independence(values):
    assert statistics.autocorrelation_time(values) == 0.5


# Nominal 95 %. A block bootstrap (blocks of 20) covers 0.87 at rho 0.5 and 0.82 at 0.9 with 200 samples; this is better
# and costs a ten-thousandth.
COVERAGE = [(0.0, 50, 0.93), (0.0, 200, 0.93), (0.5, 200, 0.91), (0.9, 200, 0.84), (0.9, 1000, 0.90)]


@pytest.mark.parametrize(("rho", "count", "at_least"), COVERAGE)
def test_the_medians_interval_covers_the_true_median(rho, count, at_least):
    rng, hits, runs = random.Random(5), 0, 600
    for _ in range(runs):
        values = noise(rng, count, rho)
        width = statistics.median_half_width(values).relative
        hits += abs(statistics.median(values) - 1) <= width * statistics.median(values)

    assert at_least <= hits / runs <= 0.985


@pytest.mark.parametrize(("rho", "at_least"), [(0.0, 0.92), (0.5, 0.88)])
def test_stopping_at_a_precision_still_covers(rho, at_least):
    rng, hits, runs, wanted = random.Random(6), 0, 250, 0.002
    for _ in range(runs):
        values = noise(rng, 30, rho)
        width = statistics.median_half_width(values).relative
        while width > wanted and len(values) < 4000:
            values += noise(rng, max(10, len(values) // 10), rho)
            width = statistics.median_half_width(values).relative
        hits += abs(statistics.median(values) - 1) <= width * statistics.median(values)

    assert hits / runs >= at_least


def test_there_is_no_interval_from_a_handful():
    assert statistics.median_half_width([1.0, 1.1, 0.9]).relative == math.inf


@pytest.mark.parametrize("processes", [3, 5, 10])
def test_the_published_interval_covers_although_processes_differ(processes):
    rng, hits, runs = random.Random(7), 0, 800
    for _ in range(runs):
        medians = [math.exp(rng.gauss(0, 0.01)) * statistics.median(noise(rng, 40)) for _ in range(processes)]
        interval = statistics.t_interval(medians)
        hits += interval.low <= 1 <= interval.high

    assert 0.93 <= hits / runs <= 0.97


def test_one_process_has_no_interval():
    assert statistics.t_interval([2.0]) == statistics.Interval(2.0, None, None)


def test_the_interval_is_that_of_the_logarithms():
    interval = statistics.t_interval([1.0, math.e, math.e**2])

    assert interval.centre == pytest.approx(math.e)
    assert math.log(interval.high) == pytest.approx(1 + 4.302652729749464 / math.sqrt(3))
    assert math.log(interval.low) == pytest.approx(1 - 4.302652729749464 / math.sqrt(3))


@pytest.mark.parametrize("rho", [0.0, 0.5])
def test_drift_is_not_seen_in_noise(rho):
    rng, times = random.Random(8), [0.01 * i for i in range(300)]
    flagged = sum(statistics.drift(times, noise(rng, 300, rho)).flagged for _ in range(200))

    assert flagged <= 4


def test_a_real_drift_is_seen():
    rng, times = random.Random(9), [0.01 * i for i in range(300)]
    found = [
        statistics.drift(times, [value * (1 + 0.04 * i / 300) for i, value in enumerate(noise(rng, 300))])
        for _ in range(50)
    ]

    assert all(drift.flagged for drift in found)
    assert statistics.median([drift.relative for drift in found]) == pytest.approx(0.02, abs=0.003)


def test_a_drift_too_small_to_matter_is_not_flagged():
    times = [0.01 * i for i in range(300)]

    found = statistics.drift(times, [1 + 0.004 * i / 300 for i in range(300)])

    assert not found.flagged
    assert found.low > 0


@pytest.mark.parametrize("count", [7, 20, 39])
def test_the_interval_of_the_drift_has_as_many_slopes_below_as_above(monkeypatch, count):
    monkeypatch.setattr(statistics, "autocorrelation_time", lambda _: 0.5)  # one sample a block, there and mirrored
    rng = random.Random(13)
    times, values = [float(i) for i in range(count)], [1 + 0.01 * rng.gauss(0, 1) for _ in range(count)]
    middle = statistics.median(values)

    there = statistics.drift(times, values)
    mirrored = statistics.drift(times, [2 * middle - value for value in values])

    assert (mirrored.low, mirrored.high) == pytest.approx((-there.high, -there.low))


@pytest.mark.parametrize("count", [0, 1, 3])
def test_drift_of_too_little_is_unknown(count):
    assert not statistics.drift([float(i) for i in range(count)], [1.0 + i for i in range(count)]).flagged
