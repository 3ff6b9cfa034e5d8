"""Samples taken while the device was held back are tagged, with the reason, and kept."""

import pytest

from benchmarks import throttling


def tagger(*readings):
    out = throttling.Tagger()
    for at, clock, reasons in readings:
        out.add({"at_s": at, "clock_hz": clock, "throttle": reasons})
    return out


HELD = [(0.0, 1e9, []), (0.1, 1e9, ["thermal (hardware)"]), (0.2, 1e9, [])]


@pytest.mark.parametrize(
    ("begin", "end", "expected"),
    [
        (0.0, 0.05, []),
        (0.05, 0.15, ["throttled"]),
        (0.12, 0.18, ["throttled"]),
        (0.21, 0.25, []),
        (0.0, 0.3, ["throttled"]),
    ],
    ids=["before", "during", "after it, before the next", "next reading is clear", "spans it"],
)
def test_a_sample_is_tagged_by_the_readings_around_it(begin, end, expected):
    assert tagger(*HELD).tags(begin, end) == expected


def test_a_stale_reading_says_nothing():
    assert tagger((0.0, 1e9, ["power cap"])).tags(1.0, 1.1) == []


def test_a_clock_far_below_the_median_so_far_counts():
    readings = [(0.1 * i, 2.0e9, []) for i in range(10)]

    assert tagger(*readings, (1.0, 1.7e9, [])).tags(0.99, 1.01) == ["throttled"]
    assert tagger(*readings, (1.0, 1.9e9, [])).tags(0.99, 1.01) == []


def test_the_verdict_tells_the_power_cap_from_a_fault():
    cap = tagger((0.0, 1e9, ["power cap"]))
    hot = tagger((0.0, 1e9, ["power cap", "thermal (software)"]))
    for one in (cap, hot):
        one.tags(0.0, 0.01)

    assert cap.verdict() == (
        "held back in 1 of 1 samples: power cap (100%). It ran at its power cap: this is its sustained rate."
    )
    assert hot.verdict() == "held back in 1 of 1 samples: power cap (100%), thermal (software) (100%)."


def test_a_few_samples_at_the_cap_are_not_called_its_sustained_rate():
    one = tagger((0.0, 1e9, ["power cap"]), (0.1, 1e9, []))
    for end in [0.01, *(0.2 + i / 1000 for i in range(9))]:
        one.tags(end - 0.001, end)

    assert one.verdict() == "held back in 1 of 10 samples: power cap (10%)."


def test_less_than_one_in_twenty_does_not_change_the_status():
    one = tagger((0.0, 1e9, ["power cap"]), (0.1, 1e9, []))
    for end in [0.01, *(0.2 + i / 1000 for i in range(20))]:
        one.tags(end - 0.001, end)

    assert one.verdict() is None


def test_what_begins_anew_knows_the_last_reading_only():
    old = tagger(*HELD, (0.3, 1e9, ["power brake"]))
    old.tags(0.1, 0.15)

    new = old.fresh()

    assert new.verdict() is None
    assert new.tags(0.3, 0.35) == ["throttled"]
