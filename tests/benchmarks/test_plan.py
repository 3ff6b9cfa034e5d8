"""What is measured, and in which order, is fixed before anything is."""

import pytest

from benchmarks import cases, plan
from schema.documents import problems, validator
from schema.errors import KitError

NAMES = ["a.1", "b.1", "c.1", "d.1"]


def test_the_order_is_that_of_its_seed_for_ever():
    expected = [["d.1", 0], ["b.1", 0], ["c.1", 0], ["a.1", 0], ["c.1", 1], ["a.1", 1], ["d.1", 1], ["b.1", 1]]

    assert plan.order(NAMES, 2, 1) == expected
    assert plan.order(NAMES, 2, 1) == plan.order(NAMES, 2, 1) != plan.order(NAMES, 2, 2)


def test_every_round_has_every_case_once():
    order = plan.order(NAMES, 5, 3)

    for process in range(5):
        assert sorted(order[4 * process : 4 * process + 4]) == [[name, process] for name in NAMES]
    assert len({tuple(name for name, _ in order[4 * p : 4 * p + 4]) for p in range(5)}) > 1


def test_smoke_shares_a_process_in_a_round_and_the_others_do_not():
    protocol = {"order": plan.order(NAMES, 2, 0), "cases": NAMES}

    assert plan.groups(protocol, shared=True) == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert plan.groups(protocol, shared=False) == [[i] for i in range(8)]


@pytest.mark.parametrize("suite", plan.TIMING)
@pytest.mark.parametrize("size", ["gpu", "cpu"])
def test_the_protocol_of_every_suite_follows_the_schema(suite, size):
    found = {item["case"]: item for case in cases.built_in() for item in cases.describe(case)}
    items = [found[name] for name in cases.SUITES[suite][size]]

    protocol = plan.protocol(suite, plan.TIMING[suite], 7, items, 0)

    assert problems(protocol, validator("results-1", "#/$defs/protocol")) == []


def test_a_deadline_of_ones_own_counts():
    assert plan.protocol("quick", plan.TIMING["quick"], 0, [], 12.5)["deadline_s"] == 12.5
    assert plan.protocol("quick", plan.TIMING["quick"], 0, [], 0)["deadline_s"] == plan.TIMING["quick"].deadline_s


@pytest.mark.parametrize(
    ("only", "expected"),
    [([], NAMES), (["a"], ["a.1"]), (["b.1", "d"], ["b.1", "d.1"])],
    ids=["all", "by file", "by name"],
)
def test_only_selects(only, expected):
    assert plan.select(NAMES, only) == expected


@pytest.mark.parametrize("only", ["a.", "A", "a.12", "x"])
def test_only_refuses_what_there_is_not(only):
    with pytest.raises(KitError, match="no case") as caught:
        plan.select(NAMES, ["b", only])

    assert "a.1, b.1" in caught.value.hint
