import pytest

from tests.validate.fakes_node import LOCK, laptop, statuses
from validate import packages
from validate.checks import inventory
from validate.machine import Ran

FACTS = {
    "runtime": "container",
    "debs": {"dash": "0.5", "hipcc": "5.7.1"},
    "wheels": [
        {"name": "numpy", "version": "2.2.4", "debian": True},
        {"name": "mine", "version": "1", "debian": False},
    ],
}
WHOLE = {
    **LOCK,
    "base": None,
    "debs": [{"name": "dash", "version": "0.5"}, {"name": "hipcc", "version": "5.7.1"}],
    "wheels": [{"name": "mine", "version": "1"}],
}
BASED = {**LOCK, "debs": [], "wheels": []}


def deb(name, version):
    return {"debs": [*WHOLE["debs"], {"name": name, "version": version}]}


@pytest.mark.parametrize(
    ("facts", "lock", "expected"),
    [
        ({}, WHOLE, {"inventory.deb": "pass", "inventory.wheel": "pass"}),
        ({}, {**WHOLE, **deb("rocminfo", "6.1")}, {"inventory.deb": "fail", "inventory.wheel": "pass"}),
        ({"debs": {**FACTS["debs"], "vim": "9"}}, WHOLE, {"inventory.deb": "fail", "inventory.wheel": "pass"}),
        ({"debs": {"dash": "0.6", "hipcc": "5.7.1"}}, WHOLE, {"inventory.deb": "fail", "inventory.wheel": "pass"}),
        ({}, {**WHOLE, "wheels": []}, {"inventory.deb": "pass", "inventory.wheel": "fail"}),
        ({"debs": {**FACTS["debs"], "vim": "9"}}, BASED, {"inventory.deb": "pass", "inventory.wheel": "pass"}),
        ({"debs": None}, BASED, {"inventory.deb": "skip", "inventory.wheel": "pass"}),
        ({"debs": None}, WHOLE, {"inventory.deb": "fail", "inventory.wheel": "pass"}),
        (
            {},
            {**BASED, "wheels": [{"name": "absent", "version": "1"}]},
            {"inventory.deb": "pass", "inventory.wheel": "fail"},
        ),
        ({"runtime": "host"}, WHOLE, {"inventory.host": "skip"}),
        ({}, None, {"inventory.no_lock": "skip"}),
    ],
    ids=[
        "equal",
        "one missing",
        "one more",
        "another version",
        "a wheel that no lock names",
        "a base has more",
        "a base without dpkg",
        "no dpkg although locked",
        "an added wheel is missing",
        "a host",
        "no lock",
    ],
)
def test_packages_are_compared_both_ways(facts, lock, expected):
    assert statuses(inventory.judge({**FACTS, **facts}, lock)) == expected


ADOPTED = {
    **BASED,
    "inventory": {"deb": {"dash": "0.5", "hipcc": "5.7.1"}, "wheel": {"numpy": "2.2.4", "mine": "1"}},
}


def seen_at_adoption(**more):
    return {**ADOPTED, "inventory": {**ADOPTED["inventory"], **more}}


@pytest.mark.parametrize(
    ("facts", "lock", "expected"),
    [
        ({}, ADOPTED, {"inventory.deb": "pass", "inventory.wheel": "pass"}),
        ({"debs": {"dash": "0.5"}}, ADOPTED, {"inventory.deb": "fail", "inventory.wheel": "pass"}),
        ({"debs": {**FACTS["debs"], "vim": "9"}}, ADOPTED, {"inventory.deb": "fail", "inventory.wheel": "pass"}),
        ({"debs": {"dash": "0.5", "hipcc": "6"}}, ADOPTED, {"inventory.deb": "fail", "inventory.wheel": "pass"}),
        ({"wheels": FACTS["wheels"][1:]}, ADOPTED, {"inventory.deb": "pass", "inventory.wheel": "fail"}),
        ({}, seen_at_adoption(wheel={"mine": "1"}), {"inventory.deb": "pass", "inventory.wheel": "fail"}),
        ({"debs": None}, ADOPTED, {"inventory.deb": "fail", "inventory.wheel": "pass"}),
        ({}, seen_at_adoption(deb={}), {"inventory.deb": "fail", "inventory.wheel": "pass"}),
        (
            {"debs": None, "rpms": {"rocm-core": "6.4.1-83"}},
            {**ADOPTED, "inventory": {"rpm": {"rocm-core": "6.4.1-83"}, "wheel": {"numpy": "2.2.4", "mine": "1"}}},
            {"inventory.deb": "skip", "inventory.rpm": "pass", "inventory.wheel": "pass"},
        ),
        (
            {"rpms": {"rocm-core": "6.4.2-1"}},
            seen_at_adoption(rpm={"rocm-core": "6.4.1-83"}),
            {"inventory.deb": "pass", "inventory.rpm": "fail", "inventory.wheel": "pass"},
        ),
        (
            {"rpms": None},
            seen_at_adoption(rpm={"rocm-core": "6.4.1-83"}),
            {"inventory.deb": "pass", "inventory.rpm": "fail", "inventory.wheel": "pass"},
        ),
        (
            {"debs": {**FACTS["debs"], "jq": "1"}},
            {**ADOPTED, "debs": [{"name": "jq", "version": "1"}]},
            {"inventory.deb": "pass", "inventory.wheel": "pass"},
        ),
    ],
    ids=[
        "equal",
        "a package less",
        "a package more",
        "another version",
        "a wheel less",
        "a wheel of Debian's more",
        "no dpkg any more",
        "dpkg where there was none",
        "rpm in place of dpkg",
        "another version of an RPM",
        "no rpm any more",
        "a package that the lock adds",
    ],
)
def test_an_adopted_image_has_what_it_had_when_it_was_adopted(facts, lock, expected):
    assert statuses(inventory.judge({**FACTS, **facts}, lock)) == expected


RPMS = (
    "gpg-pubkey\t0:b2-60\ngpg-pubkey\t0:a1-50\nrocm-core\t0:6.4.1.60401-83.el9\nshadow-utils\t2:4.9-12.el9\nnonsense\n"
)


def test_rpms_are_told_with_all_versions_of_a_name_and_an_epoch_where_there_is_one():
    assert packages.rpms(laptop(runs={"rpm": RPMS})) == {
        "gpg-pubkey": "a1-50 b2-60",
        "rocm-core": "6.4.1.60401-83.el9",
        "shadow-utils": "2:4.9-12.el9",
    }


@pytest.mark.parametrize(
    "runs",
    [{}, {"rpm": ""}, {"rpm": Ran(("rpm",), 1, RPMS, "cannot open the database")}],
    ids=["absent", "empty", "broken"],
)
def test_without_rpms_there_is_no_list_of_them(runs):
    assert packages.rpms(laptop(runs=runs)) is None


def test_the_finding_names_the_packages():
    facts = {**FACTS, "debs": {"dash": "0.6", "vim": "9"}}

    reason = inventory.judge(facts, WHOLE)[0].reason

    assert reason == "1 missing: hipcc; 1 of another version: dash 0.6; 1 not in the lock: vim"


@pytest.mark.parametrize(
    ("lock", "debs", "wheels"),
    [
        (WHOLE, {"installed": 2, "locked": 2}, {"installed": 2, "locked": 1, "of_debian_packages": 1}),
        (
            BASED,
            {"installed": 2, "locked": 0, "of_the_base_image": 2},
            {"installed": 2, "locked": 0, "of_the_base_image": 2},
        ),
    ],
    ids=["every byte", "a base image"],
)
def test_what_the_lock_need_not_know_is_counted_with_whose_it_is(lock, debs, wheels):
    assert [outcome.seen for outcome in inventory.judge(FACTS, lock)] == [debs, wheels]


def test_on_a_host_the_system_packages_are_not_listed():
    machine = laptop(runs={"dpkg-query": "ii \tvim\t9\tamd64\n", "rpm": RPMS})

    facts = inventory.gather(machine, None)

    assert (facts["debs"], facts["rpms"]) == (None, None)


def test_what_dpkg_put_there_is_not_pips():
    machine = laptop(
        distributions=[
            {"name": "Some_Thing", "version": "1", "folder": "/usr/lib/python3/dist-packages"},
            {"name": "torch", "version": "2", "folder": "/opt/venv/lib/python3.10/site-packages"},
        ]
    )

    assert packages.wheels(machine) == [
        {"name": "some-thing", "version": "1", "debian": True},
        {"name": "torch", "version": "2", "debian": False},
    ]
