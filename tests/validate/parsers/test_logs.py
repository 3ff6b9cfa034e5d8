"""Versions, environments, logs of the kernel and of MIOpen, modules, targets and rates."""

import pytest

from tests.validate.parsers import samples
from validate.parsers import bandwidth, collect_env, dmesg, enumerator, hipconfig, lsmod, miopen


@pytest.mark.parametrize(
    ("text", "versions", "path"),
    [
        (samples.HIPCONFIG_6, {"hip": "6.2.41133-dd7f95766"}, "/opt/rocm-6.2.0"),
        (samples.HIPCONFIG_4, {"hip": "4.2.21155-37cb3a34", "clang": "12.0.0"}, "/opt/hip"),
    ],
    ids=["the program's", "the script's"],
)
def test_hipconfig_tells_versions_and_paths(text, versions, path):
    reading = hipconfig.read(text)

    assert (reading.versions, reading.facts["paths"]["HIP_PATH"]) == (versions, path)


def test_hipconfigs_version_alone_is_read():
    assert hipconfig.read("6.3.42131-fa1d09cbd\n").versions == {"hip": "6.3.42131-fa1d09cbd"}


def test_collect_env_tells_devices_and_versions_and_leaves_out_what_it_could_not_collect():
    reading = collect_env.read(samples.COLLECT_ENV)

    assert [(card["index"], card["name"], card.get("gfx")) for card in reading.devices] == [
        (0, "Instinct", "gfx942"),
        (1, "Radeon", None),
    ]
    assert reading.versions == {
        "torch": "2.4.1+rocm6.1", "hip_built": "6.1.40091-a8dbc0c19", "miopen": "3.1.0", "os": "Some Linux (x86_64)",
        "cmake": "3.26.4",
    }  # fmt: skip
    assert (reading.facts["packages"], reading.facts["cuda_available"]) == ({"torch": "2.4.1+rocm6.1"}, True)


def test_collect_env_that_stopped_is_a_message():
    reading = collect_env.read(samples.COLLECT_ENV_CRASH)

    assert (reading.form, reading.versions) == ("messages", {})
    assert reading.warnings[-1] == "it stopped: IndexError: list index out of range"


def test_miopen_tells_modes_solvers_times_and_no_host():
    reading = miopen.read(samples.MIOPEN)

    assert reading.devices[0]["gfx"] == "gfx90a"
    assert reading.facts["find_mode"] == {"name": "DYNAMIC_HYBRID", "number": 5}
    assert reading.facts["find_enforce"] == {"name": "SEARCH_DB_UPDATE", "number": 4}
    assert reading.facts["solvers"] == ["ConvAsm1x1U", "ConvW"]
    assert reading.facts["executions"] == [{"problem": "conv -n 1", "solver": "ConvW", "time_s": 0.00025}]
    assert reading.versions == {"os": "Linux 6.8.0", "hip": "7.1.25424", "driver": "6.12.12", "miopen": "3.5.1.d"}
    assert "somebody" not in repr(reading)


def test_dmesg_tells_the_device_its_memory_and_faults_by_kind():
    reading = dmesg.read(samples.DMESG)

    card = {name: value for name, value in reading.devices[0].items() if name != "raw"}
    assert card == {
        "pci": "0000:2f:00.0", "device_id": "0x744c", "vbios": "113-X-1", "memory_bytes": 16368 * 2.0**20,
    }  # fmt: skip
    assert [(fault["kind"], fault.get("pci"), fault.get("time_s")) for fault in reading.facts["faults"]] == [
        ("poison", "0000:2f:00.0", None),
        ("ring_timeout", "0000:2f:00.0", 9.5),
        ("unsupported", None, 9.6),
    ]
    assert (len(reading.devices), reading.facts["kfd_devices"], reading.versions) == (
        1,
        ["0x744c"],
        {"kernel": "6.8.0-31"},
    )
    assert "somebody" not in repr(reading)


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("amdgpu 0000:03:00.0: amdgpu: SMC engine is not correctly up!", "firmware"),
        ("amdgpu 0000:03:00.0: amdgpu: resume of IP block <smu> failed -5", "resume"),
        ("amdgpu 0000:03:00.0: amdgpu: [gfxhub0] retry page fault (src_id:0 ring:0)", "page_fault"),
        ("amdgpu 0000:03:00.0: amdgpu: GPU reset begin!", "reset"),
        ("amdgpu 0000:02:00.0: amdgpu: Saved bad pages 150 reaches threshold value 128", "bad_pages"),
        ("amdgpu 0000:03:00.0: {1}[Hardware Error]: ACA[01/01].STATUS=0x98", "hardware_error"),
        ("amdgpu: probe of 0000:03:00.0 failed with error -22", "probe"),
        ("[drm:amdgpu_job_timedout] *ERROR* something", "error"),
    ],
    ids=lambda text: text if len(text) < 20 else "",
)
def test_a_fault_has_a_kind(line, kind):
    assert dmesg.read(f"[   33.7] {line}\n").facts["kinds"] == [kind]


def test_lsmod_and_targets_are_read():
    modules = lsmod.read(samples.LSMOD).facts

    assert modules["modules"]["ttm"] == {"size_bytes": 73728, "users": 2, "used_by": ["amdgpu", "drm_ttm_helper"]}
    assert modules["drivers"] == ["amdgpu"]
    assert [card["gfx"] for card in enumerator.read(samples.TARGETS).devices] == ["gfx90a", "gfx942"]
    assert lsmod.read("Module                  Size  Used by\n").facts == {}


def test_rates_are_decimal_and_an_address_gets_its_domain():
    reading = bandwidth.read(samples.BANDWIDTH)

    assert (reading.devices[0]["pci"], reading.facts["processors"]) == ("0000:0c:00.0", 1)
    assert reading.facts["tables"] == {
        "unidirectional_bytes_per_s": {"0": {"0": None, "1": 14.25e9}, "1": {"0": 13.5e9, "1": None}}
    }


def test_the_other_tools_of_rates_are_read():
    hip = bandwidth.read(samples.HIP_BANDWIDTH)

    assert [result.get("max_bytes_per_s", result.get("max_s")) for result in hip.facts["results"]] == [0.75e9, 0.004]
    assert bandwidth.read(samples.TRANSFERBENCH).facts["results"] == [
        {
            "transfer": 0, "bytes_per_s": 33.5e9, "time_s": 0.0025, "size_bytes": 67108864,
            "path": "G0 -> GPU00:004 -> G1",
        }
    ]  # fmt: skip
    assert bandwidth.read(samples.TRANSFERBENCH_TABLE).facts["rows"][1] == {
        "row": "CPU 00 min", "CPU 00": 14e9, "GPU 00": 9.25e9,
    }  # fmt: skip
