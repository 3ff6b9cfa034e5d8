"""Markdown into items: fenced and indented code by its language, inline code, and what the sentences around it say."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bundle.folklore import commands, dockerfile, python, yaml_text
from bundle.folklore.items import Sentence, Setting, Text

if TYPE_CHECKING:
    from collections.abc import Callable

FENCE = re.compile(r"^([ \t>]*(?:[-*+]\s+|\d+[.)]\s+)?)(`{3,}|~{3,})\s*\{?\.?([\w+-]*)")
SHELL = frozenset({"bash", "sh", "shell", "zsh", "console", "shell-session", "sh-session", "terminal", "text", "txt",
                   "powershell", "cmd", "bat", "batch", "ps1", "env", "dotenv", "fish"})  # fmt: skip
PYTHON = frozenset({"python", "py", "python3", "pycon", "ipython"})
PROMPT = re.compile(
    r"^\s*(?:\([\w.-]+\)\s*)?(?:[\w.-]+@[\w.:~/-]+)?\s*(?:[$%]|#(?=\s*(?:docker|rocm|amd|export|apt|pip)))\s+"
)
INLINE = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)")
BREAK = re.compile(r"(?<=[.!?\u3002\uff01\uff1f\uff1b])(?:\s+|(?<=[\u3002\uff01\uff1f\uff1b]))")
NAME = re.compile(r"(?<![\w$/.{-])([A-Z][A-Za-z0-9]{1,15}_[A-Z][A-Z0-9_]+)(?:=(\"[^\"]*\"|'[^']*'|[^\s\"'`,;()|*]+))?")
BLOCK = re.compile(r"^\s*(?:[-*+]\s|\d+[.)]\s|\||>|#{1,6}\s|$)")
#: A sentence that speaks of the one before it.
GOES_ON = re.compile(r"\s*(?:both|this|that|these|those|neither|it|they|such)\b", re.IGNORECASE)
HEADING = re.compile(r"^\s*(#{1,6})\s+(.*)")
DOCKERFILE = re.compile(r"^\s*(?:FROM|RUN|ENV|COPY|ENTRYPOINT|WORKDIR)\s", re.MULTILINE)
PYTHON_LINE = re.compile(r"^\s*(?:import \w|from \w[\w.]* import |def \w+\(|print\(|\w[\w.]* = |>>> )", re.MULTILINE)

LONGEST = 5_000  # characters of a sentence


@dataclass
class _Block:
    """Lines that belong together, and what introduced them."""

    line: int
    kind: str
    language: str = ""
    lines: list[str] = field(default_factory=list)
    near: str = ""


def read(source: str, programs: frozenset[str]) -> Text:
    """Return what Markdown says."""
    text = Text("markdown", source)
    heading = introduced = ""
    for block in _blocks(source):
        if block.kind == "heading":
            heading = introduced = block.lines[0]
        block.near = introduced
        if block.kind == "prose":
            introduced = _prose(text, block, programs, heading)
        elif block.kind == "code":
            _code(text, block, programs, f"{introduced}\n{heading}")
        elif block.kind == "front":
            _merge(text, yaml_text.read("\n".join(block.lines), programs), block.line - 1, "")
    return text


def _blocks(source: str) -> list[_Block]:
    """Cut the text into prose, headings, code and front matter; HTML comments are no text."""
    lines = _without_comments(source).split("\n")
    blocks, index = [], 0
    if lines[0].strip() == "---" and "---" in (stripped := [line.strip() for line in lines[1:200]]):
        index = stripped.index("---") + 2
        blocks.append(_Block(2, "front", lines=lines[1 : index - 1]))
    while index < len(lines):
        line = lines[index]
        if fence := FENCE.match(line):
            index = _fenced(lines, index, fence, blocks)
            continue
        if heading := HEADING.match(line):
            blocks.append(_Block(index + 1, "heading", lines=[heading[2]]))
        elif re.match(r"(?: {4}|\t)\S", line) and (
            not blocks or blocks[-1].kind != "prose" or not lines[index - 1].strip()
        ):
            if blocks and blocks[-1].kind == "code" and blocks[-1].language == "indented" and lines[index - 1].strip():
                blocks[-1].lines.append(line.strip())
            else:
                blocks.append(_Block(index + 1, "code", "indented", [line.strip()]))
        elif line.strip():
            goes_on = blocks and blocks[-1].kind == "prose" and not BLOCK.match(line) and lines[index - 1].strip()
            if goes_on:
                blocks[-1].lines.append(line)
            else:
                blocks.append(_Block(index + 1, "prose", lines=[line]))
        index += 1
    return blocks


def _without_comments(source: str) -> str:
    """Return the text without HTML comments, their lines kept empty."""
    kept, at = [], 0
    while (start := source.find("<!--", at)) >= 0 and (end := source.find("-->", start)) >= 0:
        kept += [source[at:start], "\n" * source.count("\n", start, end)]
        at = end + len("-->")
    return "".join([*kept, source[at:]])


def _fenced(lines: list[str], index: int, fence: re.Match[str], blocks: list[_Block]) -> int:
    """Add a fenced block; return the index of the line behind it."""
    first, indent = index + 1, len(fence[1])
    body = []
    index += 1
    while index < len(lines) and not lines[index].strip(" \t>").startswith(fence[2]):
        line = lines[index]
        body.append(line[indent:] if not line[:indent].strip(" \t>") else line)
        index += 1
    blocks.append(_Block(first + 1, "code", fence[3].lower() or "plain", body))
    return index + 1


def _code(text: Text, block: _Block, programs: frozenset[str], near: str) -> None:
    """Read code by its language, or by what it looks like where none is said."""
    body, offset = "\n".join(block.lines), block.line - 1
    language = block.language
    if language in {"plain", "indented", "text"}:
        language = "dockerfile" if DOCKERFILE.search(body) else "python" if _is_python(body) else "bash"
    reader: Callable[[str, frozenset[str]], Text] | None = {
        "dockerfile": dockerfile.read, "docker": dockerfile.read, "containerfile": dockerfile.read,
        "yaml": yaml_text.read, "yml": yaml_text.read,
    }.get(language)  # fmt: skip
    if language in PYTHON:
        reader, body = python.read, re.sub(r"^(?:>>>|\.\.\.) ?", "", body, flags=re.MULTILINE)
    elif language in SHELL:
        reader, body = _shell, _typed(body)
    if reader:
        _merge(text, reader(body, programs), offset, near)


def _is_python(body: str) -> bool:
    if not PYTHON_LINE.search(body):
        return False
    try:
        ast.parse(re.sub(r"^(?:>>>|\.\.\.) ?", "", body, flags=re.MULTILINE))
    except (SyntaxError, ValueError, RecursionError):
        return False
    return True


def _shell(body: str, programs: frozenset[str]) -> Text:
    text = Text("shell", body)
    commands.read(text, body, 1, programs)
    return text


def _typed(body: str) -> str:
    """Return what a person typed: where lines have a prompt, the others are what a program answered."""
    lines = body.split("\n")
    if not any(PROMPT.match(line) for line in lines):
        return body
    typed, goes_on = [], False
    for line in lines:
        prompt = PROMPT.match(line)
        keep = bool(prompt) or goes_on
        typed.append(line[prompt.end() :] if prompt else line if keep else "")
        goes_on = keep and line.rstrip().endswith("\\")
    return "\n".join(typed)


def _merge(text: Text, inner: Text, offset: int, near: str) -> None:
    """Take over what a reader found in a part of the text."""
    for item in inner.items:
        words = f"{inner.words_near(item)}. {near}" if near else ""
        text.items.append(item.moved(offset, near=words))
    for line, words in inner.beside.items():
        text.say(line + offset, words)


def _prose(text: Text, block: _Block, programs: frozenset[str], heading: str) -> str:
    """Read a paragraph, a list's item or a table's row sentence by sentence; return the last one."""
    joined = "\n".join(block.lines)
    pieces = [joined] if block.lines[0].lstrip().startswith("|") else BREAK.split(joined)
    line, sentence = block.line, ""
    for piece, following in zip(pieces, [*pieces[1:], ""], strict=True):
        sentence = " ".join(piece.split())
        more = " ".join(following.split()) if GOES_ON.match(following) else ""
        near = f"{sentence} {more}\n{heading}"
        text.items.append(Sentence(line, sentence, near=near))
        _inline(text, piece[:LONGEST], line, programs, near)
        line += piece.count("\n")
    return sentence


def _inline(text: Text, piece: str, line: int, programs: frozenset[str], near: str) -> None:
    """Read inline code, and variables and commands that stand in a sentence without a mark."""
    for found in INLINE.finditer(piece):
        code, at = found[2].strip(), line + piece.count("\n", 0, found.start())
        inner = _shell(code, programs)
        if re.search(r"\w\.\w+[.(]|\w\.\w+\s*=", code):
            inner.items += python.read(code, programs).items
        for item in inner.items:
            shown = {"how": "exported"} if isinstance(item, Setting) and item.how == "local" else {}
            text.items.append(item.moved(at - 1, near=near, **shown))
    rest = INLINE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), piece)
    for found in NAME.finditer(piece):
        at = line + piece.count("\n", 0, found.start())
        how = "exported" if found[2] and rest[found.start() : found.end()].strip() else "named"
        text.items.append(Setting(at, found[1], (found[2] or "").strip("\"'"), how, near=near))
    for found in re.finditer(r"(?<![\w/.-])([a-z][\w-]+) +--?[a-z]", rest):
        if found[1] in programs:
            at = line + rest.count("\n", 0, found.start())
            command = re.split(r"[,;:()]|\.\s|\.$", rest[found.start() :].split("\n", 1)[0])[0]
            text.items += [item.moved(at - 1, near=near) for item in _shell(command, programs).items]
