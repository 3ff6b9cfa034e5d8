"""What cannot have been is contradicted, by its name; what an honest run can say is believed."""

import functools
import json
import time

import pytest

from bundle import agreement, cross_checks, layout, reading, seal, streams, verify
from bundle.demo import EXAMPLE
from tests.bundle import fakes_bundle as fakes
from tests.bundle.lies import record
from tests.bundle.lies_of_origin import LIES, held_back
from tests.bundle.lies_of_time import of_devices, together
from tests.bundle.test_verify import contradictions, other_sources


@functools.cache
def honest(**options):
    return fakes.bundle(**options)


@pytest.mark.parametrize("foreign", [False, True], ids=["by the sources here", "by others"])
@pytest.mark.parametrize(
    ("options", "lie", "what"), [pytest.param(options, lie, what, id=name) for name, options, lie, what in LIES]
)
def test_what_cannot_have_been_is_contradicted_and_named_whoever_measured(options, lie, what, foreign):
    good = honest(**options)
    files = lie(good)
    assert files != good

    found = contradictions(verify.judge(other_sources(files, old=b"", new=b"") if foreign else files))

    assert any(said.startswith(what) for said in found), found


def disagreements(files):
    """Return what the evidence contradicts, before figures and views are made again."""
    evidence = {path: data for path, data in files.items() if layout.role(path) == "evidence"}
    protocol = evidence.pop(layout.PROTOCOL)
    assert protocol
    return agreement.disagreements(seal.understood(evidence))


def device(name="", **changes):
    """Change the device of a run to one that is not listed, and what its processes say of it."""

    def say(item):
        item.update(device=name or item["device"])
        item["cache"].update(mode="hot", sets=1, llc_bytes=None)

    renamed = changes | ({"name": name} if name else {})
    return together(record("start", lambda it: it["devices"][0].update(renamed)), record("process", say, None))


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(device(compute_units=38, compute_partition="CPX"), id="a part of a product"),
        pytest.param(device("AMD Instinct MI308X", compute_units=80), id="a product without a peak"),
        pytest.param(device("AMD Radeon Graphics", gfx="gfx1036", compute_units=2), id="a product not known"),
        pytest.param(device(compute_units=None, memory_bytes=None, wavefront=None, power_cap_w=None), id="unknowns"),
        pytest.param(
            record("start", lambda it: (it["devices"][0].update(gfx="gfx90a"),
                                        it["environment"].update(HSA_OVERRIDE_GFX_VERSION="9.0.10"))),
            id="a target overridden, and said so",
        ),
        pytest.param(record("process", lambda it: it.update(status="failed", reason="x")), id="a late mistake"),
        pytest.param(
            record("process", lambda it: (it.update(status="out_of_memory", reason="x"), it.pop("check_after"))),
            id="memory that ran out",
        ),
        pytest.param(
            record("process", lambda it: it["cache"].update(mode="hot", sets=1)),
            id="a cache that is hot for want of memory",
        ),
    ],
)  # fmt: skip
def test_what_an_honest_run_can_say_is_believed(change):
    assert disagreements(change(honest(host=True, with_report=False))) == []


@pytest.mark.parametrize(
    ("device", "reading"),
    [
        pytest.param({"power_cap_w": 200.0}, {"power_w": 950.0}, id="a peak of several times the cap"),
        pytest.param({"clock_max_hz": 1.3e9}, {"clock_hz": 2.9e9}, id="a clock above its table"),
        pytest.param({}, {"memory_used_bytes": 206158430208}, id="all of the card's memory"),
        pytest.param({"memory_bytes": 20 << 30, "name": "NVIDIA H200 MIG 1g.18gb"}, {"memory_used_bytes": 140 << 30},
                     id="an instance of a card that others use"),
        pytest.param({"memory_bytes": 24 << 30, "compute_partition": "CPX"}, {"memory_used_bytes": 190 << 30},
                     id="a partition of a card that others use"),
        pytest.param({"power_cap_w": None, "clock_max_hz": None, "memory_bytes": None},
                     {"power_w": 1500.0, "clock_hz": 4e9, "memory_used_bytes": 1 << 40}, id="a device that tells none"),
    ],
)  # fmt: skip
def test_what_sensors_of_an_odd_device_say_is_believed(device, reading):
    both = together(
        record("start", lambda it: it["devices"][0].update(device)), record("telemetry", lambda it: it.update(reading))
    )
    found = disagreements(both(honest(host=True, with_report=False)))

    assert [it for it in found if "a sensor reading's" in it.what] == []


def test_readings_that_a_stall_kept_from_one_process_are_no_lie():
    """The samples of two processes of three are tagged."""

    def tag(item):
        if item["process"]:
            item["tags"] = ["throttled"]

    def slower(item):
        if item["process"]:
            item.update(status="throttled", reason="held back")

    files = record("process", slower, None)(record("sample", tag, None)(held_back()(honest())))

    assert disagreements(files) == []


def test_the_example_without_its_tags_is_contradicted():
    files = reading.read(EXAMPLE)
    records = [json.loads(line) for line in b"".join(streams.unpack(files[layout.SAMPLES])).splitlines()]
    for item in records:
        item.pop("tags", None)
        if item.get("status") == "throttled":
            item["status"] = "ok"
            del item["reason"]
    lied = fakes.sealed_again(files | {layout.SAMPLES: streams.pack(fakes.lines(records))})

    found = [what for what in contradictions(verify.judge(lied)) if "tagged as throttled" in what]

    assert any("attention.bf16.4096" in what for what in found), found


def of_example(change):
    """Return the example, its report and results changed by `change(records)`."""
    files = reading.read(EXAMPLE)
    for path in (layout.REPORT, layout.SAMPLES):
        raw = b"".join(streams.unpack(files[path])) if path == layout.SAMPLES else files[path]
        records = [json.loads(line) for line in raw.splitlines()]
        change(records)
        data = fakes.lines(records)
        files[path] = streams.pack(data) if path == layout.SAMPLES else data
    return files


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"compute_capability": "8.0"}, "compute_capability"),
        ({"compute_capability": "90"}, "compute_capability"),
        ({"compute_capability": None}, ""),
        ({"name": ""}, "name"),
        ({"name": "NVIDIA\u00a0H100"}, "name"),
        ({"name": "NVIDIA H300 Super"}, ""),  # which nobody knows
    ],
)
def test_a_device_of_nvidia_is_what_the_facts_know_of_its_product(changes, what):
    found = disagreements(of_example(lambda records: records[0]["devices"][0].update(changes)))

    places = [it.what.rpartition(": ")[2] for it in found if ": start: device 0: " in it.what]
    assert places == ([what] * 2 if what else [])


@pytest.mark.parametrize(
    ("options", "name"),
    [
        pytest.param({}, "", id="HIP does not know the product"),
        pytest.param({"gpu": False}, "Intel(R) Xeon(R) CPU           X5650  @ 2.67GHz", id="a processor of 2010"),
    ],
)
def test_a_name_that_some_runtime_gives_is_believed(options, name):
    def rename(start):
        start["devices"][0]["name"] = name
        start["host"]["cpu"] = name or start["host"]["cpu"]

    found = disagreements(record("start", rename)(honest(host=True, with_report=False, **options)))

    assert [it for it in found if ": name" in it.what] == []


@pytest.mark.parametrize("key", ["memory_bytes", "clock_max_hz", "power_cap_w"])
def test_a_card_of_nvidia_is_what_its_checks_saw(key):
    files = of_example(lambda records: records[0]["devices"][0].update({key: records[0]["devices"][0][key] * 0.9}))

    assert [it.what for it in disagreements(files)] == [f"{layout.REPORT}: start: {key} of the device at 0000:00:06.0"]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"pci": None}, id="without an address"),
        pytest.param(
            {"pci": "0000:ff:00.0", **dict.fromkeys(cross_checks.OF_CARD)}, id="at an address that its runtime made up"
        ),
        pytest.param({"memory_bytes": 16 << 30}, id="with a part of its card's memory"),
    ],
)
def test_a_device_whose_card_was_not_found_is_no_lie(change):
    """That torch then counts other devices than the kernel is a finding, and not asked here."""
    found = disagreements(of_devices(**change)(honest()))

    assert [it.what for it in found if "the cards of" in it.what or "the device at" in it.what] == []


def test_an_order_of_many_cases_is_compared_in_time_that_grows_with_it():
    files = honest(host=True, with_report=False)
    records = [json.loads(line) for line in b"".join(streams.unpack(files[layout.SAMPLES])).splitlines()]
    start, many = records[0], 8000
    start["protocol"]["cases"] = [fakes.CASES[1] | {"case": f"copy.fp32.{number}"} for number in range(many)]
    start["protocol"] |= {"order": [[case["case"], 0] for case in start["protocol"]["cases"]], "processes": 1}
    lied = files | {
        layout.SAMPLES: streams.pack(fakes.lines([start, fakes.end([start])])),
        layout.PROTOCOL: fakes.canon.dumps(start["protocol"]),
    }
    begin = time.process_time()

    found = contradictions(verify.judge(fakes.sealed_again(lied)))

    assert any("did not report" in what for what in found)
    assert time.process_time() - begin < 10
