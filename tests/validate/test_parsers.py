import json
import os
from pathlib import Path

import pytest

from validate import amd
from validate.parsers import amd_json, amd_smi, kfd, nvidia_smi, rocm_smi, rocminfo

CAPTURES = os.environ.get("KIT_CAPTURES", "")


@pytest.mark.parametrize(
    ("version", "name"),
    [(90402, "gfx942"), (90010, "gfx90a"), (110001, "gfx1101"), (100300, "gfx1030"), (120001, "gfx1201"), (0, None)],
)
def test_a_target_version_is_decimal_with_hex_digits(version, name):
    assert kfd.gfx(version) == name


def test_a_partition_number_is_not_a_pci_function():
    node = kfd.parse("simd_count 152\nlocation_id 9985\ndomain 1\ndrm_render_minor 137\ngfx_target_version 90402")

    assert kfd.describe(11, node) == {
        "node": 11,
        "gfx": "gfx942",
        "pci": "0001:27:00.0",
        "render": "/dev/dri/renderD137",
        "simds": 152,
    }


def test_lines_that_are_no_property_are_passed_over():
    assert kfd.parse("simd_count 4\nname of it\n\nx y z\nvendor_id 0x1002\nneg -1") == {"simd_count": 4, "neg": -1}


ROCMINFO = """\x1b[37mROCk module version 6.10.5 is loaded\x1b[0m
somebody is member of render group
Runtime Version:         1.14
Agent 1
  Name:                    AMD EPYC 7763
  Device Type:             CPU
Agent 2
  Name:                    gfx90a
  Marketing Name:          AMD Instinct MI210
  Device Type:             GPU
  BDFID:                   49920
  Compute Unit:            104
  Packet Processor uCode:: 83
  ISA Info:
    ISA 1
      Name:                    amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-
"""


def test_rocminfo_gpus_are_told_by_device_type_and_not_by_the_first_name():
    found = rocminfo.parse(ROCMINFO)

    assert found["runtime"] == "1.14"
    assert [agent["name"] for agent in found["agents"] if agent["gpu"]] == ["gfx90a"]
    assert found["agents"][1]["pci"] == "0000:c3:00.0"
    assert "somebody" not in str(found)


@pytest.mark.parametrize(
    ("text", "failure"),
    [
        ("Unable to open /dev/kfd read-write: Permission denied\n", "/dev/kfd: Permission denied"),
        ("ROCk module is NOT loaded, possibly no GPU devices", "the kernel driver is not loaded"),
        (
            "hsa api call failure at: x.cc:1\nCall returned HSA_STATUS_ERROR_OUT_OF_RESOURCES: words",
            "HSA_STATUS_ERROR_OUT_OF_RESOURCES",
        ),
        ("", None),
        (
            "WSL environment detected.\nhsa_init Failed, possibly no supported GPU devices",
            "hsa_init failed: possibly no supported GPU devices",
        ),
    ],
    ids=["permission", "driver", "hsa", "empty", "wsl"],
)
def test_rocminfo_failures_are_kept(text, failure):
    assert rocminfo.parse(text)["failure"] == failure


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('WARNING: you are missing groups: render\n{"card0": {"a": "1"}}', [{"card0": {"a": "1"}}]),
        ('[{"gpu": 0}]\n[{"gpu": 1}]', [[{"gpu": 0}], [{"gpu": 1}]]),
        ("ERROR:root:Driver not initialized", []),
        ('{"cut": ', []),
        ("[" * 5000, []),
    ],
    ids=["text before", "two documents", "no JSON", "cut off", "absurdly nested"],
)
def test_json_is_found_among_other_text(text, found):
    assert amd_json.documents(text) == found


@pytest.mark.parametrize(
    ("value", "number"),
    [
        ("41.0", 41.0),
        ("(132Mhz)", 132.0),
        ({"value": 158, "unit": "W"}, 158.0),
        ("N/A", None),
        ("N/A (Secondary die)", None),
        ("", None),
        (None, None),
        (True, None),
        ({"value": "N/A"}, None),
        ("139 W", 139.0),
    ],
    ids=str,
)
def test_a_number_is_taken_from_every_shape(value, number):
    assert amd_json.number(value) == number


def test_rocm_smi_old_and_new_keys_give_the_same_units():
    old = {"Average Graphics Package Power (W)": "88.0", "sclk clock speed:": "(300Mhz)", "PCI Bus": "0000:C3:00.0"}
    new = {
        "Current Socket Graphics Package Power (W)": "159.0",
        "Average Graphics Package Power (W)": "N/A",
        "VRAM Total Used Memory (B)": "299687936",
    }

    assert rocm_smi.parse(json.dumps({"card0": old})) == [{"pci": "0000:c3:00.0", "power_w": 88.0, "clock_hz": 3e8}]
    assert rocm_smi.parse(json.dumps({"card0": new, "system": {"PID1": "x"}})) == [
        {"power_w": 159.0, "memory_used_bytes": 299687936.0}
    ]


def test_amd_smi_lists_and_gpu_data_are_both_read():
    power = {"socket_power": {"value": 158, "unit": "W"}}
    heat = {"edge": "N/A", "hotspot": {"value": 45}}
    entry = json.dumps({"gpu": 0, "usage": "N/A", "power": power, "temperature": heat})

    assert amd_smi.parse(f"[{entry}]") == amd_smi.parse('{"gpu_data": [' + entry + "]}")
    assert amd_smi.parse(f"[{entry}]") == [{"index": 0, "power_w": 158.0, "temperature_c": 45.0}]


def test_nvidia_smi_gives_base_units_and_no_false_zeros():
    text = (
        "pci.bus_id, name, driver_version, vbios_version, power.limit [W], clocks.max.sm [MHz]\n"
        "00000000:00:06.0, NVIDIA H200, 580.159.04, 96.00.A5.00.01, [N/A], 1980 MHz\n"
    )

    assert nvidia_smi.parse(text) == {
        "0000:00:06.0": {
            "name": "NVIDIA H200",
            "driver_version": "580.159.04",
            "vbios_version": "96.00.A5.00.01",
            "clocks.max.sm": 1.98e9,
        }
    }


def test_the_present_clock_is_the_one_with_a_star():
    assert amd.steps("0: 132Mhz *\n1: 2100Mhz\nS: 19Mhz\nodd") == ([132e6, 2100e6, 19e6], 132e6)


@pytest.mark.parametrize("parse", [kfd.parse, rocminfo.parse, rocm_smi.parse, amd_smi.parse, nvidia_smi.parse])
@pytest.mark.parametrize(
    "text", ["", "\0", "{", "[[1]]", '{"card0": 5}', '{"gpu_data": [7, {"gpu": "x"}]}', "é\n\r\n", '1,2\n"a']
)
def test_odd_text_never_raises(parse, text):
    parse(text)


@pytest.mark.skipif(not CAPTURES, reason="KIT_CAPTURES names no folder of captured outputs")
@pytest.mark.parametrize(
    ("folder", "parse"),
    [
        ("rocminfo", rocminfo.parse),
        ("rocminfo-failures", rocminfo.parse),
        ("rocm-smi", rocm_smi.parse),
        ("amd-smi", amd_smi.parse),
        ("sysfs-kfd", kfd.parse),
        ("nvidia", nvidia_smi.parse),
    ],
)
def test_captured_outputs_are_read(folder, parse):
    for path in sorted((Path(CAPTURES) / folder).iterdir()):
        parse(path.read_text(encoding="utf-8", errors="replace"))
