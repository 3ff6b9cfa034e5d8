"""Times that cannot have been, and the like: any version of the kit would have to say the same, so K hides nothing."""

import json

import pytest

from benchmarks import cases, child, measuring
from bundle import kin, layout, reading, seal, speed_rules, streams, timing, verify
from bundle.demo import EXAMPLE
from tests.bundle import fakes_bundle as fakes
from tests.bundle.lies import samples
from tests.bundle.lies_of_time import HIDDEN, LIES, LIES_OF_THIS_K, processes, times, together
from tests.bundle.test_verify import contradictions, other_sources


@pytest.fixture(scope="module")
def good():
    return fakes.bundle()


def table(lies):
    return [pytest.param(lie, what, id=name) for name, lie, what in lies]


@pytest.mark.parametrize(("lie", "what"), table(LIES + LIES_OF_THIS_K))
def test_what_cannot_have_been_is_contradicted_and_named(good, lie, what):
    files = lie(good)
    assert files != good

    verdict = verify.judge(files)

    assert verdict["verdict"] == "CONTRADICTED"
    assert any(said.startswith(what) for said in contradictions(verdict)), contradictions(verdict)


@pytest.mark.parametrize(("lie", "what"), table(lie for lie in LIES if lie[2] != layout.SAMPLES))  # not by a schema
def test_an_invented_k_hides_none_of_it(good, lie, what):
    found = contradictions(verify.judge(other_sources(lie(good), old=b"", new=b"")))

    assert any(said.startswith(what) for said in found), found


@pytest.mark.parametrize("options", [{}, {"gpu": False}, {"host": True}, {"samples": 30}, {"processes": 10}])
def test_what_an_honest_run_says_is_believed(options):
    assert contradictions(verify.judge(fakes.bundle(**options))) == []


@pytest.mark.parametrize(
    ("text", "year"),
    [
        ("2026-11-30T12:00:00Z", 2026),
        ("2024-02-29T23:59:59Z", 2024),
        ("2026-13-45T12:00:00Z", None),
        ("2019-12-31T23:59:59Z", None),
        ("0001-01-01T00:00:00Z", None),
    ],
)
def test_a_moment_is_a_day_that_there_was(text, year):
    found = timing.moment(text)

    assert (found.year if found else None) == year


@pytest.mark.parametrize("case", cases.built_in(), ids=lambda case: case.name)
def test_every_case_of_the_kit_declares_the_tolerance_of_each_of_its_types(case):
    assert {item["dtype"] for item in cases.describe(case)} <= case.module.TOLERANCE.keys()
    assert all(0 <= tolerance < 0.1 for tolerance in case.module.TOLERANCE.values())


def test_a_processor_that_others_use_may_stall_through_a_whole_warm_up():
    def stalled(lines):
        for number, line in enumerate(lines):
            item = json.loads(line)
            if item["kind"] == "process":
                item["warm_up"]["steps"] = max(item["inner"], 3)
                lines[number] = json.dumps(item, separators=(",", ":")).encode() + b"\n"

    files = samples(stalled)(fakes.bundle(gpu=False))

    assert [item for item in verify.judge(files)["contradicted"] if "warm-up" in item["what"]] == []


def differences(files):
    """Return what of times and speeds is contradicted."""
    evidence = {
        path: data for path, data in files.items() if layout.role(path) == "evidence" and path != layout.PROTOCOL
    }
    return list(timing.disagreements(seal.understood(evidence)))


BUSY = {**HIDDEN, "exposed_samples": 7, "host_step_s": 8e-4}


@pytest.mark.parametrize(("facts", "believed"), [(BUSY, True), (HIDDEN, False)], ids=["said", "not said"])
def test_a_host_so_busy_that_it_needs_far_longer_for_a_step_than_the_device_is_believed(facts, believed):
    """Each sample waits for a delay of several times the host's own time; what is its own is a thirtieth of it."""
    files = together(processes(lambda item: item.update(facts=facts)), times(1 / 30, "seconds"))(fakes.bundle())

    assert (differences(files) == []) is believed


def test_the_example_says_of_a_delay_what_the_rules_look_for():
    runs = [json.loads(line) for line in b"".join(streams.unpack(reading.read(EXAMPLE)[layout.SAMPLES])).splitlines()]
    said = {run["case"]: run["facts"] for run in runs if run["kind"] == "process"}

    assert speed_rules.KEPT_FULL in said["resnet50.fp32.b256"]["timing"]
    assert speed_rules.DELAYED in said["matmul.bf16.1024"]["timing"]
    assert "exposed_samples" in said["matmul.bf16.1024"]


def test_what_the_rules_know_of_the_measuring_core_is_what_it_does():
    assert speed_rules.KERNELS == measuring.KERNELS
    assert (kin.FEWEST_SAMPLES, kin.MOST_SAMPLES) == (measuring.FEWEST_SAMPLES, measuring.MOST_SAMPLES)
    assert kin.CPU_BUDGET_BYTES == child.CPU_BUDGET_BYTES


def test_the_example_keeps_to_what_these_sources_fix_of_caches_and_ends():
    """It was measured on a GPU by sources of another K, in which none of this was otherwise."""
    results = seal.understood({layout.SAMPLES: reading.read(EXAMPLE)[layout.SAMPLES]}).results

    assert [*kin.ends(results), *kin.caches(results)] == []
    assert {run["cache"]["mode"] for run in results.processes} == {"rotate", "hot"}
