"""nvidia-smi's CSV, XML, table and matrix."""

from tests.validate.parsers import samples
from validate.parsers import nvidia_smi

MIB = 2.0**20


def bare(reading):
    return [{name: value for name, value in card.items() if name != "raw"} for card in reading.devices]


def test_csv_is_read_in_base_units():
    reading = nvidia_smi.read(samples.NVIDIA_CSV)

    assert bare(reading) == [
        {
            "index": 0, "pci": "0000:00:06.0", "name": "NVIDIA X", "unique_id": "GPU-1", "power_w": 122.94,
            "memory_bytes": 143771 * MIB, "busy_fraction": 0.17,
        }
    ]  # fmt: skip
    assert reading.versions == {"driver": "580.1"}


def test_xml_is_read_though_it_is_cut_off():
    reading = nvidia_smi.read(samples.NVIDIA_XML)

    assert bare(reading) == [
        {
            "index": 0, "pci": "0000:af:00.0", "name": "NVIDIA & X", "power_w": 99.5, "temperature_c": 38.0,
            "memory_bytes": 100 * MIB, "memory_used_bytes": MIB,
        }
    ]  # fmt: skip
    assert reading.processes == [{"gpu": 0, "pid": 5, "name": "job", "memory_used_bytes": MIB}]
    assert reading.versions == {"driver": "580.1", "cuda": "13.0"}
    assert reading.warnings == ["2 GPUs are attached and 1 are told of: the text is cut off"]


def test_the_table_is_read():
    assert bare(nvidia_smi.read(samples.NVIDIA_TABLE)) == [
        {
            "index": 3, "name": "NVIDIA X", "pci": "0000:5e:00.0", "temperature_c": 38.0, "power_w": 195.0,
            "power_cap_w": 700.0, "memory_used_bytes": 2 * MIB, "memory_bytes": 143771 * MIB, "busy_fraction": 0.17,
        }
    ]  # fmt: skip


def test_the_matrix_becomes_links_and_numa_nodes():
    reading = nvidia_smi.read(samples.NVIDIA_TOPOLOGY)

    assert bare(reading) == [{"index": 0, "numa_node": 0}, {"index": 1}]
    assert reading.links == [{"from": 0, "to": 1, "type": "NV18"}]


def test_a_failure_is_a_message():
    reading = nvidia_smi.read("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n")

    assert (reading.form, reading.devices, len(reading.warnings)) == ("messages", [], 1)


def test_entities_of_a_document_are_not_expanded():
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><nvidia_smi_log><driver_version>&b;</driver_version>'

    assert nvidia_smi.read(bomb).versions == {"driver": "&b;"}
