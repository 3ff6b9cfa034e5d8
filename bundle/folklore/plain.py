"""Requirements files and files of variables: one thing a line."""

from __future__ import annotations

import re

from bundle.folklore.commands import ASSIGNMENT
from bundle.folklore.items import Requirement, Setting, Text

COMMENT = re.compile(r"(?:^|\s)#\s?(.*)$")


def read_requirements(source: str, _programs: frozenset[str]) -> Text:
    """Return what a requirements file asks for."""
    text = Text("requirements", source)
    for number, line, comment in _lines(source):
        text.say(number, comment)
        if line and not line.startswith("-"):
            text.items.append(Requirement(number, "file", line))
    return text


def read_variables(source: str, _programs: frozenset[str]) -> Text:
    """Return what a `.env` file sets."""
    text = Text("env", source)
    for number, line, comment in _lines(source):
        text.say(number, comment)
        if found := ASSIGNMENT.fullmatch(line.removeprefix("export ").strip()):
            text.items.append(Setting(number, found[1], found[2].strip("'\""), "exported"))
    return text


def _lines(source: str) -> list[tuple[int, str, str]]:
    """Return number, content and comment of each line; a comment's own line stands with the line below it."""
    lines, above = [], ""
    for number, line in enumerate(source.split("\n"), 1):
        found = COMMENT.search(line)
        content, comment = (line[: found.start()], found[1]) if found else (line, "")
        lines.append((number, content.strip().removesuffix("\\").strip(), f"{above} {comment}".strip()))
        above = comment if found and not content.strip() else ""
    return lines
