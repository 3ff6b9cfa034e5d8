"""The run, and the same judgement once more from the written facts."""

import io
import json
import random
from pathlib import Path
from types import ModuleType

import pytest

from schema import stream
from schema.documents import problems, validator
from tests.validate.fakes_node import LOCK, instinct, laptop, nvidia
from validate import checking, checks

MACHINES = {"rocm": instinct, "cuda": nvidia, "cpu": laptop, "no torch": lambda: laptop(probes={})}


def run(machine, lock=None, selected=checks.CHECKS):
    buffer = io.StringIO()
    statuses = checking.run_checks(machine, lock, stream.Writer(buffer), selected)
    return statuses, list(stream.read(buffer.getvalue().splitlines()))


def check(gather, judge=lambda *_: []):
    module = ModuleType("validate.checks.driver", "Is it there?")
    module.gather, module.judge = gather, judge
    return module


def by_kind(records, kind):
    return [record for record in records if record["kind"] == kind]


@pytest.mark.parametrize("lock", [None, LOCK], ids=["no lock", "a lock"])
@pytest.mark.parametrize("name", MACHINES)
def test_a_run_is_a_whole_report(name, lock):
    _, records = run(MACHINES[name](), lock)
    report = {
        "schema": "report-1",
        "start": records[0],
        "facts": by_kind(records, "facts"),
        "findings": by_kind(records, "finding"),
        "end": records[-1],
    }

    assert problems(report, validator("report-1")) == []
    assert [facts["check"] for facts in report["facts"]] == [checking.name_of(module) for module in checks.CHECKS]
    assert {finding["check"] for finding in report["findings"]} == set(checking.BY_NAME)


def test_each_finding_is_told_in_one_line():
    told, buffer = [], io.StringIO()
    checking.run_checks(laptop(probes={}), None, stream.Writer(buffer), tell=told.append)

    findings = by_kind(list(stream.read(buffer.getvalue().splitlines())), "finding")
    assert [line.split()[:2] for line in told] == [[finding["status"], finding["code"]] for finding in findings]
    for line, finding in zip(told, findings, strict=True):
        assert "\n" not in line
        assert all(finding[name].replace("\n", " ") in line for name in ("reason", "remedy") if name in finding)


@pytest.mark.parametrize("lock", [None, LOCK], ids=["no lock", "a lock"])
@pytest.mark.parametrize("name", MACHINES)
def test_judging_the_written_facts_gives_the_written_findings(name, lock):
    _, records = run(MACHINES[name](), lock)

    assert checking.judge_again(by_kind(records, "facts"), lock) == by_kind(records, "finding")


@pytest.mark.parametrize("name", MACHINES)
def test_a_code_begins_with_its_check_and_a_failure_has_a_remedy(name):
    _, records = run(MACHINES[name](), LOCK)

    for finding in by_kind(records, "finding"):
        assert finding["code"].split(".")[0] == finding["check"]
        assert finding["status"] not in {"fail", "warn"} or finding.get("remedy") or finding["code"] in {
            "driver.unlisted", "torch_build.arch", "hip_compile.objects",
        } or finding["code"].startswith("versions."), finding  # fmt: skip


def test_every_file_is_listed_and_asks_a_question():
    files = {path.stem for path in Path(checks.__file__).parent.glob("*.py")} - {"__init__"}

    assert files == set(checking.BY_NAME)
    for module in checks.CHECKS:
        assert checking.question_of(module).endswith("?")


def test_an_exception_while_gathering_is_a_finding_and_is_judged_the_same_again(monkeypatch):
    def broken(*_):
        raise KeyError("power")

    module = check(gather=broken)
    monkeypatch.setitem(checking.BY_NAME, "driver", module)

    statuses, records = run(laptop(), None, [module, checks.CHECKS[1]])

    finding = by_kind(records, "finding")[0]
    assert statuses == ["error", "skip"]
    assert (finding["code"], finding["status"]) == ("driver.error", "error")
    assert finding["reason"].startswith("gathering stopped: KeyError at tests/validate/test_checking.py:")
    assert checking.judge_again(by_kind(records, "facts"), None) == by_kind(records, "finding")


@pytest.mark.parametrize(
    "facts", [{"x": float("nan")}, {"x": object()}, {"x": {1, 2}}], ids=["not a number", "an object", "a set"]
)
def test_facts_that_json_cannot_hold_are_the_checks_error(facts, monkeypatch):
    module = check(gather=lambda *_: facts)
    monkeypatch.setitem(checking.BY_NAME, "driver", module)

    assert run(laptop(), None, [module])[0] == ["error"]


def odd(value, chance):
    """Return the value with parts replaced by what a stranger might write."""
    if chance.random() < 0.15:
        return chance.choice([None, [], {}, "", "x" * 50, -1, 10**30, 1e308, True, ["a", 1], {"": None}])
    if isinstance(value, dict):
        return {key: odd(item, chance) for key, item in value.items() if chance.random() > 0.05}
    return [odd(item, chance) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("name", MACHINES)
def test_odd_facts_end_in_findings_and_never_in_an_exception(name, seed):
    _, records = run(MACHINES[name](), LOCK)
    chance = random.Random(seed)
    facts = [{**record, "facts": odd(record["facts"], chance)} for record in by_kind(records, "facts")]

    found = checking.judge_again(facts, LOCK)

    assert found
    for finding in found:
        assert (
            problems(json.loads(json.dumps(finding, allow_nan=False)), validator("report-1", "#/$defs/finding")) == []
        )


@pytest.mark.parametrize("name", ["no_such_check", "../x", "", None, 5])
def test_a_check_that_we_do_not_have_is_an_error_finding(name):
    found = checking.judge_again([{"check": name, "facts": {}}], None)

    assert [finding["status"] for finding in found] == ["error"]
    assert problems(found[0], validator("report-1", "#/$defs/finding")) == []
