"""Dockerfiles into items: instructions over several lines, ENV and ARG in both forms, RUN in all three."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from bundle.folklore import commands
from bundle.folklore.commands import ASSIGNMENT
from bundle.folklore.items import Image, Setting, Text, Word
from bundle.folklore.shell import HEREDOC, parse

if TYPE_CHECKING:
    from collections.abc import Iterator

INSTRUCTION = re.compile(r"\s*(?:ONBUILD\s+)?([A-Za-z]+)(?:\s+|$)", re.IGNORECASE)
RUNS = frozenset({"RUN", "CMD", "ENTRYPOINT"})
FLAG = re.compile(r"\s*--[a-z-]+(?:=\S+)?(?=\s)")


def read(source: str, programs: frozenset[str]) -> Text:
    """Return what a Dockerfile says."""
    text = Text("dockerfile", source)
    arguments: dict[str, str] = {}
    comments: list[str] = []
    for line, instruction, body in instructions(source):
        if instruction in {"#", ""}:
            comments = [*comments, body] if instruction else []
            text.comment(line, body)
            continue
        text.say(line, " ".join(comments))
        comments = []
        if instruction in RUNS:
            _run(text, body, line, programs)
        elif instruction in {"ENV", "ARG"}:
            for word, name, value in _pairs(body, line):
                text.items.append(Setting(word.line, name, value, "baked" if instruction == "ENV" else "local"))
                arguments[name] = value
        elif instruction == "FROM" and (words := FLAG.sub("", " " + body).split()):
            text.items.append(Image(line, _filled(words[0], arguments), base=True))
    return text


def instructions(source: str) -> Iterator[tuple[int, str, str]]:
    """Yield line, name and text of each instruction; a comment has the name `#`, an empty line none."""
    lines = source.split("\n")
    escape = "`" if re.search(r"^#\s*escape\s*=\s*`", source) else "\\"
    index = 0
    while index < len(lines):
        first, line = index, lines[index]
        index += 1
        if line.lstrip().startswith("#"):
            yield first + 1, "#", line.lstrip("# \t").strip()
            continue
        found = INSTRUCTION.match(line)
        if not found:
            yield first + 1, "", ""
            continue
        body = [" " * found.end() + line[found.end() :]]
        while body[-1].rstrip().endswith(escape) and index < len(lines):
            body[-1] = body[-1].rstrip()[:-1] + "\\"
            following = lines[index]
            skipped = not following.strip() or following.lstrip().startswith("#")  # neither ends an instruction
            body.append(escape if skipped else following)
            index += 1
        for heredoc in HEREDOC.finditer(body[-1]) if found[1].upper() in {"RUN", "COPY"} else ():
            while index < len(lines) and lines[index].strip() != heredoc[4]:
                body.append(lines[index])
                index += 1
            body.append(lines[index] if index < len(lines) else heredoc[4])
            index += 1
        yield first + 1, found[1].upper(), "\n".join(body)


def _run(text: Text, body: str, line: int, programs: frozenset[str]) -> None:
    """Read what is run, in the shell form, as a list of words, or as a here-document."""
    while flag := FLAG.match(body):
        body = " " * flag.end() + body[flag.end() :]
    if body.lstrip().startswith("["):
        try:
            words = json.loads(body.replace("\\\n", "\n"))
        except ValueError:
            words = None
        if isinstance(words, list) and words and all(isinstance(word, str) for word in words):
            text.items += commands.from_words([Word(word, line) for word in words], programs)
            return
    if HEREDOC.match(body.lstrip()) and "\n" in body:
        script = body.split("\n", 1)[1].rsplit("\n", 1)[0]
        if not script.startswith("#!") or "sh" in script.split("\n", 1)[0]:
            commands.read(text, script, line + 1, programs)
        return
    commands.read(text, body, line, programs)


def _pairs(body: str, line: int) -> Iterator[tuple[Word, str, str]]:
    """Yield the names and values of ENV and ARG; the old form `ENV NAME VALUE` too."""
    words = [word for simple in parse(body, line).commands for word in simple.words]
    if not words:
        return
    if not ASSIGNMENT.fullmatch(words[0].text):
        yield words[0], words[0].text, " ".join(word.text for word in words[1:])
        return
    for word in words:
        if found := ASSIGNMENT.fullmatch(word.text):
            yield word, found[1], found[2]


def _filled(reference: str, arguments: dict[str, str]) -> str:
    """Return an image's name with the build arguments' defaults in it."""

    def value(found: re.Match[str]) -> str:
        name, _, default = (found[1] or found[2]).partition(":-")
        return arguments.get(name) or default or found[0]

    return re.sub(r"\$(?:\{([^}]*)\}|(\w+))", value, reference).strip("'\"")
