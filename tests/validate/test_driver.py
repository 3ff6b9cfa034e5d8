import pytest

from tests.validate.fakes_node import LOCK, instinct, laptop, nvidia, statuses
from validate.checks import driver

FACTS = {"backend": "rocm", "driver": "amdgpu 6.3.6", "amdgpu_version": "6.3.6", "kernel": "6.8.0", "cards": []}


@pytest.mark.parametrize(
    ("facts", "rocm", "expected"),
    [
        ({}, "6.4.1", {"driver.loaded": "pass", "driver.range": "pass"}),
        ({"amdgpu_version": "5.4.3"}, "6.4.1", {"driver.loaded": "pass", "driver.outside": "warn"}),
        ({}, "7.2.4", {"driver.loaded": "pass", "driver.unlisted": "warn"}),
        ({"amdgpu_version": None, "driver": "amdgpu (in-tree, kernel 6.17.0)"}, "6.4.1", {"driver.loaded": "pass"}),
        ({"driver": None, "amdgpu_version": None}, "6.4.1", {"driver.absent": "fail"}),
        ({"backend": "cpu"}, "6.4.1", {"driver.not_here": "skip"}),
    ],
    ids=["listed", "older than listed", "no row in the table", "in-tree without a version", "not loaded", "cpu"],
)
def test_the_driver_is_judged_by_the_dated_table(facts, rocm, expected):
    assert statuses(driver.judge({**FACTS, **facts}, {**LOCK, "rocm": rocm})) == expected


def test_ten_is_not_one():
    """6.10 must not match the listed 6.1.x."""
    facts = {**FACTS, "amdgpu_version": "6.10.5"}

    assert "driver.outside" in statuses(driver.judge(facts, LOCK))


@pytest.mark.parametrize(
    ("machine", "said"),
    [
        (instinct(), "amdgpu 6.3.6"),
        (
            instinct(files={"/sys/module/amdgpu/version": "", "/sys/module/amdgpu/initstate": "live"}),
            "amdgpu (in-tree, kernel 6.1.0)",
        ),
        (nvidia(), "nvidia 580.159.04"),
        (laptop(), None),
    ],
    ids=["dkms", "in-tree", "nvidia", "none"],
)
def test_the_driver_is_read_from_the_kernel(machine, said):
    assert driver.gather(machine, None)["driver"] == said
