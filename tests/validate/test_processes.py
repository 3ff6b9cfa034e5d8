import pytest

from tests.validate.fakes_node import address, instinct, laptop, nvidia, statuses
from validate.checks import processes

GIB = 2**30
CARD = {"processes": [], "memory_used_bytes": GIB // 4, "memory_bytes": 192 * GIB}


@pytest.mark.parametrize(
    ("card", "expected"),
    [
        ({}, {"processes.free": "pass"}),
        ({"processes": [{"pid": 7, "memory_bytes": GIB}]}, {"processes.in_use": "warn"}),
        ({"memory_used_bytes": 57 * GIB}, {"processes.memory": "warn"}),
        ({"processes": None}, {"processes.unknown": "skip"}),
        ({"processes": None, "memory_used_bytes": 57 * GIB}, {"processes.memory": "warn"}),
        ({"memory_used_bytes": None, "memory_bytes": None}, {"processes.free": "pass"}),
    ],
    ids=[
        "free",
        "in use",
        "memory without an owner",
        "cannot be known",
        "cannot be known, but full",
        "no memory figure",
    ],
)
def test_a_card_is_judged(card, expected):
    assert statuses(processes.judge({"backend": "rocm", "cards": {"x": {**CARD, **card}}}, None)) == expected


def test_a_monitor_that_holds_no_memory_is_not_blamed():
    """A KFD process with nothing on the card is a node exporter, say."""
    files = {"/sys/class/kfd/kfd/proc/7001/vram_51000": "0\n", "/sys/class/kfd/kfd/proc/7002/vram_51001": "4096\n"}

    cards = processes.gather(instinct(files=files), None)["cards"]

    assert cards[address(0)]["processes"] == []
    assert cards[address(1)]["processes"] == [{"pid": 7002, "memory_bytes": 4096}]


def test_without_the_kfd_list_nothing_is_claimed():
    assert processes.gather(instinct(), None)["cards"][address(0)]["processes"] is None


def test_nvidia_is_asked_by_address():
    assert statuses(processes.judge(processes.gather(nvidia(), None), None)) == {"processes.free": "pass"}


def test_a_cpu_is_shared_by_everybody():
    assert statuses(processes.judge(processes.gather(laptop(), None), None)) == {"processes.not_here": "skip"}
