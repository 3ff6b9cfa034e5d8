"""Units for people, in one place."""

import math

import pytest

from bundle import format as say


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (687.3e12, "FLOP/s", "687.3 TFLOP/s"),
        (1.5e15, "FLOP/s", "1.5 PFLOP/s"),
        (4.1e12, "B/s", "4.1 TB/s"),
        (999.4e9, "B/s", "999.4 GB/s"),
        (1.65e-3, "s", "1.65 ms"),
        (4.2e-6, "s", "4.2 µs"),
        (5e-10, "s", "0.5 ns"),
        (90.0, "s", "90 s"),
        (5292.2, "items/s", "5,292 items/s"),
        (700.0, "W", "700 W"),
        (1.98e9, "Hz", "1.98 GHz"),
        (0.0, "B/s", "0 B/s"),
        (None, "s", "unknown"),
    ],
)
def test_a_quantity_has_a_unit_that_suits_it(value, unit, text):
    assert say.quantity(value, unit) == text


@pytest.mark.parametrize(
    ("numbers", "unit", "text"),
    [
        ((687.34e12, 684.01e12, 690.51e12), "FLOP/s", "687.3 TFLOP/s (684.0 to 690.5)"),
        ((6949, 2669, 18089), "items/s", "6,949 items/s (2,669 to 18,089)"),
        ((1.6532e-3, 1.6528e-3, 1.6536e-3), "s", "1.65320 ms (1.65280 to 1.65360)"),
        ((5.0, 5.0, 5.0), "s", "5.000 s (5.000 to 5.000)"),
        ((5.0, None, None), "s", "5 s (one process: no interval)"),
        ((5.0, 0.1, 250.0), "s", "5 s (no useful interval: too few processes, or too unlike)"),
        ((None, None, None), "s", "unknown"),
    ],
)
def test_an_interval_shows_as_many_digits_as_it_deserves(numbers, unit, text):
    assert say.interval(*numbers, unit) == text


@pytest.mark.parametrize(("value", "text"), [(0.6934, "69.34 %"), (0.05, "5 %"), (0.0045, "0.45 %"), (None, "unknown")])
def test_a_share_is_per_cent(value, text):
    assert say.share(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(206141652992, "192 GiB"), (1 << 40, "1 TiB"), (512, "512 B"), (None, "unknown")]
)
def test_memory_is_binary(value, text):
    assert say.size(value) == text


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_what_is_not_finite_is_unknown(value):
    assert say.number(value) == "unknown"


@pytest.mark.parametrize(("amount", "text"), [(1, "1 check"), (0, "0 checks"), (12000, "12,000 checks")])
def test_things_are_counted_in_words(amount, text):
    assert say.count(amount, "check") == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "none"),
        (True, "yes"),
        ({"unknown": "amd-smi printed N/A"}, "unknown: amd-smi printed N/A"),
        ({"hip": "5.7", "all": ["a", 1]}, "hip: 5.7, all: a, 1"),
        ([], "none"),
        ("two\nlines\tand \x1b[31mred\u202e", "two lines and \ufffd[31mred\ufffd"),
        ("\ud800", "\ufffd"),
        ("模型 é 🚀", "模型 é 🚀"),
    ],
)
def test_any_value_becomes_one_line_in_which_nothing_is_hidden(value, text):
    assert say.plain(value) == text
