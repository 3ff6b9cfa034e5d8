"""One case in one process, on a clock whose every reading is known."""

import gc
import math
import random
from types import SimpleNamespace

import pytest

from benchmarks.endings import AFTER_WRONG
from benchmarks.measuring import Run, measure
from benchmarks.steps import Steps
from tests.benchmarks.fakes_device import ScriptedClock

PROTOCOL = {"warm_up_s": 2.0, "warm_up_max_s": 30.0, "sampling_s": 3.0, "sampling_max_s": 60.0, "half_width": 0.005}
FINE = {"passed": True, "error": 0.0, "tolerance": 0.0, "finite": True, "reference": "itself"}
ITEM = {"parameters": {}, "group": "compute"}


class Case:
    """A case that counts; its checks say what they are told."""

    def __init__(self, checks=(FINE, FINE)):
        self.checks, self.sets, self.collecting = list(checks), [], []
        self.poisoned_after = None

    def poison(self):
        """There are no buffers to poison."""
        return False

    def prepare(self, _bench, _parameters):
        return "state"

    def step(self, _state, i):
        self.sets.append(i)
        self.collecting.append(gc.isenabled())
        return i

    def check(self, _state, i, output):
        assert i == output == self.sets[-1]
        return self.checks.pop(0)


def measured(seconds, monkeypatch, case=None, sets=3, group="compute", **protocol):
    case = case or Case()
    clock = ScriptedClock(seconds, monkeypatch)
    bench = SimpleNamespace(
        cache={"mode": "rotate", "sets": sets, "llc_bytes": 1, "set_bytes": 1},
        device=SimpleNamespace(type="cpu"),
        poison=case.poison,
    )
    samples, phases, run = [], [], Run("case", 0)
    fields = measure(
        case,
        {**ITEM, "group": group},
        bench,
        clock,
        protocol={**PROTOCOL, **protocol},
        run=run,
        emit=lambda *sample: samples.append(sample),
        phase=phases.append,
        origin=100.0,
    )
    case.may_delay = clock.may_delay if "sampling" in phases else None
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
    assert "wanted at most 0.500%; blocks" in fields["reason"]


def test_slow_steps_have_small_blocks_and_a_median_of_unknown_precision(monkeypatch):
    fields, samples, _, _ = measured(noisy(3, level=1.0), monkeypatch, sampling_max_s=4.0)

    assert (fields["inner"], len(samples)) == (1, 4)
    assert fields["stop"]["half_width"] is None
    assert fields["reason"].startswith("4 samples in 4.0 s, fewer than 30: too few to know the median's precision")


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


def test_samples_are_as_long_as_promised_however_slow_the_first_steps_were(monkeypatch):
    fields, *_ = measured(lambda i: 0.010 if i < 1 else 0.001, monkeypatch)

    assert fields["inner"] == 30  # 30 milliseconds of 1


@pytest.mark.parametrize("sampling_max_s", [3.0, 1.0])
def test_what_is_precise_enough_at_the_end_is_never_called_not_converged(monkeypatch, sampling_max_s):
    fields, *_ = measured(noisy(4), monkeypatch, sampling_s=3.05, sampling_max_s=sampling_max_s)

    assert (fields["status"], fields["stop"]["rule"]) == ("ok", "precision")


@pytest.mark.parametrize("level", [0.05, 0.2, 0.9])
@pytest.mark.parametrize("sd", [0.0001, 0.02, 0.3])
def test_a_reason_never_contradicts_itself(monkeypatch, level, sd):
    fields, samples, *_ = measured(
        noisy(5, level, sd), monkeypatch, sampling_s=0.5, sampling_max_s=2.0, warm_up_s=0.3, warm_up_max_s=1.0
    )
    stop, reason = fields["stop"], fields.get("reason", "")

    converged = len(samples) >= 30 and stop["half_width"] is not None and stop["half_width"] <= 0.005
    assert (stop["rule"] == "precision") == converged
    assert ("fewer than 30" in reason) == (len(samples) < 30)
    assert ("half-width is" in reason) == (len(samples) >= 30 and not converged)


@pytest.mark.parametrize(
    ("group", "hidden"), [("compute", True), ("memory", True), ("models", False), ("custom", False), ("launch", False)]
)
def test_only_the_launches_of_kernels_are_hidden(monkeypatch, group, hidden):
    *_, case = measured(noisy(1), monkeypatch, group=group)

    assert case.may_delay is hidden


class Buffers(Case):
    """A case that writes to buffers of its own, until it stops."""

    def __init__(self, last_written):
        super().__init__()
        self.buffers, self.last_written, self.steps = {}, last_written, 0

    def poison(self):
        self.buffers = dict.fromkeys(self.buffers, math.nan)
        self.poisoned_after = self.steps
        return True

    def step(self, _state, i):
        self.steps += 1
        if self.steps <= self.last_written:
            self.buffers[i] = 1.0
        return i

    def check(self, _state, i, output):
        assert i == output
        finite = math.isfinite(self.buffers[i])
        return {**FINE, "passed": finite, "finite": finite}


@pytest.mark.parametrize(("last_written", "status"), [(math.inf, "ok"), (50, "invalid")], ids=["writes on", "stops"])
def test_a_kernel_that_stops_writing_is_found_though_its_buffers_hold_what_was_right(monkeypatch, last_written, status):
    fields, *_, case = measured(noisy(1), monkeypatch, Buffers(last_written))

    assert fields["status"] == status
    assert case.steps == case.poisoned_after + 3  # each set once more
    if status == "invalid":
        assert fields["reason"] == "after timing: the output has NaN or infinity"


def test_the_last_output_of_every_set_lives_until_the_set_comes_round_again():
    seen = []
    steps = Steps(lambda _, i: seen.append(i) or len(seen), "state", 3)

    steps.run(5)

    assert (steps.outputs, steps.output, steps.last) == ([4, 5, 3], 5, 1)


@pytest.mark.parametrize(
    ("checks", "reason", "timed"),
    [
        ([{**FINE, "passed": False, "error": 0.1}], "before timing: relative error 0.1, allowed 0, against", False),
        ([{**FINE, "passed": False, "finite": False}], "before timing: the output has NaN or infinity", False),
        ([FINE, {**FINE, "passed": False, "error": 0.1}], "after timing: relative error 0.1, allowed 0, against", True),
    ],
    ids=["wrong before", "not finite before", "wrong after"],
)
def test_a_wrong_result_is_invalid(monkeypatch, checks, reason, timed):
    fields, samples, phases, _ = measured(noisy(1), monkeypatch, Case(checks))

    assert (fields["status"], phases[-1]) == ("invalid", AFTER_WRONG)
    assert fields["reason"].startswith(reason)
    assert bool(samples) == timed


ELSEWHERE = SimpleNamespace(device=SimpleNamespace(type="cuda"))
HERE = SimpleNamespace(device=SimpleNamespace(type="cpu"))


@pytest.mark.parametrize(
    "output",
    [ELSEWHERE, [ELSEWHERE], (HERE, ELSEWHERE), {"logits": ELSEWHERE}, {"a": [HERE, {"b": (ELSEWHERE,)}]}],
    ids=["alone", "list", "second", "dict", "deep"],
)
def test_an_output_on_another_device_is_invalid(monkeypatch, output):
    case = Case()
    case.step = lambda _state, _i: output

    fields, samples, _, _ = measured(noisy(1), monkeypatch, case)

    assert fields["status"] == "invalid"
    assert "output lies on cuda, not on cpu: another device did the work" in fields["reason"]
    assert samples == []
