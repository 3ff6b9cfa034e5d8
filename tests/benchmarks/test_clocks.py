"""Device time is that of the device, also where the host cannot launch as fast as the device runs."""

import itertools
import time

import pytest

from benchmarks.clocks import BOUND_TIMING, HIDDEN_TIMING, EventClock, HostClock
from tests.benchmarks.fakes_device import FakeCuda

MICRO = 1e-6


def median_of(clock, run, inner, count=15):
    values = sorted(seconds for seconds, _ in itertools.islice(clock.samples(run, lambda: inner), count))
    return values[len(values) // 2]


def test_steps_longer_than_their_launch_are_timed_as_they_are(monkeypatch):
    device = FakeCuda(monkeypatch)
    run = device.steps(host_s=20 * MICRO, device_s=200 * MICRO)
    clock = EventClock(device)

    survey = clock.survey(run, may_delay=True)

    assert survey == pytest.approx(200 * MICRO, rel=0.05)
    assert clock.facts["timing"] == "events on the stream, queue kept full"
    assert clock.max_inner is None
    assert median_of(clock, run, 10) == pytest.approx(200 * MICRO, rel=0.01)


def test_launches_slower_than_the_steps_are_hidden_behind_a_delay(monkeypatch):
    device = FakeCuda(monkeypatch)
    run = device.steps(host_s=40 * MICRO, device_s=8 * MICRO)
    clock = EventClock(device)

    clock.survey(run, may_delay=True)

    assert clock.facts["timing"] == "events on the stream, launches queued behind a delay kernel"
    assert clock.facts["host_step_s"] == pytest.approx(40 * MICRO)
    assert clock.max_inner == 500
    assert median_of(clock, run, 50) == pytest.approx(8 * MICRO, rel=0.02)


def test_a_step_of_many_launches_leaves_room_in_the_queue(monkeypatch):
    device = FakeCuda(monkeypatch, room=100)
    run = device.steps(host_s=100 * MICRO, device_s=40 * MICRO, launches=10)
    clock = EventClock(device)

    survey = clock.survey(run, may_delay=True)

    assert clock.facts["timing"] == HIDDEN_TIMING
    assert 1 <= clock.max_inner <= 9
    assert survey == pytest.approx(40 * MICRO, rel=0.05)


def test_where_not_one_step_fits_the_queue_the_launches_are_the_limit(monkeypatch):
    device = FakeCuda(monkeypatch, room=5)
    run = device.steps(host_s=200 * MICRO, device_s=80 * MICRO, launches=10)
    clock = EventClock(device)

    clock.survey(run, may_delay=True)

    assert clock.facts["timing"] == BOUND_TIMING
    assert clock.max_inner is None
    assert median_of(clock, run, 10) > 150 * MICRO


def test_a_delay_that_is_over_too_early_is_seen_and_made_longer(monkeypatch):
    device = FakeCuda(monkeypatch)
    cost = {"host_s": 20 * MICRO}

    def run(count):
        device.steps(**cost, device_s=5 * MICRO)(count)

    clock = EventClock(device)
    clock.survey(run, may_delay=True)
    cost["host_s"] = 60 * MICRO  # three times what the delay was made for

    stream = clock.samples(run, lambda: 50)
    first = [seconds for seconds, _ in itertools.islice(stream, 20)]
    grown = sorted(seconds for seconds, _ in itertools.islice(stream, 40))

    assert max(first) > 10 * MICRO
    assert clock.facts["exposed_samples"] >= 1
    assert grown[20] == pytest.approx(5 * MICRO, rel=0.05)


def test_a_delay_that_stays_too_short_is_called_launch_bound(monkeypatch):
    device = FakeCuda(monkeypatch)
    cost = {"host_s": 10 * MICRO}

    def run(count):
        device.steps(**cost, device_s=2 * MICRO)(count)

    clock = EventClock(device)
    clock.survey(run, may_delay=True)
    cost["host_s"] = 300 * MICRO  # beyond the longest delay

    median_of(clock, run, 20)

    assert clock.facts["timing"] == BOUND_TIMING


def test_where_no_delay_is_wanted_it_is_said_that_the_launches_are_the_limit(monkeypatch):
    device = FakeCuda(monkeypatch)
    run = device.steps(host_s=40 * MICRO, device_s=8 * MICRO)
    clock = EventClock(device)

    clock.survey(run, may_delay=False)

    assert "launch-bound" in clock.facts["timing"]
    assert median_of(clock, run, 50) > 35 * MICRO


def test_a_sample_without_a_reading_is_not_zero_seconds(monkeypatch):
    device = FakeCuda(monkeypatch)
    clock = EventClock(device)

    assert next(clock.samples(lambda _: None, lambda: 1))[0] > 0


def test_the_host_clock_gives_seconds_of_one_step_and_the_time_of_its_end():
    clock = HostClock()

    def run(count):
        time.sleep(0.002 * count)

    begin = time.monotonic()
    seconds, at = next(clock.samples(run, lambda: 3))

    assert 0.002 <= seconds < 0.02
    assert begin + 0.006 <= at <= time.monotonic()
    assert 0 < clock.resolution_s < 1e-3
    assert 0.002 <= clock.survey(run, may_delay=True) < 0.02
