"""Peaks and caches by exact product name: a near match would be a guess."""

import json

import pytest

from benchmarks import hardware


@pytest.mark.parametrize(
    ("name", "units", "unit", "dtype", "expected"),
    [
        ("NVIDIA H200", 132, "FLOP/s", "bf16", 989.4e12),
        ("NVIDIA H200", 132, "FLOP/s", "fp32", 67.0e12),
        ("NVIDIA H200", 132, "B/s", "fp32", 4.8e12),
        ("AMD Instinct MI300X", 304, "FLOP/s", "bf16", 1307.4e12),
        ("AMD Instinct MI300X", 304, "FLOP/s", "fp32", 163.4e12),
        ("AMD Instinct MI250X", 110, "FLOP/s", "fp16", 191.5e12),  # one die is one device
        ("AMD Instinct MI250X/MI250", 110, "FLOP/s", "fp16", 191.5e12),
        ("AMD Instinct MI250X/MI250", 104, "FLOP/s", "fp16", 362.1e12 / 2),
        ("AMD Instinct MI250X / MI250", 104, "FLOP/s", "fp16", 362.1e12 / 2),  # as ROCm 7 spells it
        ("AMD Instinct MI250", 104, "B/s", "fp32", 3276.8e9 / 2),  # listed as the whole package
    ],
)
def test_known_peaks(name, units, unit, dtype, expected):
    found, source = hardware.peak(name, units, unit, dtype)

    assert found == pytest.approx(expected)
    assert not source.startswith("unknown")


@pytest.mark.parametrize(
    ("name", "units", "unit", "dtype", "source"),
    [
        ("NVIDIA H200 NVL", 132, "FLOP/s", "bf16", "unknown: NVIDIA H200 NVL is not listed in hardware-peaks.json"),
        ("AMD Instinct MI300", 304, "FLOP/s", "bf16", "unknown: AMD Instinct MI300 is not listed"),
        ("AMD Instinct MI300X", 38, "B/s", "fp32", "unknown: 38 compute units, and a whole AMD Instinct MI300X"),
        ("NVIDIA H200", 16, "FLOP/s", "bf16", "unknown: 16 compute units, and a whole NVIDIA H200 has 132"),
        ("NVIDIA H200", None, "FLOP/s", "bf16", "unknown: an unknown number of compute units"),
        ("AMD Instinct MI250X / MI250", 208, "B/s", "fp32", "unknown: 208 compute units, and a whole"),
        ("AMD Instinct MI210", 104, "FLOP/s", "tf32", "unknown: AMD Instinct MI210 lists none for tf32"),
        ("AMD Instinct MI300X", 304, "FLOP/s", "e8m0", "unknown: AMD Instinct MI300X lists none for e8m0"),
    ],
    ids=[
        "another form factor", "a prefix", "a partition", "an instance", "uncounted", "a package", "not in this part",
        "unknown type",
    ],
)  # fmt: skip
def test_unknown_peaks_say_why(name, units, unit, dtype, source):
    found, why = hardware.peak(name, units, unit, dtype)

    assert found is None
    assert why.startswith(source)


def test_a_unit_that_hardware_has_not_has_no_peak_and_no_reason():
    assert hardware.peak("AMD Instinct MI300X", 304, "items/s", "bf16") == (None, None)


@pytest.mark.parametrize(
    ("name", "units", "reported", "expected"),
    [
        ("AMD Instinct MI300X", 304, 4 << 20, 288 << 20),
        ("AMD Instinct MI300X", 38, 4 << 20, None),
        ("AMD Instinct MI250", 104, None, 8 << 20),
        ("NVIDIA H200", 132, 62914560, 62914560),
        ("NVIDIA H100 80GB HBM3", 132, 40 << 20, 50 << 20),
        ("NVIDIA H100 80GB HBM3", 16, 6 << 20, 6 << 20),
        ("NVIDIA Something", 1, 7, 7),
        ("AMD Something", 1, 4 << 20, None),
        ("NVIDIA H200", 132, None, None),
    ],
    ids=[
        "L2 and Infinity Cache", "a partition", "half a package", "as reported", "as listed", "an instance",
        "not listed", "its Infinity Cache is unknown", "nothing",
    ],
)  # fmt: skip
def test_last_level_cache(name, units, reported, expected):
    assert hardware.last_level_cache(name, units, reported) == expected


def test_other_names_lead_to_rows_that_exist():
    rows = {row["gpu"] for row in json.loads(hardware.FACTS.read_text(encoding="utf-8"))["gpus"]}

    assert {row for names in hardware.LISTED_AS.values() for row in names} <= rows
