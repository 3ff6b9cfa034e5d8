"""Dumps of KFD's topology and of cards' folders."""

import pytest

from tests.validate.parsers import samples
from validate.parsers import drm, dump, kfd


def bare(reading):
    return [{name: value for name, value in card.items() if name != "raw"} for card in reading.devices]


def test_kfd_tells_partitions_memory_and_links():
    reading = kfd.read(samples.KFD)

    assert bare(reading) == [
        {
            "node": 1, "gfx": "gfx942", "pci": "0001:27:00.0", "render": "/dev/dri/renderD137", "simds": 152,
            "device_id": "0x74a1", "compute_units": 38, "memory_bytes": 51539607552.0,
            "memory_used_bytes": 3149352960.0, "clock_max_hz": 2.1e9, "partition": 1,
            "unique_id": "17239726724163961384",
        }
    ]  # fmt: skip
    assert reading.links == [
        {"from": 1, "to": 2, "weight": 15, "type": "XGMI", "direct": True, "bandwidth_max_bytes_per_s": 64e9},
        {"from": 1, "to": 0, "weight": 20, "type": "PCIE", "direct": False},
    ]
    assert reading.facts == {"processors": 1}
    assert reading.devices[0]["raw"]["of_tomorrow"] == 5


def test_paths_may_begin_anywhere():
    moved = samples.KFD.replace("### nodes", "### sys/class/kfd/kfd/topology/nodes")

    assert kfd.read(moved) == kfd.read(samples.KFD)


def test_a_node_alone_and_the_list_of_firmware_are_read():
    alone = kfd.read("simd_count 8\nsimd_per_cu 4\ngfx_target_version 90010\n")

    assert bare(alone)[0] == {"gfx": "gfx90a", "simds": 8, "compute_units": 2}
    assert kfd.read(samples.KFD_FIRMWARE).versions == {"MEC": "0x00000160", "SDMA0": "0x197"}


def test_a_card_tells_sensors_by_their_labels_and_others_cards_are_none_of_ours():
    reading = drm.read(samples.DRM)

    assert bare(reading) == [
        {
            "index": 1, "pci": "0000:0c:00.0", "device_id": "0x73bf", "vendor_id": "0x1002",
            "memory_bytes": 17163091968.0, "power_w": 36.0, "power_cap_w": 289.0, "temperature_c": 51.0,
            "clock_hz": 5e8, "clock_max_hz": 2.66e9, "link_transfers_per_s": 16e9,
        }
    ]  # fmt: skip
    assert reading.facts == {"cards_of_other_vendors": 1}
    assert reading.devices[0]["raw"]["of_tomorrow"] == "7"


def test_ttar_is_read_and_an_empty_file_is_no_name():
    assert bare(drm.read(samples.DRM_TTAR)) == [{"index": 0, "vendor_id": "0x1002", "memory_used_bytes": 1490378752.0}]


def test_pm_info_is_read_alone_and_beside_sysfs():
    values = {"memory_clock_hz": 3e8, "clock_hz": 2.14e8, "power_w": 3.213, "temperature_c": 24.0}
    beside = f"### card0/device/device\n0x1586\n### debug/dri/0/amdgpu_pm_info\n{samples.PM_INFO}"

    assert bare(drm.read(samples.PM_INFO)) == [values]
    assert bare(drm.read(beside)) == [{"index": 0, "device_id": "0x1586", **values}]


def test_kfd_and_drm_of_one_dump_are_joined_by_address():
    topology = "### kfd/topology/nodes/1/properties\nsimd_count 8\nlocation_id 3072\ngfx_target_version 100300\n"

    assert drm.read(samples.DRM + topology).devices[0]["gfx"] == "gfx1030"


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("### a\n1\n2\n### b\n", {"a": "1\n2", "b": ""}),
        ("Path: p\nLines: 2\n### x\nMode: y\nMode: 644\n", {"p": "### x\nMode: y"}),
        ("nothing\n", {}),
    ],
    ids=["headings", "ttar counts lines", "no dump"],
)
def test_dumps_are_split_into_files(text, files):
    assert {path: content.rstrip("\n") for path, content in dump.files(text).items()} == files
