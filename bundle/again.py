"""Make again what follows from the evidence: figures, findings, views. What differs is a contradiction or is said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bundle import identity, layout
from bundle import views as made
from bundle.format import count, plain
from schema import documents
from schema.errors import KitError
from validate.checking import judge_again

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bundle.evidence import Evidence, Results
    from bundle.ledger import Ledger

#: Figures must follow from the samples by any version's rules; words and peaks may come to be said otherwise.
FIGURES = ("unit", "processes", "samples", "seconds", "value", "low", "high", "process_medians_s")
#: Said of findings where the sources differ.
OTHER_RULES = "the kit's sources here are not those that ran (another K)"


@dataclass(frozen=True)
class Sealed:
    """A bundle as read: its files, its manifest, and the paths that are as the manifest says."""

    files: Mapping[str, bytes]
    manifest: dict[str, Any]
    sound: set[str]

    @property
    def ours(self) -> bool:
        """Whether the sources that made its views are the ones that run here."""
        return bool(self.manifest["renderer_sha256"] == identity.renderer())


def figures(sealed: Sealed, evidence: Evidence, ledger: Ledger) -> dict[str, Any] | None:
    """Step 6. Return the summary computed again, None when there is none to compute."""
    if evidence.results is None:
        return None
    try:
        found = made.summary(evidence)
    except KitError as error:
        ledger.contradict(layout.SAMPLES, error, "samples from which a summary follows")
        return None
    if layout.SUMMARY in sealed.sound:
        _follows(sealed.files[layout.SUMMARY], found, evidence.results, ledger)
    elif layout.SUMMARY not in {item["path"] for item in sealed.manifest["files"]}:
        ledger.contradict(layout.SUMMARY, "missing", "the summary of the samples")
    return found


def _follows(data: bytes, found: dict[str, Any] | None, results: Results, ledger: Ledger) -> None:
    """Compare the sealed summary with the one computed again."""
    try:
        said = documents.parse_json(data, layout.SUMMARY)
    except KitError as error:
        ledger.contradict(layout.SUMMARY, error, "a summary that follows from the samples")
        return
    if said == found:
        taken = sum(len(series) for series in results.samples.values())
        ledger.confirmed.append(f"the summary follows from {count(taken, 'raw sample')}, to the last digit")
    else:
        _compare(said, found, ledger)


def _compare(said: Any, found: dict[str, Any] | None, ledger: Ledger) -> None:
    """Compare two summaries that are not equal. Whose rules made the sealed one decides in `views` about the rest."""
    before = {case["case"]: case for case in _cases(said)}
    after = {case["case"]: case for case in _cases(found)}
    if before.keys() != after.keys():
        ledger.contradict(f"{layout.SUMMARY}: cases", ", ".join(map(plain, before)), ", ".join(after))
        return
    for name, case in after.items():
        for key in FIGURES:
            if not _same(before[name].get(key), case[key]):
                ledger.contradict(f"{layout.SUMMARY}: {name}: {key}", before[name].get(key), case[key])


def _cases(summary: Any) -> list[dict[str, Any]]:
    cases = summary.get("cases") if isinstance(summary, dict) else None
    return (
        [case for case in cases if isinstance(case, dict) and isinstance(case.get("case"), str)]
        if isinstance(cases, list)
        else []
    )


def _same(one: Any, other: Any) -> bool:
    """Equal, or numbers that two formulas for the same thing may give."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(_same(*pair) for pair in zip(one, other, strict=True))
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) <= 1e-9 * max(abs(one), abs(other))
    return bool(one == other)


def findings(evidence: Evidence, ledger: Ledger) -> None:
    """Step 7. Judge the recorded facts; by the same sources the findings must be those of the report."""
    report = evidence.report
    if report is None:
        return
    same = evidence.start["cargo_sha256"] == identity.cargo()
    try:
        judged = made.attempt("judging the facts again", lambda: judge_again(report.facts, evidence.lock))
    except KitError as error:
        if same:
            ledger.contradict(layout.REPORT, error, "facts that can be judged")
        else:
            ledger.skip("findings", f"{OTHER_RULES}, and {error.message}")
        return
    different = _differences(report.findings, judged)
    if not different:
        ledger.confirmed.append(f"{count(len(judged), 'finding')} follow from the recorded facts")
    elif same:
        for code, seen, expected in different:
            ledger.contradict(f"{layout.REPORT}: {code}", seen, expected)
    else:
        ledger.skip("findings as they were judged", OTHER_RULES)
        ledger.notes += _newer(report.findings, judged, different)


def _newer(
    sealed: list[dict[str, Any]], judged: list[dict[str, Any]], different: list[tuple[str, Any, Any]]
) -> list[str]:
    """Say what other rules judge otherwise: each code that both know, and once a check where the codes changed."""
    before, after = _by_code(sealed), _by_code(judged)
    notes = [
        f"newer rules judge {code} otherwise: {expected}; in the report: {seen}"[:400]
        for code, seen, expected in different
        if code in before and code in after
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


def views(sealed: Sealed, evidence: Evidence, found_figures: dict[str, Any] | None, ledger: Ledger) -> None:
    """Step 8. Make every generated file again. Where other sources made them, a difference is only said."""
    if evidence.results and found_figures is None:
        ledger.skip("views", "there is no summary to make them from")
        return
    ours = sealed.ours
    try:
        found = made.attempt("writing the reports", lambda: made.views(evidence, found_figures))
    except KitError as error:
        ledger.contradict("views", error, "evidence that can be reported")
        return
    listed = {item["path"] for item in sealed.manifest["files"] if item["role"] != "evidence"}
    equal = 0
    for path in sorted(listed | found.keys()):
        if path in listed and path not in sealed.sound:
            continue  # step 3 has named it
        if sealed.files.get(path) == found.get(path):
            equal += 1
        elif ours:
            ledger.contradict(path, _what(path, listed), _what(path, found))
        else:
            ledger.skip(path, "other sources of the kit wrote it: it was not made again")
    if equal:
        ledger.confirmed.append(f"{count(equal, 'view')} made again, byte for byte")


def _what(path: str, among: Any) -> str:
    return "other bytes than the evidence gives" if path in among else "no such file"
