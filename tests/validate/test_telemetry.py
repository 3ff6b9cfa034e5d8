import pytest

from tests.validate.fakes_node import address, by_code, instinct, laptop, nvidia, statuses
from validate.checks import telemetry

CLOCKLESS = {"sysfs": {"power_w": 139.0, "temperature_c": 39.0}}


def judged(machine):
    return telemetry.judge(telemetry.gather(machine, None), None)


def test_sysfs_alone_is_enough():
    outcomes = judged(instinct(1))

    assert statuses(outcomes) == {"telemetry.readable": "pass"}
    assert outcomes[0].seen["power_w"] == ["sysfs"]


def test_tools_are_joined_by_pci_address_and_never_by_order():
    card = '{"Current Socket Graphics Package Power (W)": "151.0", "PCI Bus": "%s"}'
    text = '{"card0": ' + card % address(1).upper() + ', "card1": ' + card.replace("151", "99") % address(0) + "}"
    machine = instinct()
    machine.runs["rocm-smi"] = "WARNING: low-power state\n" + text

    devices = telemetry.gather(machine, None)["devices"]

    assert devices[address(1)]["rocm-smi"] == {"power_w": 151.0}
    assert devices[address(0)]["rocm-smi"] == {"power_w": 99.0}


METRIC = '[{"gpu": %d, "power": {"socket_power": {"value": 151, "unit": "W"}}, "temperature": {"hotspot": "N/A"}}]'


@pytest.mark.parametrize(
    "listed",
    [
        '[{"gpu": 0, "bdf": "%s", "uuid": "x"}, {"gpu": 1, "bdf": "%s", "uuid": "y"}]',
        '{"gpu_data": [{"gpu": 0, "bdf": "%s"}, {"gpu": 1, "bdf": "%s"}]}',
        '! no rights\n[{"gpu": 0, "bus": {"bdf": "%s"}}, {"gpu": 1, "bus": {"bdf": "%s"}}]\n[{"nic": 0, "bdf": "x"}]',
    ],
    ids=["a list", "since 7.0", "as static tells it, with network cards"],
)
def test_amd_smi_readings_find_their_card_through_its_own_list(listed):
    machine = instinct()
    machine.runs["amd-smi list --json"] = listed % (address(1).upper(), address(0))
    machine.runs["amd-smi metric --json"] = METRIC % 0

    devices = telemetry.gather(machine, None)["devices"]

    assert devices[address(1)]["amd-smi"] == {"power_w": 151.0}
    assert "amd-smi" not in devices[address(0)]


@pytest.mark.parametrize(
    "listed", ["", "N/A", '[{"gpu": 7, "bdf": "0000:0c:00.0"}]'], ids=["none", "no JSON", "others"]
)
def test_amd_smi_readings_that_belong_to_no_card_are_told(listed):
    machine = instinct()
    machine.runs["amd-smi list --json"] = listed
    machine.runs["amd-smi metric --json"] = METRIC % 0

    facts = telemetry.gather(machine, None)

    assert "no bus address" in facts["reasons"]["amd-smi"]
    assert not [card for card in facts["devices"].values() if "amd-smi" in card]


def test_a_tool_that_says_nothing_usable_is_named_with_its_reason():
    machine = instinct()
    machine.runs["rocm-smi"] = ""

    reasons = telemetry.gather(machine, None)["reasons"]

    assert reasons == {"amd-smi": "amd-smi is not installed", "rocm-smi": "rocm-smi printed no JSON about a card"}


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"backend": "rocm", "devices": {"x": CLOCKLESS}, "reasons": {}}, {"telemetry.partial": "warn"}),
        ({"backend": "cuda", "devices": {}, "reasons": {"NVML": "absent"}}, {"telemetry.none": "skip"}),
        (
            {"backend": "cpu", "devices": {"cpu": {"intel-rapl:0": {"energy_j": 1.0}}}, "reasons": {}},
            {"telemetry.readable": "pass"},
        ),
    ],
    ids=["no clock", "nothing", "a processor's energy"],
)
def test_what_cannot_be_read_is_named(facts, expected):
    assert statuses(telemetry.judge(facts, None)) == expected


def test_a_missing_quantity_is_in_the_reason():
    facts = {"backend": "rocm", "devices": {"x": CLOCKLESS}, "reasons": {}}

    assert "clock_hz" in by_code(telemetry.judge(facts, None))["telemetry.partial"].reason


def test_nvidia_is_read_through_nvml():
    assert judged(nvidia())[0].seen["power_w"] == ["NVML"]


def test_a_processor_without_rapl_says_so():
    assert judged(laptop())[0].reason == "RAPL: the kernel shows no RAPL energy counter"


def test_a_counter_that_only_root_may_read_is_told():
    path = "/sys/class/powercap/intel-rapl:0/energy_uj"

    assert "root only" in judged(laptop(files={path: "5"}, opens={path: 13}))[0].reason


def test_a_readable_counter_is_in_joules():
    path = "/sys/class/powercap/intel-rapl:0/energy_uj"

    facts = telemetry.gather(laptop(files={path: "5000000"}, opens={path: 0}), None)

    assert facts["devices"] == {"cpu": {"intel-rapl:0": {"energy_j": 5.0}}}
