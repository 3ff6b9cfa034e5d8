"""Read XML as far as it goes: tags and texts, no entities, nothing fetched; what is cut off is closed at the end."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

DEEPEST = 60  # levels; nvidia-smi has eight
TAG = re.compile(r"<(/?)([A-Za-z_][\w.-]{0,100})([^<>]{0,20000})>([^<]*)")
ATTRIBUTE = re.compile(r'([A-Za-z_][\w.-]{0,100})="([^"<>]{0,4000})"')


@dataclass
class Tag:
    """An element."""

    name: str
    attributes: dict[str, str]
    text: str
    children: list[Tag] = field(default_factory=list)

    def find(self, path: str) -> str | None:
        """Return the text at a path of names, each the first of that name; None where there is none."""
        tag: Tag | None = self
        for name in path.split("/"):
            tag = next((child for child in tag.children if child.name == name), None) if tag else None
        return tag.text if tag else None

    def all(self, name: str) -> Iterator[Tag]:
        """Yield the elements of a name, at whatever depth, in their order."""
        for child in self.children:
            if child.name == name:
                yield child
            yield from child.all(name)


def read(text: str) -> Tag:
    """Return a nameless element that holds the text's."""
    root = Tag("", {}, "")
    stack = [root]
    skipped = 0
    for closing, name, rest, content in TAG.findall(text):
        if closing:
            if skipped:
                skipped -= 1
            elif len(stack) > 1:
                stack.pop()
            continue
        alone = rest.endswith("/")
        if skipped or len(stack) >= DEEPEST:
            skipped += 0 if alone else 1
            continue
        tag = Tag(name, dict(ATTRIBUTE.findall(rest)), html.unescape(content[:4000]).strip())
        stack[-1].children.append(tag)
        if not alone:
            stack.append(tag)
    return root
