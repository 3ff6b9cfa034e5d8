"""Texts whose indentation says what belongs to what: rocminfo, amd-smi."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

DEEPEST = 12  # levels; what is deeper belongs to the last of them


@dataclass
class Node:
    """A line, `key: value` or a key alone, and the lines that are indented below it."""

    key: str
    value: str
    indent: int
    children: list[Node] = field(default_factory=list)

    def entries(self) -> dict[str, Any]:
        """Return the lines below as a dictionary; a key that comes again has a list."""
        return entries(self.children)


def tree(lines: Iterable[str]) -> list[Node]:
    """Return the lines that stand at the left, each with those below it. A list may go on in the next line."""
    root = Node("", "", -1)
    stack, last = [root], root
    for line in lines:
        text = line.strip()
        if not text:
            continue
        if last.value.startswith("[") and not last.value.endswith("]") and len(last.value) < 100_000:
            last.value += " " + text
            continue
        indent = len(line) - len(line.lstrip())
        while stack[-1].indent >= indent:
            stack.pop()
        key, _, value = text.partition(":")
        last = Node(key.strip(), value.lstrip(":").strip(), indent)
        stack[-1].children.append(last)
        if len(stack) < DEEPEST:
            stack.append(last)
    return root.children


def entries(nodes: list[Node]) -> dict[str, Any]:
    """Return nodes as a dictionary; a key that comes again has a list."""
    found: dict[str, Any] = {}
    repeated = set()
    for node in nodes:
        value = node.entries() if node.children else node.value
        if node.key not in found:
            found[node.key] = value
        elif node.key in repeated:
            found[node.key].append(value)
        else:
            repeated.add(node.key)
            found[node.key] = [found[node.key], value]
    return found
