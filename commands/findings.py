"""Findings as the end of a command: printed, and its exit code."""

from __future__ import annotations

import sys
from typing import Any

from commands.program import leave, show


def told(document: Any, findings: list[dict[str, Any]], *, json: bool) -> None:
    """Print the document for a script, or its findings for a person; leave with the exit code that they give."""
    from bundle.console import Console
    from schema.records import exit_code

    if json:
        show(document)
    else:
        shown = Console(print, colour=sys.stdout.isatty())
        for finding in findings:
            shown.finding(finding)
    leave(exit_code([finding["status"] for finding in findings]))
