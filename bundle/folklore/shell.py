"""Shell text into simple commands: quotes, escapes, continued lines, comments, substitutions, here-documents.

Enough of POSIX sh and bash to see which programs are called with which words. Nothing is expanded or run. What is no
shell at all (prose, a tool's output) gives words that no rule asks about, never an exception.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from bundle.folklore.items import Word

#: Where a document writes `<image>` for what its reader is to fill in, no file is meant.
PLACEHOLDER = re.compile(r"<[A-Za-z][\w ./:-]*>")
HEREDOC = re.compile(r"<<(-?)[ \t]*(\\?)(['\"]?)(\w+)\3")
OPERATOR = re.compile(r"&&|\|\||;;|\|&|[;&|()\n]")
REDIRECTION = re.compile(r"\d*(?:>>|>\||>&|<&|<<<|&>>|&>|>|<)")
PLAIN = re.compile(r"[^\s;&|()<>\\'\"$`#]+")
DEEPEST = 8  # substitutions in substitutions; more is no script that a person wrote
LONGEST = 20_000  # characters of a substitution
UNCLOSED = 20  # substitutions that nothing closes; then no more is looked for: the text is none that a shell takes


@dataclass
class Simple:
    """One simple command: its words, redirections left out, and whether its output goes on into the next."""

    words: list[Word] = field(default_factory=list)
    piped: bool = False
    heredoc: tuple[str, int] | None = None


@dataclass
class Script:
    """Shell text taken apart. `inner` are substitutions, each with the line that it begins on."""

    commands: list[Simple] = field(default_factory=list)
    comments: dict[int, str] = field(default_factory=dict)
    inner: list[tuple[str, int]] = field(default_factory=list)


class _Reader:
    """Goes through the text once."""

    def __init__(self, text: str, line: int) -> None:
        self.text, self.at, self.line = text, 0, line
        self.script = Script()
        self.command = Simple()
        self.word: list[str] | None = None
        self.word_line = line
        self.skip_word = False
        self.awaited: list[tuple[str, bool, Simple]] = []
        self.unclosed = 0

    def read(self) -> Script:
        while self.at < len(self.text):
            self._step(self.text[self.at])
        self._end_command(piped=False)
        return self.script

    def _step(self, character: str) -> None:
        if plain := PLAIN.match(self.text, self.at):
            self._add(plain[0])
            self.at = plain.end()
        elif character == "\\":
            self._escape()
        elif character in "'\"":
            self._quoted(character)
        elif character in "$`":
            self._dollar()
        elif character == "#" and self.word is None:
            end = self._line_end()
            self.script.comments[self.line] = self.text[self.at + 1 : end].strip()
            self.at = end
        elif character == "#":
            self._add(character)
            self.at += 1
        elif character in "<>" and self._redirected():
            pass
        elif operator := OPERATOR.match(self.text, self.at):
            self._operator(operator[0])
        elif found := REDIRECTION.match(self.text, self.at):
            self._end_word()
            self.skip_word, self.at = True, found.end()
        else:
            self._end_word()
            self.at += 1

    def _line_end(self) -> int:
        end = self.text.find("\n", self.at)
        return len(self.text) if end < 0 else end

    def _add(self, piece: str) -> None:
        if self.word is None:
            self.word, self.word_line = [], self.line
        self.word.append(piece)

    def _escape(self) -> None:
        following = self.text[self.at + 1 : self.at + 2]
        if following == "\n":
            self.line += 1
        elif re.match(r"\\[ \t]+\n", self.text[self.at : self.at + 80]):  # a slip that documents make: it is continued
            self.at = self._line_end() - 1
            self.line += 1
        else:
            self._add(following)
        self.at += 2

    def _quoted(self, quote: str) -> None:
        """Read a quoted part; a quote that nothing closes (an apostrophe in prose) is a letter."""
        end = self.at + 1
        while end < len(self.text) and self.text[end] != quote:
            end += 2 if quote == '"' and self.text[end] == "\\" else 1
        if end >= len(self.text):
            self._add(quote)
            self.at += 1
            return
        body = self.text[self.at + 1 : end]
        self._add(re.sub(r"\\\n", "", re.sub(r'\\(["\\$`])', r"\1", body)) if quote == '"' else body)
        if quote == '"':
            self._substitutions(body)
        self.line += body.count("\n")
        self.at = end + 1

    def _substitutions(self, body: str) -> None:
        for found in re.finditer(r"\$\((?!\()", body):
            inner = self._closed(body, found.end() - 1)
            if inner is not None:
                self.script.inner.append((inner, self.line + body.count("\n", 0, found.start())))

    def _dollar(self) -> None:
        rest = self.text[self.at : self.at + 2]
        if rest[0] == "`":
            end = self.text.find("`", self.at + 1)
            inner = None if end < 0 else self.text[self.at + 1 : end]
            whole = inner if inner is None else f"`{inner}`"
        elif rest == "$(":
            inner = self._closed(self.text, self.at + 1)
            whole = None if inner is None else f"$({inner})"
        elif rest == "${":
            end = self.text.find("}", self.at, self.at + LONGEST)
            inner, whole = None, None if end < 0 else self.text[self.at : end + 1]
        else:
            inner, whole = None, None
        if whole is None:
            whole = rest[0]
        self._add(whole)
        if inner is not None and not whole.startswith("$(("):
            self.script.inner.append((inner, self.line))
        self.line += whole.count("\n")
        self.at += len(whole)

    def _closed(self, text: str, at: int) -> str | None:
        """Return what stands between the bracket at `at` and the one that closes it; None when none does."""
        depth = 0
        for index in range(at, min(len(text), at + LONGEST) if self.unclosed < UNCLOSED else 0):
            if text[index] == "(":
                depth += 1
            elif text[index] == ")":
                depth -= 1
                if not depth:
                    return text[at + 1 : index]
        self.unclosed += 1
        return None

    def _redirected(self) -> bool:
        if self.word and "".join(self.word).isdigit():  # the 2 of 2>&1
            self.word = None
        if found := HEREDOC.match(self.text, self.at):
            self._end_word()
            self.awaited.append((found[4], bool(found[1]), self.command))
        elif found := PLACEHOLDER.match(self.text, self.at):
            self._add(found[0])
        else:
            return False
        self.at = found.end()
        return True

    def _operator(self, operator: str) -> None:
        self.at += len(operator)
        if operator == "&" and self.text[self.at : self.at + 1] == ">":
            self._end_word()
            return
        self._end_command(piped=operator in {"|", "|&"})
        if operator == "\n":
            self.line += 1
            for delimiter, dashed, command in self.awaited:
                command.heredoc = self._heredoc(delimiter, dashed=dashed)
            self.awaited = []

    def _heredoc(self, delimiter: str, *, dashed: bool) -> tuple[str, int]:
        first, start = self.line, self.at
        while self.at < len(self.text):
            end = self._line_end()
            line, begun = self.text[self.at : end], self.at
            self.at, self.line = min(end + 1, len(self.text)), self.line + 1
            if (line.lstrip("\t") if dashed else line).rstrip("\r ") == delimiter:
                return self.text[start:begun], first
        return self.text[start:], first

    def _end_word(self) -> None:
        if self.word is None:
            return
        if not self.skip_word:
            self.command.words.append(Word("".join(self.word), self.word_line))
        self.word, self.skip_word = None, False

    def _end_command(self, *, piped: bool) -> None:
        self._end_word()
        self.skip_word = False
        if self.command.words or self.command.heredoc or self.awaited:
            self.command.piped = piped
            self.script.commands.append(self.command)
        self.command = Simple()


def parse(text: str, line: int = 1, depth: int = 0) -> Script:
    """Return the simple commands of shell text whose first line is `line`, those in substitutions after the others."""
    script = _Reader(text, line).read()
    if depth < DEEPEST:
        for inner, inner_line in script.inner:
            script.commands += parse(inner, inner_line, depth + 1).commands
    return script
