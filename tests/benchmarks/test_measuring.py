"""One case in one process, on a clock whose every reading is known."""

import gc
import math
import random
from types import SimpleNamespace

import pytest

from benchmarks.measuring import Run, measure
from tests.benchmarks.fakes_device import ScriptedClock

PROTOCOL = {"warm_up_s": 2.0, "warm_up_max_s": 30.0, "sampling_s": 3.0, "sampling_max_s": 60.0, "half_width": 0.005}
FINE = {"passed": True, "error": 0.0, "tolerance": 0.0, "finite": True, "reference": "itself"}
ITEM = {"parameters": {}, "group": "compute"}


class Case:
    """A case that counts; its checks say what they are told."""

    def __init__(self, checks=(FINE, FINE)):
        self.checks, self.sets, self.collecting = list(checks), [], []

    def prepare(self, _bench, _parameters):
        return "state"

    def step(self, _state, i):
        self.sets.append(i)
        self.collecting.append(gc.isenabled())
        return i

    def check(self, _state, i, output):
        assert i == output == self.sets[-1]
        return self.checks.pop(0)


def measured(seconds, monkeypatch, case=None, sets=3, **protocol):
    case = case or Case()
    clock = ScriptedClock(seconds, monkeypatch)
    bench = SimpleNamespace(
        cache={"mode": "rotate", "sets": sets, "llc_bytes": 1, "set_bytes": 1}, device=SimpleNamespace(type="cpu")
    )
    samples, phases, run = [], [], Run("case", 0)
    fields = measure(
        case,
        ITEM,
        bench,
        clock,
        protocol={**PROTOCOL, **protocol},
        run=run,
        emit=lambda *sample: samples.append(sample),
        phase=phases.append,
        origin=100.0,
    )
    return fields, samples, phases, case


def noisy(seed, level=0.001, sd=0.001):
    rng = random.Random(seed)
    values = [level * math.exp(sd * rng.gauss(0, 1)) for _ in range(200_000)]
    return lambda index: values[index]


def test_a_steady_case_is_ok_and_says_how_it_was_measured(monkeypatch):
    fields, samples, phases, case = measured(noisy(1), monkeypatch)

    assert fields["status"] == "ok"
    assert "reason" not in fields
    assert phases == ["prepare", "first step", "check before", "warm-up", "sampling", "check after"]
    assert fields["inner"] == 30  # 30 ms of 1 ms steps
    assert fields["warm_up"]["steady"]
    assert 2.0 <= fields["warm_up"]["seconds"] < 5
    assert fields["stop"]["rule"] == "precision"
    assert 3.0 <= fields["stop"]["seconds"] < 3.5
    assert fields["stop"]["samples"] == len(samples)
    assert fields["stop"]["half_width"] < 0.005
    assert fields["check_before"] == fields["check_after"] == FINE
    assert case.sets[:7] == [0, 1, 2, 0, 1, 2, 0]


def test_samples_are_handed_out_as_they_are_taken_with_their_time(monkeypatch):
    fields, samples, _, _ = measured(noisy(1), monkeypatch)

    assert [index for index, _, _ in samples] == list(range(len(samples)))
    begin, end = fields["facts"]["sampling_s"]
    assert all(begin <= at <= end + 1e-9 for _, _, at in samples)
    assert [at for _, _, at in samples] == sorted(at for _, _, at in samples)


def test_garbage_is_not_collected_while_the_clock_runs(monkeypatch):
    *_, case = measured(noisy(1), monkeypatch)

    assert case.collecting[0]
    assert not any(case.collecting[1:])
    assert gc.isenabled()


def test_a_case_that_never_settles_is_flagged_after_the_longest_warm_up(monkeypatch):
    def hopping(index):
        return 0.001 * (1.02 if index < 200 and (index // 20) % 2 else 1.0)

    fields, *_ = measured(hopping, monkeypatch, warm_up_max_s=6.0)

    assert not fields["warm_up"]["steady"]
    assert 6.0 <= fields["warm_up"]["seconds"] < 6.1
    assert fields["status"] == "not_steady"
    assert "blocks of 20 samples still differed by 0.5% after 6.0 s" in fields["reason"]


def test_noise_that_does_not_narrow_ends_at_the_longest_sampling(monkeypatch):
    fields, *_ = measured(noisy(2, sd=0.5), monkeypatch, warm_up_max_s=3.0, sampling_max_s=5.0)

    assert fields["status"] == "not_converged"
    assert fields["stop"]["rule"] == "time"
    assert 5.0 <= fields["stop"]["seconds"] < 5.2
    assert "wanted 0.50%; blocks" in fields["reason"]


def test_slow_steps_have_small_blocks_and_a_median_of_unknown_precision(monkeypatch):
    fields, samples, _, _ = measured(noisy(3, level=1.0), monkeypatch, sampling_max_s=4.0)

    assert (fields["inner"], len(samples)) == (1, 4)
    assert fields["stop"]["half_width"] is None
    assert "unknown: too few samples" in fields["reason"]


def test_a_case_that_slows_down_is_flagged(monkeypatch):
    fields, *_ = measured(
        lambda i: 0.001 * (1 + max(0, i - 80) * 0.0005), monkeypatch, half_width=0.0001, sampling_max_s=6.0
    )

    assert fields["status"] == "not_converged"
    assert "the second half is +" in fields["reason"]
    assert fields["facts"]["drift"]["low"] > 0


def test_steps_that_get_faster_in_warm_up_get_more_of_them_in_a_sample(monkeypatch):
    fields, *_ = measured(lambda i: 0.0004 if i < 1 else 3e-6, monkeypatch, sampling_s=0.01, warm_up_s=0.01)

    assert fields["inner"] == 34  # 100 microseconds of 3


@pytest.mark.parametrize(
    ("checks", "reason", "timed"),
    [
        ([{**FINE, "passed": False, "error": 0.1}], "before timing: relative error 0.1 is above 0.0", False),
        ([{**FINE, "passed": False, "finite": False}], "before timing: the output has NaN or infinity", False),
        ([FINE, {**FINE, "passed": False, "error": 0.1}], "after timing: relative error 0.1 is above 0.0", True),
    ],
    ids=["wrong before", "not finite before", "wrong after"],
)
def test_a_wrong_result_is_invalid(monkeypatch, checks, reason, timed):
    fields, samples, _, _ = measured(noisy(1), monkeypatch, Case(checks))

    assert fields["status"] == "invalid"
    assert fields["reason"].startswith(reason)
    assert bool(samples) == timed


def test_an_output_on_another_device_is_invalid(monkeypatch):
    case = Case()
    case.step = lambda _state, _i: SimpleNamespace(device=SimpleNamespace(type="cuda"))

    fields, samples, _, _ = measured(noisy(1), monkeypatch, case)

    assert fields["status"] == "invalid"
    assert "the output lies on cuda, not on cpu: another device did the work" in fields["reason"]
    assert samples == []
