"""Sensors by PCI address; what cannot be read is absent, and why is said."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks import telemetry
from benchmarks.children import Sampler
from validate.machine import Machine

PCI = "0000:c1:00.0"
FOLDER = f"/sys/bus/pci/devices/{PCI}"
HWMON = f"{FOLDER}/hwmon/hwmon3"
CARD = {
    f"{HWMON}/power1_average": "300000000\n",
    f"{HWMON}/power1_cap": "750000000\n",
    f"{HWMON}/temp2_input": "61000\n",
    f"{HWMON}/freq1_input": "2100000000\n",
    f"{FOLDER}/mem_info_vram_used": "1048576\n",
}


class Files(Machine):
    """A machine of these files alone."""

    def __init__(self, files):
        super().__init__()
        self.files = files

    def read(self, path):
        return self.files.get(path)

    def glob(self, pattern):
        head, _, name = pattern.replace("hwmon*", "hwmon3").rpartition("/")
        return [path for path in self.files if path == f"{head}/{name}"]


def test_an_amd_card_is_read_in_base_units():
    sensors = telemetry.Amd(PCI, Files(CARD))

    assert sensors.read() == {
        "power_w": 300.0,
        "temperature_c": 61.0,
        "clock_hz": 2.1e9,
        "memory_used_bytes": 1048576,
    }
    assert sensors.source["reads"] == ["clock_hz", "memory_used_bytes", "power_w", "temperature_c"]


@pytest.mark.parametrize(("microwatts", "expected"), [("740000000", ["power cap"]), ("700000000", None)])
def test_an_amd_card_at_its_cap_says_so(microwatts, expected):
    sensors = telemetry.Amd(PCI, Files({**CARD, f"{HWMON}/power1_average": microwatts}))

    assert sensors.read().get("throttle") == expected


@pytest.mark.parametrize(
    ("backend", "pci", "reason"),
    [
        ("cpu", None, "a CPU's sensors are not read"),
        ("rocm", None, "the device's PCI address is unknown"),
        ("rocm", "ffff:ff:ff.7", "has no sensor that can be read: is the amdgpu driver loaded?"),
        ("cuda", "ffff:ff:ff.7", ""),
    ],
)
def test_without_sensors_the_reason_is_told(backend, pci, reason):
    found = telemetry.sensors(backend, pci)

    assert reason in found.source["unknown"]
    assert found.read() == {}


def test_the_process_says_its_source_and_ends_with_its_stdin():
    read, write = os.pipe()
    job = json.dumps({"backend": "cpu", "pci": None, "origin": 0.0, "fd": write})
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.telemetry"],
        cwd=Path(__file__).resolve().parents[2],
        stdin=subprocess.PIPE,
        pass_fds=[write],
        text=True,
    )
    os.close(write)
    process.communicate(job + "\n", timeout=30)

    assert process.returncode == 0
    assert json.loads(os.read(read, 1000)) == {"kind": "source", "unknown": "a CPU's sensors are not read"}
    os.close(read)


def test_the_parent_learns_why_there_are_no_readings_and_does_not_wait():
    sampler = Sampler("cpu", None, time.monotonic())
    begin = time.monotonic()
    try:
        sampler.settle()
    finally:
        sampler.close()

    assert sampler.source == {"unknown": "a CPU's sensors are not read"}
    assert not sampler.alive
    assert time.monotonic() - begin < 5
