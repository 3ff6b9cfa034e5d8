"""What rocprof, rocprofv3 and rocprof-compute write."""

import pytest

from tests.validate.parsers import samples
from validate.parsers import rocprof, rocprof_compute


@pytest.mark.parametrize(
    ("text", "row"),
    [
        (
            samples.ROCPROF_STATS,
            {"name": "k<int, 4>(float*)", "calls": 4, "total_s": 2e-6, "average_s": 5e-7, "share_fraction": 0.995},
        ),
        (
            samples.ROCPROFV3_STATS,
            {
                "name": 'say "k", twice', "calls": 2, "total_s": 3e-6, "average_s": 1.5005e-6, "min_s": 1e-6,
                "max_s": 2e-6, "deviation_s": 0.0, "share_fraction": pytest.approx(2.92e-5),
            },
        ),
        (
            samples.ROCPROFV3_SUMMARY,
            {
                "name": "rhs", "domain": "KERNEL_DISPATCH", "calls": 2000, "total_s": 0.01595544,
                "average_s": 7.978e-06, "min_s": 7.171e-06, "share_fraction": 0.3125,
            },
        ),
        (
            samples.ROCPROFV3_TRACE,
            {
                "name": "k(int, int)", "kind": "KERNEL_DISPATCH", "start_ns": 1552082594648838, "duration_s": 1.164e-05,
                "agent": 4, "dispatch": 7,
            },
        ),
        (
            samples.ROCPROFV3_TRACE_6,
            {"name": "k", "kind": "KERNEL_DISPATCH", "start_ns": 10, "duration_s": 1e-8, "agent": 8},
        ),
        (samples.ROCPROF_JSON, {"name": "Copy", "start_ns": 773902396463126, "duration_s": 8.48e-06, "agent": 2}),
    ],
    ids=["rocprof", "rocprofv3 after a command", "summary", "trace of 7", "trace of 6, header broken", "the browser's"],
)  # fmt: skip
def test_the_first_row_of_every_kind_is_right(text, row):
    assert rocprof.read(text).facts["rows"][0] == row


def test_counters_are_summed_by_kernel():
    assert rocprof.read(samples.ROCPROFV3_COUNTERS).facts["counters"] == {"k": {"SQ_WAVES": 16400.5}}


def test_agents_and_lists_tell_devices():
    agents, listed = rocprof.read(samples.ROCPROFV3_AGENTS), rocprof.read(samples.ROCPROFV3_LIST)

    assert [(card["node"], card["gfx"], card["compute_units"], card["clock_max_hz"]) for card in agents.devices] == [
        (4, "gfx942", 304, 2.1e9)
    ]
    assert ([card["gfx"] for card in listed.devices], listed.facts["counters"]) == (["gfx90a"], ["SQ_WAVES"])


def test_a_row_that_is_cut_off_is_told():
    assert "a row is cut off" in rocprof.read(samples.ROCPROF_STATS + '"k2",4').warnings


def test_wide_counters_tell_times_channels_and_hits():
    reading = rocprof_compute.read(samples.PMC_PERF)

    row = reading.facts["rows"][0]
    assert (row["name"], row["duration_s"], row["counters"]["TCC_HIT[1]"]) == ("v(double*, int)", 2e-5, 2.0)
    assert (reading.facts["l2_channels"], reading.facts["l2_hit_fraction"]) == (2, 0.75)


def test_system_information_tells_the_device_and_not_the_host():
    reading = rocprof_compute.read(samples.SYSINFO)

    card = reading.devices[0]
    assert (card["gfx"], card["compute_units"], card["memory_bandwidth_bytes_per_s"]) == ("gfx942", 228, 5324.8e9)
    assert (card["raw"]["sbios"], reading.versions) == ("Maker, Inc.", {"rocm": "6.1.2-110"})
    assert "somebody" not in repr(reading)


def test_a_roofline_tells_peaks():
    assert rocprof_compute.read(samples.ROOFLINE).devices[0]["peaks_per_s"] == {"HBMBw": 1388.5e9, "FP64Flops": 2e13}


def test_an_analysis_tells_metrics_and_kernels_whose_names_go_over_rows():
    reading = rocprof_compute.read(samples.ANALYSIS)

    assert reading.facts["metrics"] == {"VALU": 180.31}
    assert reading.facts["kernels"] == [{"name": "void bench<float, 2u>", "calls": 3.0, "total_s": 0.010122632}]
    assert reading.warnings == ["WARNING Couldn't load roofline.csv."]


def test_a_log_tells_version_target_and_counters():
    reading = rocprof_compute.read(samples.PROFILE_LOG)

    assert (reading.versions, reading.facts) == (
        {"rocprof_compute": "2.0.0"},
        {"target": "MI300X_A1", "counters": ["SQ_WAVES"]},
    )
