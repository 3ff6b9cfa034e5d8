"""rccl-tests, RCCL's log and its topology files."""

from tests.validate.parsers import samples
from validate.parsers import rccl


def bare(reading):
    return [{name: value for name, value in card.items() if name != "raw"} for card in reading.devices]


def test_results_are_in_base_units_and_errors_counted():
    reading = rccl.read(samples.RCCL_TESTS)

    assert reading.facts["results"] == [
        {
            "size_bytes": 8388608, "count": 2097152, "type": "float", "reduction": "sum", "root": "-1",
            "out_of_place": {
                "time_s": 9.15e-05, "algorithm_bytes_per_s": 92.08e9, "bus_bytes_per_s": 161.14e9, "wrong": 0.0,
            },
            "in_place": {
                "time_s": 9.494e-05, "algorithm_bytes_per_s": 88.36e9, "bus_bytes_per_s": 154.63e9, "wrong": 3.0,
            },
        }
    ]  # fmt: skip
    assert (reading.facts["wrong"], reading.facts["bus_bytes_per_s"]) == (0.0, 157.9e9)
    assert reading.versions == {"rccl_tests": "develop:83d38d9"}


def test_a_bus_alone_is_no_address():
    assert bare(rccl.read(samples.RCCL_TESTS)) == [
        {"index": 0, "rank": 0, "pci": "0000:05:00.0", "name": "Instinct"},
        {"index": 1, "rank": 1, "name": "Instinct"},
    ]


def test_old_columns_are_read_and_an_error_that_was_not_checked_is_none():
    result = rccl.read(samples.RCCL_TESTS_OLD).facts["results"][0]

    assert (result["size_bytes"], "root" in result, "wrong" in result["out_of_place"]) == (1024, False, False)
    assert result["in_place"]["time_s"] == 1.1e-05


def test_the_log_tells_ranks_channels_settings_and_warnings_and_no_host():
    reading = rccl.read(samples.RCCL_LOG)

    assert [(card["rank"], card["pci"]) for card in reading.devices] == [
        (2, "0000:43:00.0"),
        (1, "0000:26:00.0"),
        (3, "0000:63:00.0"),
        (0, "0000:ce:00.0"),
    ]
    assert reading.links == [{"from": 2, "to": 1, "type": "P2P/IPC", "channels": 2}]
    assert reading.facts == {"settings": {"NCCL_NTHREADS": "256"}, "ranks": 4}
    assert reading.versions == {"rccl": "2.22.3-HEAD:7d8d67c+"}
    assert reading.warnings == ['RCCL: Missing "iommu=pt" from kernel command line']
    assert "somebody" not in repr(reading)


def test_a_topology_tells_devices_behind_bridges_and_each_link_once():
    reading = rccl.read(samples.RCCL_TOPOLOGY)

    assert [(card["pci"], card["gfx"], card["compute_units"], card["numa_node"]) for card in reading.devices] == [
        ("0000:82:00.0", "gfx942", 228, 1),
        ("0000:c2:00.0", "gfx90a", 104, 1),
    ]
    assert reading.links == [{"from": "0000:82:00.0", "to": "0000:c2:00.0", "type": "XGMI", "count": 2}]
