"""The verdict is asked as a person would, and each answer tells its row."""

import pytest

from pins import compat, lock
from pins.compat import VERDICTS, judge, of_lock
from schema import facts
from schema.errors import KitError

ASKED = {  # sentence: (what is asked, the verdict, the releases for which it is reached)
    "AMD lists the pair": ({"rocm": "6.4.1", "pytorch": "2.6.0"}, "amd_supported", ["6.4.1"]),
    "a patch release is enough": ({"rocm": "7.1", "pytorch": "2.9"}, "amd_supported", ["7.1.1"]),
    "PyTorch has wheels, AMD does not list the pair": (
        {"rocm": "6.4", "pytorch": "2.8", "gfx": "gfx1100", "os": "Ubuntu 24.04", "driver": "6.12"},
        "upstream_wheel",
        ["6.4.3", "6.4.2", "6.4.1", "6.4.0"],
    ),
    "neither": ({"rocm": "5.7", "pytorch": "2.8"}, "unverified", ["5.7.0/5.7.1"]),
    "MI300 has no ROCm 5.7": ({"rocm": "5.7", "gfx": "gfx942"}, "refused", ["5.7.0/5.7.1"]),
    "features of a target do not matter": (
        {"rocm": "5.7", "gfx": "gfx942:sramecc+:xnack-"},
        "refused",
        ["5.7.0/5.7.1"],
    ),
    "MI350 has no ROCm 6": ({"rocm": "6.1", "gfx": "gfx950"}, "refused", ["6.1.5", "6.1.2", "6.1.1", "6.1.0"]),
    "a sibling of a listed target is not refused": ({"rocm": "6.2.4", "gfx": "gfx1101"}, "unverified", ["6.2.4"]),
    "wheels are compiled for it before AMD lists it": (
        {"rocm": "6.3.3", "gfx": "gfx1200"},
        "unverified",
        ["6.3.3"],
    ),
    "a card that AMD never lists": ({"rocm": "6.4.0", "gfx": "gfx1031"}, "unverified", ["6.4.0"]),
    "a target of the future": ({"rocm": "7.1.1", "gfx": "gfx1999"}, "unverified", ["7.1.1"]),
    "which releases list this target": ({"gfx": "gfx906"}, "amd_supported", ["5.7.0/5.7.1"]),
    "which releases list this PyTorch": ({"pytorch": "2.9"}, "amd_supported", ["7.1.1"]),
    "a limit of a row and the other system": (
        {"rocm": "5.7", "gfx": "gfx1100", "os": "ubuntu 20.04"},
        "unverified",
        ["5.7.0/5.7.1"],
    ),
    "a limit of a row and its system": (
        {"rocm": "5.7", "gfx": "gfx1100", "os": "ubuntu-22.04"},
        "amd_supported",
        ["5.7.0/5.7.1"],
    ),
    "a system that AMD does not list": ({"rocm": "6.4.1", "os": "debian 13"}, "unverified", ["6.4.1"]),
    "a service pack": ({"rocm": "6.4.1", "os": "sles 15 SP6"}, "amd_supported", ["6.4.1"]),
    "a system by another name": ({"rocm": "6.4.1", "os": "suse 15 SP6"}, "amd_supported", ["6.4.1"]),
    "5.10 is not 5.1": ({"rocm": "6.40"}, "unverified", ["6.40"]),
    "a Python too old for PyTorch": ({"rocm": "7.1.1", "pytorch": "2.9", "python": "3.9"}, "refused", ["7.1.1"]),
    "a Python too new for PyTorch": ({"rocm": "5.7", "pytorch": "2.0", "python": "3.13"}, "refused", ["5.7.0/5.7.1"]),
    "3.9 is older than 3.10, 3.13.5 is 3.13": (
        {"rocm": "7.1.1", "pytorch": "2.9", "python": "3.13.5"},
        "amd_supported",
        ["7.1.1"],
    ),
    "a Python as an experiment": (
        {"rocm": "6.0", "pytorch": "2.3", "python": "3.12"},
        "unverified",
        ["6.0.2", "6.0.0"],
    ),
    "a Python without a PyTorch": ({"rocm": "6.4.1", "python": "3.9"}, "amd_supported", ["6.4.1"]),
    "a Python of a release whose list was not at hand": ({"rocm": "10.0", "python": "3.13"}, "unverified", ["10.x"]),
    "no PyTorch of the release has that Python": ({"rocm": "6.4.1", "python": "3.15"}, "refused", ["6.4.1"]),
    "a driver by its module's version": ({"rocm": "6.1.0", "driver": "6.3.6"}, "amd_supported", ["6.1.0"]),
    "a driver by its release": ({"rocm": "7.0.2", "driver": "30.10.1"}, "amd_supported", ["7.0.2"]),
    "a module's version with more behind": (
        {"rocm": "7.1.1", "driver": "6.16.6-2255209.24.04"},
        "amd_supported",
        ["7.1.1"],
    ),
    "a driver that AMD does not list": ({"rocm": "7.1.1", "driver": "6.19.14.31400000"}, "unverified", ["7.1.1"]),
    "a driver of before the table": ({"rocm": "7.1.1", "driver": "5.16.9"}, "unverified", ["7.1.1"]),
    "a release without a list of drivers": ({"rocm": "10.0", "driver": "31.40"}, "unverified", ["10.x"]),
    "a release that nobody knows": ({"rocm": "9"}, "unverified", ["9"]),
    "images were seen, no list": ({"rocm": "10.0", "pytorch": "2.13", "gfx": "gfx942"}, "unverified", ["10.x"]),
}


@pytest.mark.parametrize(("asked", "verdict", "releases"), ASKED.values(), ids=ASKED)
def test_the_verdict(asked, verdict, releases):
    found = judge(**asked)

    assert (found.verdict, list(found.releases)) == (verdict, releases), found
    assert {item.aspect for item in found.aspects} == set(asked)


@pytest.mark.parametrize("asked", [row[0] for row in ASKED.values()], ids=ASKED)
def test_each_part_of_an_answer_tells_its_reason_its_source_and_a_date(asked):
    known = set(facts.load("compat")["sources"].values())
    for item in judge(**asked).document()["aspects"]:
        assert item["reason"]
        assert item["date"]
        assert set(item["sources"]) <= known
        assert item["sources"] or item["holds"] == "unknown", item


def test_every_verdict_has_its_words_and_is_reached():
    assert set(compat.MEANING) == set(VERDICTS)
    assert {verdict for _, verdict, _ in ASKED.values()} == set(VERDICTS)


def test_a_module_and_a_release_are_told_apart():
    module, release = judge(rocm="6.4.1", driver="6.12.12"), judge(rocm="6.4.1", driver="6.4")

    assert module.verdict == release.verdict == "amd_supported"
    assert "module 6.12.12 is that of driver 6.4" in module.aspects[-1].reason
    assert "module" not in release.aspects[-1].reason


NOT_UNDERSTOOD = {
    "words for a version": {"rocm": "latest"},
    "a range": {"pytorch": ">=2.8"},
    "one number of PyTorch": {"pytorch": "2"},
    "a label": {"pytorch": "2.8.0+rocm6.4"},
    "a product for a target": {"gfx": "MI300X"},
    "a system without a version": {"os": "ubuntu"},
    "an option": {"rocm": "--json"},
    "two lines": {"rocm": "6.4\n7"},
    "nothing": {"rocm": " "},
}


@pytest.mark.parametrize("asked", NOT_UNDERSTOOD.values(), ids=NOT_UNDERSTOOD)
def test_what_is_not_understood_is_refused_with_an_example(asked):
    with pytest.raises(KitError, match=r"is not understood|nothing is asked") as caught:
        judge(**asked)

    assert "--" in caught.value.hint


LOCKS = lock.load_all()


@pytest.mark.parametrize("found", LOCKS, ids=lambda item: item.name)
def test_a_lock_that_ships_is_never_refused(found):
    answer = of_lock(found.document)

    assert answer.verdict in VERDICTS[:3]
    assert answer.document()["aspects"]


def test_a_host_can_turn_a_lock_down():
    found = next(item for item in LOCKS if item.name == "amd-rocm5.7-torch2.0")

    assert of_lock(found.document, gfx="", os="", driver="").verdict == "amd_supported"
    assert of_lock(found.document, gfx="gfx942").verdict == "refused"


@pytest.mark.parametrize("driver", ["odd", "v", "-"])
def test_a_host_whose_driver_tells_no_version_gets_no_other_one(driver):
    found = next(item for item in LOCKS if item.name == "amd-rocm6.4.1-torch2.6")

    aspect = of_lock(found.document, driver=driver).aspects[-1]

    assert (aspect.aspect, aspect.holds) == ("driver", "unknown")
    assert "module" not in aspect.reason


def test_facts_name_sources_that_there_are():
    table = facts.load("compat")
    rows = [*table["releases"], *table["pytorch_releases"], *table["wheel_targets"]["rows"]]

    assert {key for row in rows for key in row["sources"]} <= set(table["sources"])
    assert all(row["sources"] for row in rows)
    for row in table["releases"]:
        for versions in row.get("os", {}).values():
            assert isinstance(versions, (list, str)), row["rocm"]
