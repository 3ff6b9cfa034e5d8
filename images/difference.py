"""The least that turns one tree into another: what a layer must hold.

Recomputed from contents, because storage drivers disagree: overlay2 marks brand-new directories opaque, containerd
writes whiteouts, and either may repeat entries that the base has already.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from images.layers import WHITEOUT, Node, Tree, is_directory
from images.tar import DIRECTORY, FILE, Member

PIECE_BYTES = 1 << 20


class Entry(NamedTuple):
    """One entry of a layer: a node under its path, a further name (of the path `link`), or a whiteout (neither)."""

    path: bytes
    node: Node | None = None
    link: bytes = b""


def difference(base: Tree, tree: Tree, epoch: int) -> list[Entry]:
    """Return the entries, sorted by path, that make `tree` out of `base`.

    Times are compared as they are written: none after `epoch`. Of paths that are hard links of each other the first in
    order holds the data, so that every reader finds it before the links.
    """
    changed = {path: node for path, node in tree.items() if not _same(base.get(path), node, epoch)}
    first: dict[int, bytes] = {}
    entries = []
    for path in sorted(changed):
        node = changed[path]
        earlier = first.setdefault(id(node), path)
        entries.append(Entry(path, node, earlier if earlier != path else b""))
    return sorted(entries + _whiteouts(base, tree), key=lambda entry: entry.path)


def _whiteouts(base: Tree, tree: Tree) -> list[Entry]:
    """Return whiteouts for the topmost paths that are gone.

    Never one below a path that is no directory any more: the new thing hides it, and every engine refuses such a layer.
    """
    found = []
    for path in base:
        if path in tree:
            continue
        folder, _, name = path.rpartition(b"/")
        if not folder or is_directory(tree.get(folder)):
            found.append(Entry(folder + b"/" + WHITEOUT + name if folder else WHITEOUT + name))
    return found


def _same(old: Node | None, new: Node, epoch: int) -> bool:
    """Say whether the base holds this already. A directory's time is not compared: it is written as `epoch`."""
    if old is None or old is new:
        return old is new
    if traits(old.member, epoch) != traits(new.member, epoch):
        return False
    return new.member.kind != FILE or same_content(old, new)


def traits(member: Member, epoch: int) -> Member:
    """Return what of a member counts when two are compared: all but its path and its place in the archive."""
    mtime = 0 if member.kind == DIRECTORY else min(member.mtime, epoch)
    return member._replace(name=b"", mtime=mtime, offset=0)


def same_content(old: Node, new: Node) -> bool:
    """Say whether two files of the same size hold the same bytes, reading both a piece at a time."""
    return all(_piece(old, offset) == _piece(new, offset) for offset in range(0, new.member.size, PIECE_BYTES))


def _piece(node: Node, offset: int) -> bytes:
    size = min(PIECE_BYTES, node.member.size - offset)
    if node.content is not None:
        return node.content[offset : offset + size]
    return os.pread(node.fd, size, node.member.offset + offset)
