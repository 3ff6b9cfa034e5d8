"""Merge the layers of an image into one tree, as an engine would: whiteouts, opaque directories, hard links.

Within a layer the order of members does not matter: whiteouts speak of the layers below alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from images.tar import DIRECTORY, HARD_LINK, Member, Tar, scan, show
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Iterator

WHITEOUT = b".wh."
OPAQUE = b".wh..wh..opq"
RESERVED = b".wh..wh."  # bookkeeping of old storage drivers, no part of the image


class Node(NamedTuple):
    """What a path names: an inode. Paths that are hard links of each other hold the very same Node.

    The data are `content`, or `member.size` bytes at `member.offset` of the open file `fd`.
    """

    member: Member
    fd: int = -1
    content: bytes | None = None


Tree = dict[bytes, Node]


def apply(tree: Tree, layer: Tar) -> None:
    """Lay one layer over the tree, in place; KitError for a hard link to nothing."""
    own: Tree = {}
    links: dict[bytes, bytes] = {}
    gone: set[bytes] = set()
    opaque: set[bytes] = set()
    for member in scan(layer):
        folder, _, base = member.name.rpartition(b"/")
        if base == OPAQUE:
            opaque.add(folder)
        elif base.startswith(WHITEOUT):
            if not base.startswith(RESERVED):
                gone.add(_hidden_name(folder, base))
        elif member.kind == HARD_LINK:
            links[member.name] = member.link
            own.pop(member.name, None)
        else:
            links.pop(member.name, None)
            own[member.name] = Node(member, layer.fd)
    own |= {name: _linked(name, links, own, tree) for name in links}
    # A directory that became something else takes along what was in it.
    gone |= {name for name, node in own.items() if not is_directory(node) and is_directory(tree.get(name))}
    hide(tree, gone, opaque)
    tree |= own


def hidden(layer: Tar) -> set[bytes]:
    """Return the paths that a layer's whiteouts hide."""
    parts = ((member.name.rpartition(b"/")[0], member.name.rpartition(b"/")[2]) for member in scan(layer))
    return {
        _hidden_name(folder, base)
        for folder, base in parts
        if base.startswith(WHITEOUT) and not base.startswith(RESERVED)
    }


def is_directory(node: Node | None) -> bool:
    """Say whether there is a node and it is a directory."""
    return node is not None and node.member.kind == DIRECTORY


def hide(tree: Tree, gone: set[bytes], opaque: set[bytes]) -> None:
    """Remove the paths in `gone` with all below them, and all below (not including) those in `opaque`."""
    if not (gone or opaque):
        return
    hidden = [
        path for path in tree if path in gone or any(above in gone or above in opaque for above in ancestors(path))
    ]
    for path in hidden:
        del tree[path]


def ancestors(path: bytes) -> Iterator[bytes]:
    """Yield the directories above a path, nearest first; the root, which is empty, last."""
    while path:
        path = path.rpartition(b"/")[0]
        yield path


def _hidden_name(folder: bytes, base: bytes) -> bytes:
    name = base.removeprefix(WHITEOUT)
    if name in {b"", b".", b".."}:
        raise KitError(f"a layer hides nothing that has a name: {show(base)} in {show(folder) or '/'}")
    return folder + b"/" + name if folder else name


def _linked(name: bytes, links: dict[bytes, bytes], own: Tree, tree: Tree) -> Node:
    """Return the inode that a hard link names: through other links, in this layer, else in those below."""
    target = name
    for _ in range(len(links) + 1):
        if target not in links:
            break
        target = links[target]
    else:
        raise KitError(f"a layer has hard links in a circle: {show(name)}")
    node = own.get(target) or tree.get(target)
    if node is None or is_directory(node):
        raise KitError(f"a layer has a hard link to nothing: {show(name)} to {show(target)}")
    return node
