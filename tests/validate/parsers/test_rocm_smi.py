"""rocm-smi of all releases."""

import json

import pytest

from tests.validate.parsers import samples
from validate.parsers import rocm_smi


def bare(reading):
    return [{name: value for name, value in card.items() if name != "raw"} for card in reading.devices]


def test_old_json_tells_cards_in_the_order_of_their_numbers_links_and_processes():
    reading = rocm_smi.read(samples.ROCM_SMI_OLD)

    assert bare(reading) == [
        {
            "index": 0, "pci": "0000:31:00.0", "name": "Instinct", "device_id": "0x740c", "power_w": 89.0,
            "power_cap_w": 560.0, "temperature_c": 41.0, "temperature_edge_c": 41.0, "clock_hz": 3e8,
            "memory_bytes": 68702699520.0,
        },
        {"index": 1, "pci": "0000:32:00.0", "device_id": "0x740c", "power_unknown": "N/A (Secondary die)"},
    ]  # fmt: skip
    assert reading.links == [{"from": 0, "to": 1, "weight": 15, "hops": 1, "type": "XGMI"}]
    assert reading.processes == [
        {"pid": 77, "name": "a, b", "gpus": 2, "memory_used_bytes": 4096.0, "sdma": 0, "compute_units": 11}
    ]
    assert reading.versions == {"driver": "5.18.13"}
    assert reading.facts["system"] == {"Something else": "kept"}
    assert reading.devices[1]["raw"]["GPU memory use (%)"] == "3"  # activity, not occupancy: nothing is made of it


def test_new_json_has_the_power_in_whichever_key_is_a_number():
    reading = rocm_smi.read(samples.ROCM_SMI_NEW)

    assert bare(reading) == [
        {
            "index": 0, "gfx": "gfx1201", "name": "Radeon of Today", "device_id": "0x7550", "node": 1, "power_w": 17.5,
            "temperature_c": 41.0, "temperature_edge_c": 39.0, "memory_clock_hz": 96e6,
            "memory_used_bytes": 9518669824.0, "busy_fraction": 1.0, "voltage_v": 0.862,
        }
    ]  # fmt: skip
    assert [warning[:20] for warning in reading.warnings] == ["WARNING: AMD GPU dev"]


def test_the_name_of_a_key_may_change_its_case():
    entry = {"VRAM TOTAL Memory (B)": "5", "gfx version": "gfx90a", "PCI BUS": "0000:01:00.0"}

    assert bare(rocm_smi.read(json.dumps({"card0": entry}))) == [
        {"index": 0, "memory_bytes": 5.0, "gfx": "gfx90a", "pci": "0000:01:00.0"}
    ]


def test_csv_is_read_by_the_names_of_its_columns():
    assert [(card["index"], card["power_w"], card["name"]) for card in rocm_smi.read(samples.ROCM_SMI_CSV).devices] == [
        (0, 17.0, "Radeon One"),
        (10, 18.0, "Radeon, Two"),
    ]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        (
            samples.ROCM_SMI_2,
            [(39.02, None, 42.0, 0.05, 0.0, "0000:12:00.0"), (89.0, 315.0, 50.0, 0.03, 0.12, "0000:03:00.0")],
        ),
        (samples.ROCM_SMI_5, [(38.0, 290.0, 37.0, 0.01, 0.95, None)]),
        (samples.ROCM_SMI_6_0, [(173.0, 750.0, 45.0, 0.0, 0.0, None)]),
        (samples.ROCM_SMI_6_2, [(151.0, 750.0, 44.0, 0.07, 0.02, None), (None, None, None, 0.02, None, None)]),
    ],
    ids=["2.x to 4.x, and the hardware's", "5.x", "6.0, two lines a card", "6.2, with a second partition"],
)  # fmt: skip
def test_tables_are_read_by_their_headers(text, values):
    names = ("power_w", "power_cap_w", "temperature_c", "memory_used_fraction", "busy_fraction", "pci")

    assert [tuple(card.get(name) for name in names) for card in rocm_smi.read(text).devices] == values


def test_a_table_tells_partitions_and_names():
    partitioned, named = rocm_smi.read(samples.ROCM_SMI_6_2).devices, rocm_smi.read(samples.ROCM_SMI_6_0).devices

    assert [(card.get("compute_partition"), card["partition"], card["node"]) for card in partitioned] == [
        ("CPX", 0, 2),
        (None, 1, 3),
    ]
    assert (named[0]["name"], named[0]["device_id"]) == ("Instinct of Six", "0x74a1")


def test_a_row_without_its_header_is_one_of_the_latest():
    row = "62      64    0x74a1,   60795  43.0°C   134.0W    NPS1, CPX, 7     146Mhz  900Mhz  0%   auto  750.0W  0%  0%"

    card = rocm_smi.read(row).devices[0]

    assert (card["index"], card["power_w"], card["partition"], card["clock_hz"]) == (62, 134.0, 7, 146e6)


def test_lines_of_values_matrices_and_processes_are_put_together():
    reading = rocm_smi.read(samples.ROCM_SMI_VALUES)

    assert bare(reading) == [
        {"index": 0, "device_id": "0x74a1", "power_w": 237.0, "clock_hz": 137e6, "energy_j": 2.5},
        {"index": 1, "pci": "0000:26:00.0", "numa_node": 3, "power_unknown": "N/A (Secondary die)"},
    ]
    assert reading.links == [{"from": 0, "to": 1, "weight": 72, "hops": 3, "type": "PCIE"}]
    assert [(found.get("name"), found.get("memory_used_bytes")) for found in reading.processes] == [
        ("my train job 2", 177386942464.0),
        (None, None),
    ]
    assert reading.versions == {"rocm_smi": "3.0.0+abc", "driver": "6.7.0"}


def test_messages_alone_are_understood_and_no_card():
    reading = rocm_smi.read(samples.ROCM_SMI_NONE)

    assert (reading.form, reading.devices, reading.warnings) == ("messages", [], ["WARNING: No JSON data to report"])


def test_a_matrix_alone_tells_how_many_cards_there_are():
    matrix = samples.ROCM_SMI_VALUES[samples.ROCM_SMI_VALUES.index("==== Weight") :].split("==== KFD")[0]

    reading = rocm_smi.read(matrix)

    assert bare(reading) == [{"index": 0}, {"index": 1}]
    assert reading.links == [{"from": 0, "to": 1, "weight": 72, "hops": 3, "type": "PCIE"}]
