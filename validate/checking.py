"""Run the checks: gather facts, write them, judge them. Facts and opinions never share a function.

`judge_again` is pure: it needs neither the machine nor torch, and gives from the same facts what the run gave.
"""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable

from schema.records import End, Facts, Finding, FindingStatus, Outcome
from schema.stream import now
from validate import checks
from validate.describe import start_record

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import ModuleType

    from schema.stream import Writer
    from validate.machine import Machine

ROOT = Path(__file__).resolve().parent.parent
LONGEST = 1500  # characters of a reason or remedy; odd facts must not make a report unreadable
CODE = re.compile(r"^[a-z0-9_]+(\.[a-z0-9_]+)+$")
GATHER_ERROR = "gather_error"


def run_checks(
    machine: Machine,
    lock: dict[str, Any] | None,
    writer: Writer,
    selected: Iterable[ModuleType] = checks.CHECKS,
    *,
    tell: Callable[[str], None] = lambda _: None,
) -> list[str]:
    """Write a whole report stream; return the statuses of its findings. `tell` hears each in a line of words."""
    writer.write(start_record("report-1", machine, lock=lock))
    statuses = []
    for check in selected:
        record = gather(check, machine, lock)
        writer.write(record)
        for finding in judge(record.check, record.facts, lock):
            writer.write(finding)
            statuses.append(finding.status)
            tell(in_words(finding))
    writer.write(End(now(), dict(writer.counts)))
    return statuses


def in_words(finding: Finding) -> str:
    """Return a finding in one line."""
    parts = filter(None, [finding.reason, finding.remedy])
    return " ".join(f"{finding.status:5} {finding.code:30} {'; hint: '.join(parts)}".split("\n")).rstrip()


def gather(check: ModuleType, machine: Machine, lock: dict[str, Any] | None) -> Facts:
    """Return the facts of one check, as they will be read back. An exception becomes a fact about the check."""
    begun = time.monotonic()
    try:
        facts = json.loads(json.dumps(check.gather(machine, lock), allow_nan=False))
    except Exception as error:  # noqa: BLE001 - whatever goes wrong in one check, the next one runs
        facts = {GATHER_ERROR: place(error)}
    return Facts(name_of(check), question_of(check), round(time.monotonic() - begun, 6), facts)


def judge(name: str, facts: dict[str, Any], lock: dict[str, Any] | None) -> list[Finding]:
    """Return the findings of one check. Facts may come from anybody's file: odd ones end in an `error` finding."""
    check = BY_NAME.get(name)
    if check is None:
        return [_error(name, "this kit has no such check")]
    if GATHER_ERROR in facts:
        return [_error(name, f"gathering stopped: {facts[GATHER_ERROR]}")]
    try:
        _assert_shape(check, facts)
        return [_finding(name, outcome) for outcome in check.judge(facts, lock)]
    except Exception as error:  # noqa: BLE001 - a report from elsewhere must not stop its reader
        return [_error(name, f"judging stopped: {place(error)}")]


def judge_again(facts_records: Iterable[dict[str, Any]], lock: dict[str, Any] | None) -> list[dict[str, Any]]:
    """Return the findings, as JSON objects, that these rules draw from the `facts` records of a report. Pure."""
    from schema.records import to_dict

    found: list[dict[str, Any]] = []
    for record in facts_records:
        facts, name = record.get("facts"), record.get("check")
        found += [to_dict(item) for item in judge(str(name), facts if isinstance(facts, dict) else {}, lock)]
    return found


def name_of(check: ModuleType) -> str:
    """Return a check's name: its file's."""
    return check.__name__.rsplit(".", 1)[-1]


def question_of(check: ModuleType) -> str:
    """Return the question that a check answers: the first line of its file."""
    return (check.__doc__ or "").strip().splitlines()[0]


def place(error: Exception) -> str:
    """Return type, place and first words of an exception; the place relative to the kit."""
    trace, where = error.__traceback__, "unknown place"
    while trace is not None:
        path = Path(trace.tb_frame.f_code.co_filename)
        if ROOT in path.parents:
            where = f"{path.relative_to(ROOT).as_posix()}:{trace.tb_lineno}"
        trace = trace.tb_next
    words = (str(error).strip().splitlines() or [""])[0][:200]
    return f"{type(error).__name__} at {where}: {words}"


BY_NAME: dict[str, ModuleType] = {name_of(check): check for check in checks.CHECKS}


def _assert_shape(check: ModuleType, facts: dict[str, Any]) -> None:
    """Raise TypeError when a fact that a check stands on is missing or is no such thing: nothing follows from it.

    A check's `SHAPE` says what it stands on; where it does not apply (`NOT_HERE`) it asks for nothing.
    """
    if facts.get("backend") in getattr(check, "NOT_HERE", {}):
        return
    for key, kind in check.SHAPE.items():
        if not isinstance(facts.get(key, ...), kind):
            raise TypeError(f"the fact {key} is missing or of another type")


def _finding(name: str, outcome: Outcome) -> Finding:
    if not CODE.match(outcome.code):
        raise ValueError(f"the code {outcome.code[:80]!r} is malformed")
    json.dumps([outcome.seen, outcome.expected], allow_nan=False)
    status = FindingStatus(outcome.status).value
    reason, remedy = (text[:LONGEST] if text else None for text in (outcome.reason, outcome.remedy))
    if reason is None and status != "pass":
        reason = "no reason was given"
    return Finding(name, outcome.code, status, outcome.seen, outcome.expected, reason, remedy)


def _error(name: str, reason: str) -> Finding:
    code = f"{name}.error"
    safe = name if re.match(r"^[a-z0-9][a-z0-9._-]{0,99}$", name) else "unknown"
    return Finding(safe, code if CODE.match(code) else "unknown.error", "error", reason=reason[:LONGEST])
