"""What a text says, apart from how it is written: the items that rules are asked about."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field, replace
from typing import Any

WIDEST = 1_000  # characters of a line


@dataclass(frozen=True)
class Word:
    """A word of a command as the program sees it, quotes gone; variables stay as they are written."""

    text: str
    line: int


@dataclass(frozen=True)
class Item:
    """Something said on a line.

    `near` is what prose says around it, where it stands in prose: the sentence, and on a second line the heading.
    """

    line: int
    near: str = field(default="", kw_only=True)

    def moved(self, lines: int, **changed: Any) -> Item:
        """Return the item `lines` further down, as a part of a larger text has it; with what is `changed` about it."""
        return replace(self, line=self.line + lines, **changed)


@dataclass(frozen=True)
class Setting(Item):
    """An environment variable that is set, or whose setting is shown.

    `how` is `exported` for what programs that are started see, `local` for a plain shell variable or a build argument,
    `baked` for an image's own, `late` in a Python program that has already loaded PyTorch, `named` where only the name
    stands.
    """

    name: str
    value: str
    how: str


@dataclass(frozen=True)
class Command(Item):
    """A program with its arguments; `after` are the commands that its output is piped into."""

    words: tuple[Word, ...]
    after: tuple[tuple[str, ...], ...] = ()

    def moved(self, lines: int, **changed: Any) -> Item:
        """Return the command and its words further down."""
        words = tuple(Word(word.text, word.line + lines) for word in self.words)
        return replace(self, line=self.line + lines, words=words, **changed)

    @property
    def program(self) -> str:
        """Name of the program, without its folder."""
        return self.words[0].text.rpartition("/")[2]


@dataclass(frozen=True)
class Run(Item):
    """A container that is started: `options` by their long names, each with its value (`""` for a switch)."""

    engine: str
    image: str
    options: tuple[tuple[str, str, int], ...]

    def moved(self, lines: int, **changed: Any) -> Item:
        """Return the container and its options further down."""
        options = tuple((name, value, line + lines) for name, value, line in self.options)
        return replace(self, line=self.line + lines, options=options, **changed)


@dataclass(frozen=True)
class Api(Item):
    """A name of a Python library in use, on a line that is `shown`.

    `role` is read, call, assign or assert; `value` what is assigned, a call's arguments, or what the assertion says.
    """

    name: str
    role: str
    value: str = ""
    shown: str = ""


@dataclass(frozen=True)
class Requirement(Item):
    """A package that is asked for. `tool` is pip, apt, or `file` for a line of a requirements file."""

    tool: str
    text: str


@dataclass(frozen=True)
class Image(Item):
    """An image that is built upon or run; `base` where it is built upon."""

    reference: str
    base: bool


@dataclass(frozen=True)
class Sentence(Item):
    """A sentence of prose, a row of a table, or a comment."""

    text: str


@dataclass
class Text:
    """A file as its reader understood it.

    `beside` has, by line, the words that stand beside what the line says: its comment, its sentence, what introduces
    it. Rules that ask what a setting is said to be good for look there, and so does the question whether the text
    itself warns.
    """

    kind: str
    source: str
    items: list[Item] = field(default_factory=list)
    beside: dict[int, str] = field(default_factory=dict)

    @functools.cached_property
    def narrow(self) -> str:
        """Return the text with what is left of long lines: patterns that look at all of it stay quick."""
        return "\n".join(line[:WIDEST] for line in self.source.split("\n"))

    def words_near(self, item: Item) -> str:
        """Return the words around an item."""
        return item.near or self.beside.get(item.line, "")

    def say(self, line: int, words: str) -> None:
        """Note words beside a line."""
        if words.strip():
            self.beside[line] = f"{self.beside[line]} {words}" if line in self.beside else words

    def comment(self, line: int, words: str) -> None:
        """Note a comment: it stands beside its line, and says something itself."""
        if words.strip():
            self.say(line, words)
            self.items.append(Sentence(line, words))
