"""Say file by file in what two builds differ, and what likely made the difference."""

from __future__ import annotations

import os
import re
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from images import archive, layers
from images.normal import WITHOUT_FILES, read
from images.tar import FILE, show

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from images.layers import Node, Tree

MAX_DIFFERENCES = 1000  # a person reads the first ten; the record should stay small
SMALL_BYTES = 64 << 10
PIECE_BYTES = 1 << 20
_DIGITS = re.compile(rb"[0-9]+|\s+|Mon|Tue|Wed|Thu|Fri|Sat|Sun|Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec")

#: (kind of the schema, fields of a member): the first that differs names the difference.
KINDS = (
    ("type", ("kind", "major", "minor")),
    ("link", ("link",)),
    ("mode", ("mode",)),
    ("owner", ("uid", "gid")),
    ("xattr", ("xattrs",)),
)
#: (class of the schema, where such files lie): the first that fits.
PLACES = (
    ("log", re.compile(rb"^var/log/|\.log$")),
    ("cache", re.compile(rb"(^|/)\.?cache/|" + b"|".join(b"^" + place for place in WITHOUT_FILES))),
    ("pyc", re.compile(rb"\.pyc$")),
)


def compare(
    first: Path, second: Path, *, skip: int = 0, advance: Callable[[], None] = lambda: None
) -> list[dict[str, str]]:
    """Return the differences (schema image-1, `comparison`) between the images in two archives, sorted by path.

    The lowest `skip` layers, a base that both stand on, are not looked at. `advance` is called for each path.
    """
    with ExitStack() as stack:
        images = [stack.enter_context(archive.opened(path, skip=skip)) for path in (first, second)]
        trees: list[Tree] = [{}, {}]
        for tree, image in zip(trees, images, strict=True):
            for layer in image.layers:
                layers.apply(tree, layer)
        found = list(_differences(trees[0], trees[1], advance))[:MAX_DIFFERENCES]
        configs = [{key: value for key, value in image.config.items() if key != "rootfs"} for image in images]
    if configs[0] != configs[1]:
        found.append(_difference("(configuration)", "config", "other"))
    return found


def _differences(first: Tree, second: Tree, advance: Callable[[], None]) -> Iterator[dict[str, str]]:
    for path in sorted(first.keys() | second.keys()):
        advance()
        one, two = first.get(path), second.get(path)
        if two is None:
            yield _difference("/" + show(path), "missing", _class(path, one, one))
        elif one is None:
            yield _difference("/" + show(path), "added", _class(path, two, two))
        elif kind := _kind(one, two):
            yield _difference("/" + show(path), kind, "timestamp" if kind == "mtime" else _class(path, one, two))


def _kind(one: Node, two: Node) -> str:
    """Return the sort of difference, or nothing when there is none."""
    for kind, fields in KINDS:
        if any(getattr(one.member, field) != getattr(two.member, field) for field in fields):
            return kind
    if one.member.kind == FILE and (one.member.size != two.member.size or not same_content(one, two)):
        return "content"
    return "mtime" if one.member.mtime != two.member.mtime else ""


def same_content(old: Node, new: Node) -> bool:
    """Say whether two files of the same size hold the same bytes, reading both a piece at a time."""
    return all(_piece(old, offset) == _piece(new, offset) for offset in range(0, new.member.size, PIECE_BYTES))


def _piece(node: Node, offset: int) -> bytes:
    size = min(PIECE_BYTES, node.member.size - offset)
    if node.content is not None:
        return node.content[offset : offset + size]
    return os.pread(node.fd, size, node.member.offset + offset)


def _class(path: bytes, one: Node | None, two: Node | None) -> str:
    for name, place in PLACES:
        if place.search(path):
            return name
    nodes = [node for node in (one, two) if node and node.member.kind == FILE]
    if any(_begin(node) == b"\x7fELF" for node in nodes):
        return "elf"
    # Texts that are equal once digits, blanks and names of days and months are gone differ in a time.
    texts = [read(node) for node in nodes if node.member.size <= SMALL_BYTES]
    if len(texts) == 2 and texts[0] != texts[1] and _DIGITS.sub(b"", texts[0]) == _DIGITS.sub(b"", texts[1]):
        return "timestamp"
    return "other"


def _begin(node: Node) -> bytes:
    size = min(4, node.member.size)
    return read(node._replace(member=node.member._replace(size=size)))


def _difference(path: str, kind: str, likely: str) -> dict[str, Any]:
    return {"path": path, "kind": kind, "class": likely}
