"""Tables in texts: comma separated, drawn with bars, or blank separated."""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING

from validate.parsers.values import plain

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST_ROWS = 2_000_000
BARS = re.compile(r"[│|]")
GAP = re.compile(r" {2,}|\t+")


def csv_rows(text: str) -> tuple[list[list[str]], list[str]]:
    """Return the rows of comma separated text, cells without blanks around them, and what was wrong with it.

    Lines that hold nothing are no rows. There is always a first row, which may be empty.
    """
    rows: list[list[str]] = []
    try:
        for row in csv.reader(io.StringIO(plain(text))):
            cells = [cell.strip() for cell in row]
            if any(cells):
                rows.append(cells)
            if len(rows) > MOST_ROWS:
                return rows, [f"only the first {MOST_ROWS} rows were read"]
    except csv.Error as problem:
        return rows or [[]], [f"the table breaks off at row {len(rows) + 1}: {problem}"]
    return rows or [[]], []


def records(header: list[str], rows: Iterable[list[str]]) -> list[dict[str, str]]:
    """Return rows by the names of their columns; empty rows, and cells beyond the header, are passed over."""
    return [dict(zip(header, row)) for row in rows if any(row)]


def drawn(lines: Iterable[str]) -> list[list[str]]:
    """Return the rows of a table drawn with bars; its rules, which hold no words, are passed over."""
    rows = []
    for line in lines:
        if line.lstrip()[:1] in {"│", "|"}:
            cells = [cell.strip() for cell in BARS.split(line.strip().strip("│|"))]
            if any(cell.strip("-=+") for cell in cells):
                rows.append(cells)
    return rows


def columns(line: str) -> list[str]:
    """Return the parts of a line that two blanks or a tab keep apart."""
    return [part.strip() for part in GAP.split(line.strip()) if part.strip()]
