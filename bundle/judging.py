"""Judge the recorded facts again: by the same sources the findings must be those of the report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bundle import kin, layout
from bundle.evidence import attempt
from bundle.format import count, plain
from schema.errors import KitError
from validate.checking import judge_again

if TYPE_CHECKING:
    from bundle.evidence import Evidence
    from bundle.ledger import Ledger

#: Said where the sources differ.
OTHER_RULES = "the kit's sources here are not those that ran (another K)"


def findings(evidence: Evidence, ledger: Ledger) -> None:
    """Step 7. Judge the recorded facts; where other sources ran, what they judged otherwise is said."""
    report, same = evidence.report, kin.same(evidence)
    if report is None:
        return
    try:
        judged = _judged(evidence)
    except KitError as error:
        if same:
            ledger.contradict(layout.REPORT, error, "facts that can be judged")
        else:
            ledger.skip("findings", f"{OTHER_RULES}, and {error.message}")
        return
    different = _differences(report.findings, judged)
    if missing := kin.missing_checks(evidence):
        ledger.skip("validation", f"incomplete: without {', '.join(missing)}")
    if different and same:
        for code, seen, expected in different:
            ledger.contradict(f"{layout.REPORT}: {code}", seen, expected)
    elif different:
        otherwise = f"{count(len(different), 'finding')} would be judged otherwise by this kit"
        ledger.skip("findings as they were judged", f"{OTHER_RULES}; {otherwise}")
        ledger.notes += _newer(report.findings, judged, different)
    elif not missing:
        ledger.confirmed.append(f"the findings follow from the recorded facts: {len(judged)}")


def otherwise(evidence: Evidence) -> int:
    """Return how many findings these sources judge otherwise."""
    if evidence.report is None:
        return 0
    return len(_differences(evidence.report.findings, _judged(evidence)))


def _judged(evidence: Evidence) -> list[dict[str, Any]]:
    facts = evidence.report.facts if evidence.report else []
    found: list[dict[str, Any]] = attempt("judging the facts again", lambda: judge_again(facts, evidence.lock))
    return found


def _newer(
    sealed: list[dict[str, Any]], judged: list[dict[str, Any]], different: list[tuple[str, Any, Any]]
) -> list[str]:
    """Say what other rules judge otherwise: each code that both know, and once a check where the codes changed."""
    before, after = _by_code(sealed), _by_code(judged)
    notes = [
        f"newer rules judge {code} otherwise: {expected}; in the report: {seen}"[:400]
        for code, seen, expected in different
        if code in before and code in after and seen != expected
    ]
    renamed = {
        finding["check"]: None
        for finding in (*sealed, *judged)
        if (finding["code"] in before) != (finding["code"] in after)
    }
    for check in renamed:
        then, now = (sum(finding["check"] == check for finding in found) for found in (sealed, judged))
        notes.append(f"newer rules say {plain(check)} under other codes: {count(now, 'finding')}, {then} in the report")
    return notes


def _differences(sealed: list[dict[str, Any]], judged: list[dict[str, Any]]) -> list[tuple[str, Any, Any]]:
    """Return (code, in the report, judged now) where they differ; codes may stand several times."""
    before, after = _by_code(sealed), _by_code(judged)
    return [
        (plain(code), _said(before.get(code)), _said(after.get(code)))
        for code in sorted(before.keys() | after.keys())
        if before.get(code) != after.get(code)
    ]


def _by_code(found: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    sorted_: dict[str, list[dict[str, Any]]] = {}
    for finding in found:
        content = {key: value for key, value in finding.items() if key != "kind"}
        sorted_.setdefault(finding["code"], []).append(content)
    return sorted_


def _said(found: list[dict[str, Any]] | None) -> str:
    if not found:
        return "no such finding"
    return "; ".join(
        f"{finding['status']}" + (f" ({finding['reason']})" if finding.get("reason") else "") for finding in found
    )
