"""Python before and beside its syntax tree: a notebook's commands, what can be read of broken code, comments."""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from typing import TYPE_CHECKING

from bundle.folklore import commands

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bundle.folklore.items import Text

MAGIC = re.compile(r"^\s*[!%]+\s*(?:(?:env|set_env)\s+(?P<env>\S+)|(?P<shell>.*))$")


def parsed(source: str) -> ast.Module:
    """Return the syntax tree; SyntaxError, ValueError and the like for what has none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its escapes are not ours to judge
        return ast.parse(source)


def magics(text: Text, source: str, programs: frozenset[str], first: int) -> str:
    """Take a notebook's `!command` and `%env` lines out, as shell."""
    lines = source.split("\n")
    for index, line in enumerate(lines):
        if line.lstrip()[:1] in {"!", "%"} and (found := MAGIC.match(line)):
            commands.read(text, f"export {found['env']}" if found["env"] else found["shell"], index + first, programs)
            lines[index] = line[: len(line) - len(line.lstrip())] + "pass"
    return "\n".join(lines)


def pieces(source: str) -> Iterator[ast.Module]:
    """Yield the trees of those logical lines that are Python by themselves."""
    lines, index = source.split("\n"), 0
    while index < len(lines):
        for length in (1, 2, 3, 5, 8, 13):  # a statement over several lines
            piece = "\n".join(lines[index : index + length]).strip()
            piece = piece[:-1] + ": pass" if piece.endswith(":") else piece
            try:
                tree = parsed(piece)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                continue
            ast.increment_lineno(tree, index)
            yield tree
            index += length - 1
            break
        index += 1


def comments(text: Text, source: str, offset: int) -> None:
    """Put each comment beside its line, and one that has a line of its own beside the next line of code."""
    above: list[str] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            line = token.start[0] + offset
            if token.type == tokenize.COMMENT:
                words = token.string.lstrip("# ")
                if token.line.lstrip().startswith("#"):
                    above.append(words)
                text.comment(line, words)
            elif token.type not in {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}:
                text.say(line, " ".join(above))
                above = []
            elif token.type == tokenize.NL and not token.line.strip():
                above = []
    except (tokenize.TokenError, SyntaxError, IndentationError):
        return
