"""`folklore`: what in files and folders does not hold, printed for a person or as one document."""

from __future__ import annotations

from typing import Any

from commands.program import say, show
from schema.errors import KitError


def folklore(paths: list[str], *, json: bool) -> int:
    """Print what was found in the paths; return the exit code. KitError where something could not be read."""
    from bundle.folklore.walking import check
    from bundle.format import printed

    checked = check(paths)
    if json:
        show({
            "findings": [finding.document() for finding in checked.findings],
            "files": checked.files, "passed_by": checked.passed_by, "unread": checked.unread,
        })  # fmt: skip
    elif checked.findings:
        print(printed([line for finding in checked.findings for line in _lines(finding)]))
    for name in checked.passed_by:
        say(f"passed by {name}: no text, or too large")
    say(f"{checked.files} files checked, {len(checked.findings)} findings")
    if checked.unread:
        hint = "make it readable, or name the files and folders that are"
        raise KitError(f"cannot read {checked.unread[0]}" + _more(checked.unread), hint)
    return 1 if checked.findings else 0


def _lines(finding: Any) -> list[str]:
    place = f"{finding.path}:{finding.line}"
    return [
        f"{place}: {finding.code}: {finding.what}",
        f"    why: {finding.why}",
        f"    instead: {finding.instead}",
        f"    source: {finding.source} ({finding.date})",
    ]


def _more(names: list[str]) -> str:
    return f", and {len(names) - 1} more" if names[1:] else ""
