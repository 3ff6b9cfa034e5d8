"""Sensors by PCI address; what cannot be read is absent, and why is said."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks import telemetry
from benchmarks.sampler import Sampler
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


class Failing:
    """Sensors that answer a few times."""

    def __init__(self, answers, error):
        self.answers, self.error = answers, error
        self.source = {"source": "NVML", "reads": ["power_w"]}

    def read(self):
        self.answers -= 1
        if self.answers < 0:
            raise self.error
        return {"power_w": 1.0}


@pytest.mark.parametrize("error", [OSError("device is lost"), ValueError("no number"), AttributeError("no symbol")])
def test_sensors_that_fail_end_the_readings_with_the_reason(monkeypatch, error):
    read, write = os.pipe()
    job = json.dumps({"backend": "cuda", "pci": PCI, "origin": time.monotonic(), "fd": write})
    stdin, keep_open = os.pipe()
    os.write(keep_open, job.encode() + b"\n")
    monkeypatch.setattr(telemetry, "SENSORS", {"cuda": lambda _: Failing(2, error)})
    with os.fdopen(stdin) as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        code = telemetry.main()
    os.close(keep_open)

    lines = [json.loads(line) for line in os.read(read, 10_000).splitlines()]
    os.close(read)
    assert code == 0
    assert [line["kind"] for line in lines] == ["source", "reading", "reading", "source"]
    assert lines[-1]["unknown"].startswith("NVML failed 0.")
    assert lines[-1]["unknown"].endswith(f"{type(error).__name__}: {error}")


def test_after_its_sensors_failed_a_run_names_no_source_that_answers():
    sampler = Sampler("cpu", None, time.monotonic())
    sampler.settle()
    sampler.child.close_stdin()
    sampler.alive, sampler.source = True, {"source": "NVML", "reads": ["power_w"]}  # as before its process died
    while sampler.alive:
        sampler.drain()
        time.sleep(0.01)
    sampler.close()

    assert sampler.source == {"unknown": "the process that read NVML died"}


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
