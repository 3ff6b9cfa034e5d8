"""Make again what follows from the evidence: figures and views. What differs is a contradiction or is said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bundle import identity, layout, story
from bundle import views as made
from bundle.evidence import attempt
from bundle.format import count, plain
from schema import documents
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bundle.evidence import Evidence, Results
    from bundle.ledger import Ledger

#: What must follow from the evidence by any version's rules; words and peaks may come to be said otherwise.
OF_THE_RUN = ("suite", "backend", "runtime", "gpu_result", "device", "confidence")
FIGURES = (
    "dtype", "unit", "direction", "status", "processes", "samples", "seconds", "value", "low", "high",
    "process_medians_s",
)  # fmt: skip


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
    if found and layout.SUMMARY in sealed.sound:
        _follows(sealed.files[layout.SUMMARY], found, evidence.results, ledger)
    elif layout.SUMMARY not in {item["path"] for item in sealed.manifest["files"]}:
        ledger.contradict(layout.SUMMARY, "missing", "the summary of the samples")
    return found


def _follows(data: bytes, found: dict[str, Any], results: Results, ledger: Ledger) -> None:
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


def _compare(said: Any, found: dict[str, Any], ledger: Ledger) -> None:
    """Compare two summaries that are not equal. Whose rules made the sealed one decides in `views` about the rest."""
    if not isinstance(said, dict):
        ledger.contradict(layout.SUMMARY, said, "a summary")
        return
    for key in OF_THE_RUN:
        if not _same(said.get(key), found[key]):
            ledger.contradict(f"{layout.SUMMARY}: {key}", said.get(key), found[key])
    before = {case["case"]: case for case in _cases(said)}
    after = {case["case"]: case for case in _cases(found)}
    if before.keys() != after.keys():
        ledger.contradict(f"{layout.SUMMARY}: cases", ", ".join(map(plain, before)), ", ".join(after))
        return
    for name, case in after.items():
        for key in FIGURES:
            if not _same(before[name].get(key), case[key]):
                ledger.contradict(f"{layout.SUMMARY}: {name}: {key}", before[name].get(key), case[key])
        _compare_peak(name, before[name], case, ledger)


def _compare_peak(name: str, said: dict[str, Any], found: dict[str, Any], ledger: Ledger) -> None:
    """Compare a share of the peak with the peak that it is of; another peak is a note."""
    peak, value = said.get("peak"), found["value"]
    known = isinstance(peak, (int, float)) and peak > 0 and value is not None
    if not _same(said.get("of_peak"), value / peak if known else None):
        expected = value / peak if known else None
        ledger.contradict(f"{layout.SUMMARY}: {name}: of_peak", said.get("of_peak"), expected)
    if not _same(peak, found["peak"]):
        ledger.notes.append(f"the summary names another peak of {name}: {plain(peak)}; here {plain(found['peak'])}")


def _cases(summary: dict[str, Any]) -> list[dict[str, Any]]:
    cases = summary.get("cases")
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


def views(sealed: Sealed, evidence: Evidence, found_figures: dict[str, Any] | None, ledger: Ledger) -> None:
    """Step 8. Make every generated file again. Where other sources made them, a difference is only said."""
    if evidence.results and found_figures is None:
        ledger.skip("views", "there is no summary to make them from")
        return
    ours = sealed.ours
    try:
        found = attempt("writing the reports", lambda: made.views(evidence, found_figures))
    except KitError as error:
        ledger.contradict("views", error, "evidence that can be reported")
        return
    listed = {item["path"] for item in sealed.manifest["files"] if item["role"] != "evidence"}
    equal, foreign = 0, _words(sealed, evidence, found_figures, ledger)
    for path in sorted(listed | found.keys()):
        if path in listed and path not in sealed.sound:
            continue  # step 3 has named it
        if sealed.files.get(path) == found.get(path):
            equal += 1
        elif ours:
            ledger.contradict(path, _what(path, listed), _what(path, found))
        else:
            foreign.append(path)
    if foreign:
        ledger.skip(
            ", ".join(foreign),
            "other sources of the kit wrote this: do not open or trust it unless you trust whoever made it",
        )
    if equal:
        ledger.confirmed.append(f"{count(equal, 'view')} made again, byte for byte")


def _words(sealed: Sealed, evidence: Evidence, found_figures: dict[str, Any] | None, ledger: Ledger) -> list[str]:
    """Compare title and notice of the manifest; return those that other sources wrote otherwise."""
    foreign = []
    for key, text in (("title", story.title(evidence)), ("notice", story.notice(evidence, found_figures))):
        what, said = f"{layout.MANIFEST}: {key}", sealed.manifest[key]
        if sealed.ours:
            ledger.equal(what, said, text)
        elif said != text:
            foreign.append(what)
    return foreign


def _what(path: str, among: Any) -> str:
    return "other bytes than the evidence gives" if path in among else "no such file"
