"""rocminfo's text, whole, cut off, and failed."""

import pytest

from tests.validate.parsers import samples
from validate.parsers import rocminfo


def test_a_whole_text_tells_device_memory_versions():
    reading = rocminfo.read(samples.ROCMINFO)

    raw = reading.devices[0].pop("raw")
    assert reading.devices == [
        {
            "pci": "0001:c3:00.0",
            "gfx": "gfx942",
            "name": "Shared Name",
            "node": 16,
            "compute_units": 304,
            "device_id": "0x74a1",
            "unique_id": "GPU-00112233445566ff",
            "memory_bytes": 201310208 * 1024.0,
            "clock_max_hz": 2.1e9,
            "isas": ["gfx942:sramecc+:xnack-", "gfx9-generic:sramecc+:xnack-"],
        }
    ]
    assert reading.versions == {"hsa_runtime": "1.18", "hsa_runtime_extension": "1.11", "driver": "6.14.1"}
    assert (reading.facts["processors"], reading.facts["xnack"]) == (1, False)
    assert raw["A Key Of Tomorrow"] == "yes"
    assert reading.facts["system"]["Anything New"] == "7"
    assert (reading.form, reading.warnings) == ("agents", [])


def test_a_processor_that_shares_a_gpus_name_is_none():
    only = samples.ROCMINFO.split("*******\nAgent 17")[0]

    reading = rocminfo.read(only)

    assert (reading.devices, reading.warnings) == ([], ["no agent is a GPU"])


def test_a_text_from_the_middle_of_an_agent_is_read_and_the_next_name_is_another_agent():
    reading = rocminfo.read(samples.ROCMINFO_INSIDE)

    assert [(card.get("name"), card.get("gfx"), card.get("memory_is_shared")) for card in reading.devices] == [
        ("Integrated", None, True),
        (None, "gfx1100", None),
    ]
    assert "unique_id" not in reading.devices[0]  # all f
    assert any("cut off" in warning for warning in reading.warnings)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("Permission denied", "EACCES"),
        ("Operation not permitted", "EPERM"),
        ("No such file or directory", "ENOENT"),
        ("Cannot allocate memory", "ENOMEM"),
        ("Invalid argument", "EINVAL"),
        ("Something of tomorrow", None),
    ],
)
def test_the_kernels_words_become_an_errno(words, code):
    reading = rocminfo.read(f"ROCk module is loaded\nUnable to open /dev/kfd read-write: {words}\n")

    assert (reading.form, reading.facts.get("cause")) == ("failure", code)


def test_nobodys_name_is_kept():
    assert "somebody" not in repr(rocminfo.read(samples.ROCMINFO_NO_DEVICE))
    assert "somebody" not in repr(rocminfo.read(f"somebody is member of render group\n{samples.ROCMINFO}"))


def test_source_text_is_no_failure():
    reading = rocminfo.read('printf("%sUnable to open /dev/kfd read-write: %s%s\\n",')

    assert (reading.form, reading.facts) == ("source text", {})


def test_wsl_is_told():
    reading = rocminfo.read("WSL environment detected.\nhsa_init Failed, possibly no supported GPU devices\n")

    assert reading.facts == {"wsl": True, "failure": "hsa_init failed: possibly no supported GPU devices"}
