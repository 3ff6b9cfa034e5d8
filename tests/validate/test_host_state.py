import pytest

from tests.validate.fakes_node import address, by_code, instinct, laptop, nvidia, statuses
from validate.checks import host_state

GPU = {
    "pci": "0000:0c:00.0", "performance_level": "high", "power_cap_w": 750.0, "power_cap_default_w": 750.0,
    "compute_partition": "SPX", "memory_partition": "NPS1", "numa_node": 0,
}  # fmt: skip
FACTS = {"backend": "rocm", "numa_balancing": "0", "numa_nodes": 2, "governor": "performance", "gpus": [GPU]}


@pytest.mark.parametrize(
    ("facts", "gpu", "code", "status"),
    [
        ({}, {}, "host_state.numa_balancing", "pass"),
        ({"numa_balancing": "1"}, {}, "host_state.numa_balancing", "warn"),
        ({"numa_balancing": "1", "numa_nodes": 1}, {}, "host_state.numa_balancing", "pass"),
        ({"numa_balancing": None}, {}, "host_state.numa_balancing", "skip"),
        ({"governor": "powersave"}, {}, "host_state.governor", "warn"),
        ({"governor": None}, {}, "host_state.governor", "skip"),
        ({}, {}, "host_state.performance_level", "pass"),
        ({}, {"performance_level": "auto"}, "host_state.performance_level", "warn"),
        ({}, {"performance_level": None}, "host_state.performance_level", "skip"),
        ({}, {"performance_level": "manual"}, "host_state.performance_level", "warn"),
        ({}, {"performance_level": "low"}, "host_state.performance_level", "warn"),
        ({}, {"performance_level": "perf_determinism"}, "host_state.performance_level", "pass"),
        ({}, {"compute_partition": None, "memory_partition": None}, "host_state.partition", "skip"),
        ({}, {"power_cap_w": 500.0}, "host_state.power_cap", "warn"),
        ({}, {"power_cap_w": None}, "host_state.power_cap", "skip"),
        ({}, {}, "host_state.partition", "pass"),
    ],
)
def test_the_state_is_judged(facts, gpu, code, status):
    found = host_state.judge({**FACTS, **facts, "gpus": [{**GPU, **gpu}]}, None)

    assert statuses(found)[code] == status


def test_each_advice_says_how_to_take_it_back():
    facts = {
        **FACTS,
        "numa_balancing": "1",
        "governor": "powersave",
        "gpus": [{**GPU, "performance_level": "auto", "power_cap_w": 500.0}],
    }

    warned = [outcome for outcome in host_state.judge(facts, None) if outcome.status.value == "warn"]

    assert len(warned) == 4
    assert all("# undo: " in outcome.remedy for outcome in warned)


def test_the_level_is_pinned_by_pci_address_and_never_by_card_number():
    outcome = by_code(host_state.judge(host_state.gather(instinct(1), None), None))["host_state.performance_level"]

    path = f"/sys/bus/pci/devices/{address(0)}/power_dpm_force_performance_level"
    assert outcome.remedy == f"echo high | sudo tee {path}   # undo: echo auto | sudo tee {path}"


def test_nothing_is_ever_set():
    machine = instinct()
    before = dict(machine.files)

    host_state.gather(machine, None)

    assert machine.files == before
    assert not [argv for argv in machine.asked if "set" in argv or "tee" in argv]


@pytest.mark.parametrize("machine", [nvidia(), laptop()], ids=["cuda", "cpu"])
def test_others_are_judged_by_what_applies(machine):
    assert set(statuses(host_state.judge(host_state.gather(machine, None), None)).values()) <= {"pass", "skip"}
