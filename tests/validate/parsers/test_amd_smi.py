"""amd-smi of all releases."""

import json

import pytest

from tests.validate.parsers import samples
from validate.parsers import amd_smi

MIB = 2.0**20


def bare(reading):
    return [{name: value for name, value in card.items() if name != "raw"} for card in reading.devices]


def test_a_list_tells_values_links_and_processes():
    reading = amd_smi.read(samples.AMD_SMI_6)

    assert bare(reading) == [
        {
            "index": 1, "pci": "0000:c3:00.0", "power_w": 158.0, "temperature_c": 45.0, "temperature_memory_c": 38.0,
            "clock_hz": 2.102e9, "memory_clock_hz": 9e8, "memory_bytes": 196592 * MIB, "memory_used_bytes": 283 * MIB,
            "energy_j": 14500.0,
        }
    ]  # fmt: skip
    assert reading.links == [
        {"from": "0000:c3:00.0", "to": "0000:83:00.0", "weight": 15, "hops": 1, "type": "XGMI", "status": "ENABLED"}
    ]
    assert reading.processes == [{"gpu": 1, "pid": 12, "memory_used_bytes": 2 * MIB}]
    assert reading.devices[0]["raw"]["of_tomorrow"] == {"x": 1}


def test_gpu_data_after_a_warning_and_a_second_document_are_one_gpu():
    reading = amd_smi.read(samples.AMD_SMI_7)

    assert bare(reading) == [
        {
            "index": 0, "pci": "0000:05:00.0", "gfx": "gfx950", "device_id": "0x75a3", "compute_units": 256,
            "partition": 0, "numa_node": 1, "power_cap_w": 1000.0, "power_cap_max_w": 1400.0,
            "memory_bytes": 294896 * MIB, "name": "Instinct", "vbios": "113-X", "compute_partition": "SPX",
            "memory_partition": "NPS1", "driver": "6.16.6", "busy_fraction": 0.42,
        }
    ]  # fmt: skip
    assert (reading.versions, reading.processes) == ({"driver": "6.16.6"}, [])
    assert reading.warnings[0].startswith("WARNING: User is missing")


def test_a_key_of_tomorrow_may_hold_the_list():
    reading = amd_smi.read(samples.AMD_SMI_NEXT)

    assert bare(reading) == [{"index": 0, "power_w": 99.0}, {"index": 1}]
    assert reading.facts["cpu_data"] == [{"cpu": 0}]


@pytest.mark.parametrize(
    ("text", "versions"),
    [
        (
            samples.AMD_SMI_VERSION,
            {"amd_smi": "26.2.0", "amd_smi_library": "26.2.0", "rocm": "7.1.0", "driver": "6.16.6"},
        ),
        (samples.AMD_SMI_LINE, {"amd_smi": "25.4.2+aca", "amd_smi_library": "25.4.0", "driver": "6.10.5"}),
    ],
    ids=["json", "line"],
)  # fmt: skip
def test_versions_are_told_and_na_is_none(text, versions):
    assert amd_smi.read(text).versions == versions


def test_json_that_is_cut_off_tells_what_is_there():
    reading = amd_smi.read(samples.AMD_SMI_CUT)

    assert bare(reading) == [{"index": 3, "pci": "0001:01:00.0", "power_w": 11.0}]
    assert reading.links == [{"from": "0001:01:00.0", "to": "0002:01:00.0", "weight": 15, "hops": 1}]
    assert len(reading.warnings) == 2


def test_the_middle_of_json_keeps_its_clocks():
    reading = amd_smi.read(samples.AMD_SMI_MIDDLE)

    assert reading.devices[0]["raw"]["clock"]["fclk_0"]["clk"] == {"value": 1000, "unit": "MHz"}


def test_texts_of_several_commands_are_one_gpu_and_lists_go_over_lines():
    reading = amd_smi.read(samples.AMD_SMI_TEXT)

    assert bare(reading) == [
        {
            "index": 0, "pci": "0000:01:00.0", "gfx": "gfx942", "device_id": "0x74a0", "compute_units": 228,
            "numa_node": 0, "power_cap_w": 550.0, "power_cap_max_w": 600.0, "memory_bytes": 96432 * MIB,
            "memory_bandwidth_bytes_per_s": 5325e9, "name": "Instinct", "power_w": 140.0, "temperature_c": 37.0,
            "busy_fraction": 0.07,
        },
        {"index": 1},
    ]  # fmt: skip
    assert reading.processes == [{"gpu": 1, "pid": 99, "name": "train", "memory_used_bytes": 1.5 * 2**30}]
    raw = reading.devices[0]["raw"]
    assert raw["usage"]["jpeg_activity"] == ["1 %", "N/A", "N/A", "N/A"]
    assert raw["policies"] == {"policy_id": ["0", "1"]}
    assert reading.facts == {"processors": 1}


def test_the_table_of_seven_is_read():
    reading = amd_smi.read(samples.AMD_SMI_TABLE)

    assert bare(reading) == [
        {
            "pci": "0000:0c:00.0", "name": "Instinct of a Table", "memory_busy_fraction": 0.13, "temperature_c": 60.0,
            "power_w": 734.0, "power_cap_w": 750.0, "index": 2, "hip_index": 5, "compute_partition": "SPX",
            "memory_partition": "NPS1", "busy_fraction": 0.98, "memory_used_bytes": 4976 * MIB,
            "memory_bytes": 196592 * MIB,
        }
    ]  # fmt: skip
    assert reading.versions == {"amd_smi": "26.0.0+eaa54ecc", "driver": "6.12.12", "rocm": "7.0.0"}
    assert reading.processes == [{"gpu": 2, "pid": 2427396, "name": "my job", "memory_used_bytes": 2.0 * 2**30}]


def test_matrices_become_links():
    reading = amd_smi.read(samples.AMD_SMI_TOPOLOGY)

    assert reading.links == [{"from": "0000:c1:00.0", "to": "0000:c6:00.0", "weight": 30, "hops": 1}]
    assert bare(reading) == [{"pci": "0000:c1:00.0"}, {"pci": "0000:c6:00.0"}]


@pytest.mark.parametrize(
    ("driver", "version"),
    [
        ({"version": "6.10", "driver_version": "6.8"}, "6.10"),
        ({"version": "N/A", "driver_version": "6.8"}, "6.8"),
        ({"name": "N/A", "version": "N/A"}, None),
        ({"NAME": "amdgpu", "VERSION": "6.9"}, "6.9"),
        ("amdgpu 6.8", None),
        ("N/A", None),
    ],
    ids=str,
)
def test_the_driver_is_told_in_many_forms(driver, version):
    reading = amd_smi.read(json.dumps([{"gpu": 0, "driver": driver}]))

    assert reading.versions.get("driver") == version
    assert bool(reading.warnings) == (driver == "amdgpu 6.8")
