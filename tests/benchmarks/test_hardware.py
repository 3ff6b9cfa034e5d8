"""Peaks and caches by exact product name: a near match would be a guess."""

import json

import pytest

from benchmarks import hardware


@pytest.mark.parametrize(
    ("name", "unit", "dtype", "expected"),
    [
        ("NVIDIA H200", "FLOP/s", "bf16", 989.4e12),
        ("NVIDIA H200", "FLOP/s", "fp32", 67.0e12),
        ("NVIDIA H200", "B/s", "fp32", 4.8e12),
        ("AMD Instinct MI300X", "FLOP/s", "bf16", 1307.4e12),
        ("AMD Instinct MI300X", "FLOP/s", "fp32", 163.4e12),
        ("AMD Instinct MI250X", "FLOP/s", "fp16", 191.5e12),  # one die is one device
        ("AMD Instinct MI250", "B/s", "fp32", 3276.8e9 / 2),  # listed as the whole package
    ],
)
def test_known_peaks(name, unit, dtype, expected):
    found = hardware.peak(name, unit, dtype)

    assert found is not None
    assert found[0] == pytest.approx(expected)
    assert found[1]


@pytest.mark.parametrize(
    ("name", "unit", "dtype"),
    [
        ("NVIDIA H200 NVL", "FLOP/s", "bf16"),
        ("AMD Instinct MI300", "FLOP/s", "bf16"),
        ("Intel(R) Xeon(R) Processor", "B/s", "fp32"),
        ("AMD Instinct MI300X", "items/s", "bf16"),
        ("AMD Instinct MI210", "FLOP/s", "tf32"),
        ("AMD Instinct MI300X", "FLOP/s", "e8m0"),
    ],
    ids=["another form factor", "a prefix", "a processor", "no unit of hardware", "not in this part", "unknown type"],
)
def test_unknown_peaks_are_none(name, unit, dtype):
    assert hardware.peak(name, unit, dtype) is None


@pytest.mark.parametrize(
    ("name", "reported", "expected"),
    [
        ("AMD Instinct MI300X", 4 << 20, 288 << 20),
        ("NVIDIA H200", 62914560, 62914560),
        ("NVIDIA H100 80GB HBM3", 40 << 20, 50 << 20),
        ("NVIDIA Something", 7, 7),
        ("AMD Something", 4 << 20, None),
        ("NVIDIA H200", None, None),
    ],
    ids=["L2 and Infinity Cache", "as reported", "as listed", "not listed", "its Infinity Cache is unknown", "nothing"],
)
def test_last_level_cache(name, reported, expected):
    assert hardware.last_level_cache(name, reported) == expected


def test_other_names_lead_to_rows_that_exist():
    rows = {row["gpu"] for row in json.loads(hardware.FACTS.read_text(encoding="utf-8"))["gpus"]}

    assert set(hardware.LISTED_AS.values()) <= rows
