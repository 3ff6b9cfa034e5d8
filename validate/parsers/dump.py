"""Folders of small files dumped into one text: `### path` before each file, or ttar's `Path:` and `Lines:`."""

from __future__ import annotations

import re

from validate.parsers.values import LONGEST_LINE, plain

LINES = re.compile(r"Lines: (\d{1,7})")


def files(text: str) -> dict[str, str]:
    """Return the contents by path, without the last newline; empty for a text that is no such dump."""
    rows = plain(text).split("\n")
    found: dict[str, str] = {}
    path, content, left = "", [""], 0
    for row in rows:
        ttar = row.startswith("Path: ")
        if left > 0:
            left -= 1
            content.append(row)
        elif ttar or row.startswith("### "):
            if path:
                found[path] = "\n".join(content)
            path, content = row.partition(" ")[2].strip()[:LONGEST_LINE], []
        elif LINES.fullmatch(row):
            left = int(row[7:])
        elif path and not row.startswith(("Mode: ", "# ttar", "Directory: ", "SymlinkTo: ")):
            content.append(row)
    if path:
        found[path] = "\n".join(content)
    return found


def paths_from(found: dict[str, str], marker: str) -> dict[str, str]:
    """Return the files whose path has a part of this name, by what follows it; dumps begin at different places."""
    rest = {}
    for path, content in found.items():
        _, middle, after = f"/{path}".rpartition(f"/{marker}")
        if middle:
            rest[f"{marker}{after}"] = content
    return rest
