import pytest

from schema import facts
from tests.validate.fakes_node import LOCK, instinct, laptop, nvidia, statuses
from validate.checks import driver

FACTS = {"backend": "rocm", "driver": "amdgpu 6.12.12", "amdgpu_version": "6.12.12", "kernel": "6.8.0"}
RELEASES = {row["rocm"]: row.get("amdgpu_driver_ok", []) for row in facts.load("compat")["releases"]}


@pytest.mark.parametrize(
    ("more", "rocm", "expected"),
    [
        ({}, "6.4.1", {"driver.loaded": "pass", "driver.range": "pass"}),
        ({"amdgpu_version": "6.3.6"}, "6.4.1", {"driver.loaded": "pass", "driver.outside": "warn"}),
        ({"amdgpu_version": "6.10.5"}, "6.4.1", {"driver.loaded": "pass", "driver.range": "pass"}),
        ({"amdgpu_version": "6.14.14"}, "7.0.2", {"driver.loaded": "pass", "driver.range": "pass"}),
        ({"amdgpu_version": "6.14.14"}, "6.4.1", {"driver.loaded": "pass", "driver.outside": "warn"}),
        ({"amdgpu_version": "6.19.14.31400000"}, "7.1.1", {"driver.loaded": "pass", "driver.outside": "warn"}),
        ({"amdgpu_version": "6.4.1"}, "6.4.1", {"driver.loaded": "pass", "driver.unlisted": "skip"}),
        ({}, "7.2.4", {"driver.loaded": "pass", "driver.unlisted": "skip"}),
        ({"amdgpu_version": None}, "6.4.1", {"driver.loaded": "pass", "driver.in_tree": "skip"}),
        ({"driver": None, "amdgpu_version": None}, "6.4.1", {"driver.absent": "fail"}),
        ({"backend": "cuda", "amdgpu_version": None}, "6.4.1", {"driver.loaded": "pass"}),
        ({"backend": "cpu"}, "6.4.1", {"driver.not_here": "skip"}),
    ],
    ids=[
        "the same release",
        "that of ROCm 6.0",
        "one release older",
        "counted by years",
        "a year newer",
        "with the release in it",
        "a module version that nobody knows",
        "no row for the ROCm",
        "in-tree without a version",
        "not loaded",
        "cuda",
        "cpu",
    ],
)
def test_the_driver_is_judged_by_the_dated_tables(more, rocm, expected):
    assert statuses(driver.judge({**FACTS, **more}, {**LOCK, "rocm": rocm})) == expected


def test_without_a_lock_there_is_nothing_to_compare_with():
    assert statuses(driver.judge(FACTS, None)) == {"driver.loaded": "pass", "driver.unlisted": "skip"}


@pytest.mark.parametrize("row", facts.load("compat")["driver_modules"], ids=lambda row: row["module"])
def test_a_module_version_is_that_of_one_release_and_the_release_goes_with_its_own_rocm(row):
    assert driver.release_of(row["module"]) == row["release"]
    assert set(row["sources"]) <= set(facts.load("compat")["sources"])
    own = [rocm for rocm, listed in RELEASES.items() if rocm.startswith(f"{row['release']}.") and listed]
    for rocm in own:
        found = statuses(driver.judge({**FACTS, "amdgpu_version": row["module"]}, {**LOCK, "rocm": rocm}))
        assert found["driver.range"] == "pass", rocm


@pytest.mark.parametrize("module", ["6.12", "6.12.1", "6.1", "16.12.12", "", "6.4.x"])
def test_a_module_version_is_never_guessed(module):
    assert driver.release_of(module) is None


@pytest.mark.parametrize(
    ("machine", "said"),
    [
        (instinct(), "amdgpu 6.12.12"),
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
