import json

import pytest

from schema.documents import load_schema, problems, validator
from tests.validate.fakes_node import address, instinct, laptop, nvidia, torch_answer
from validate import backends
from validate.backends import BACKENDS


def test_the_table_has_the_backends_of_the_schema():
    assert list(BACKENDS) == load_schema("shared-1")["$defs"]["backend"]["enum"]


def test_a_gpu_is_joined_to_sysfs_by_its_address_and_not_by_its_index():
    machine = instinct(probes={"devices": json.dumps(torch_answer(order=(1, 0)))})

    devices = BACKENDS["rocm"].devices(machine)

    assert [(d["index"], d["pci"], d["numa_node"]) for d in devices] == [(0, address(1), 1), (1, address(0), 0)]
    assert devices[0]["power_cap_w"] == 750.0
    assert devices[0]["clock_max_hz"] == 2.1e9
    assert devices[0]["memory_partition"] == "NPS1"


@pytest.mark.parametrize(
    ("name", "machine"), [("rocm", instinct()), ("cuda", nvidia()), ("cpu", laptop())], ids=["rocm", "cuda", "cpu"]
)
def test_devices_follow_the_schema(name, machine):
    devices = BACKENDS[name].devices(machine)

    assert devices
    for device in devices:
        assert problems(device, validator("shared-1", "#/$defs/device")) == []


def test_a_device_whose_address_torch_does_not_know_is_not_guessed():
    answer = torch_answer(order=(0,))
    answer["devices"][0]["pci"] = None

    device = BACKENDS["rocm"].devices(instinct(probes={"devices": json.dumps(answer)}))[0]

    assert (device["pci"], device["power_cap_w"]) == (None, None)


def test_a_numa_node_that_the_kernel_does_not_know_is_unknown():
    path = f"/sys/bus/pci/devices/{address(0)}/numa_node"

    assert BACKENDS["rocm"].devices(instinct(files={path: "-1"}))[0]["numa_node"] is None


def test_without_nvml_nvidia_smi_is_asked():
    text = "pci.bus_id, driver_version, power.limit [W]\n00000000:00:06.0, 580.159.04, 700.00 W\n"
    machine = nvidia(runs={"nvidia-smi": text})
    machine.runs["python3 -m validate.probes.nvidia"] = '{"error": "NVML: absent"}'

    assert BACKENDS["cuda"].driver(machine) == "nvidia 580.159.04"
    assert BACKENDS["cuda"].devices(machine)[0]["power_cap_w"] == 700.0


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({}, 4),
        ({"/sys/fs/cgroup/cpu.max": "max 100000\n"}, 4),
        ({"/sys/fs/cgroup/cpu.max": "250000 100000\n"}, 2),
        ({"/sys/fs/cgroup/cpu.max": "50000 100000\n"}, 1),
        ({"/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "300000", "/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000"}, 3),
        ({"/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1", "/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000"}, 4),
    ],
    ids=["no cgroup", "no quota", "two and a half", "half", "version 1", "version 1 without"],
)
def test_a_quota_cuts_the_cores(files, cores):
    assert backends.usable_cores(laptop(files=files)) == cores


@pytest.mark.parametrize(
    ("build", "available", "name"),
    [
        ("rocm", True, "rocm"),
        ("cuda", True, "cuda"),
        ("rocm", False, "cpu"),
        ("cpu", False, "cpu"),
        (None, False, "cpu"),
    ],
)
def test_torch_names_the_backend(build, available, name):
    assert backends.of_torch(build, available=available) == name


def test_what_the_host_hands_over_goes_before_what_torch_says():
    assert backends.detect(instinct(probes={})) == "rocm"
    assert backends.detect(instinct(context=False)) == "rocm"
    assert backends.detect(nvidia()) == "cuda"
    assert backends.detect(laptop()) == "cpu"
