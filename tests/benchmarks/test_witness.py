"""What a process says of its times is held against when it said so."""

import pytest

from benchmarks.clocks import IN_FLIGHT
from benchmarks.witness import AHEAD_S, BEHIND_S, BUSY, FEW, Seen, doubt


def sampled(count, *, seconds=0.01, apart=0.01, late=0.0, held_up=0.0):
    """Return samples that end every `apart`, sent `late` after that, by a parent that looks each `held_up`."""
    times = [100.0 + apart * number for number in range(count)]
    return [Seen(seconds, at, at + late - held_up, at + late + held_up) for at in times]


def lasted(samples):
    return samples[-1].at_s - samples[0].at_s + samples[0].seconds


def stalled(samples, place, seconds):
    """Return the samples of a process that stood still just before it sent one of them."""
    later = [Seen(s.seconds, s.at_s + seconds, s.after_s + seconds, s.by_s + seconds) for s in samples[place + 1 :]]
    late = samples[place]._replace(after_s=samples[place].after_s + seconds, by_s=samples[place].by_s + seconds)
    return [*samples[:place], late, *later]


@pytest.mark.parametrize("clock", BUSY)
@pytest.mark.parametrize(
    "samples",
    [
        pytest.param(sampled(100), id="idle machine"),
        pytest.param(sampled(1, seconds=20.0), id="one long step"),
        pytest.param(sampled(3, seconds=20.0, apart=20.0), id="few long steps"),
        pytest.param(sampled(100, late=0.9 * BEHIND_S), id="always late"),
        pytest.param(sampled(100, held_up=60.0), id="a parent that is held up"),
        pytest.param(stalled(sampled(100), 50, 600.0), id="stopped for ten minutes"),
        pytest.param(stalled(sampled(20), 0, 600.0), id="stopped at once"),
        pytest.param(sampled(100, apart=0.05), id="much between the samples"),
    ],
)
def test_honest_times_are_believed_on_a_busy_machine(samples, clock):
    assert doubt(samples, lasted(samples), 1, clock) == ""


@pytest.mark.parametrize(
    ("samples", "inner", "words"),
    [
        pytest.param(sampled(100, late=1.1 * BEHIND_S), 1, "its clock falls behind", id="behind"),
        pytest.param(sampled(1, late=2.0), 1, "its clock falls behind", id="behind, one sample"),
        pytest.param(sampled(100, late=-2 * AHEAD_S), 1, "its clock runs ahead", id="ahead"),
        pytest.param([*sampled(99), Seen(0.01, 200.0, 101.0, 101.0)], 1, "its clock runs ahead", id="ahead once"),
        pytest.param(sampled(1000, apart=0.1), 2 * 10 * 10, "its samples say that they took", id="longer than it was"),
        pytest.param(
            sampled(FEW - 1, apart=1.0), 1, "its samples say that they took 0.01 s each", id="few, and shorter"
        ),
        pytest.param(
            sampled(FEW, apart=1.0), 1, "its samples say that they took 0.01 s each", id="shorter than it was"
        ),
    ],
)
def test_times_that_cannot_be_are_doubted(samples, inner, words):
    for clock in BUSY:
        assert doubt(samples, lasted(samples), inner, clock).startswith(words)


def test_what_was_queued_before_the_first_sample_ended_may_be_long():
    samples = [*sampled(IN_FLIGHT, seconds=60.0), *sampled(5)]

    assert doubt(samples, 120.0, 1, "event") == ""
