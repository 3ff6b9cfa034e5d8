"""What a layer holds, in order: paths sorted, a hard link after what it links to, whiteouts for what is gone."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from images.layers import WHITEOUT, Node, Tree, ancestors, is_directory

if TYPE_CHECKING:
    from collections.abc import Iterable


class Entry(NamedTuple):
    """One entry of a layer: a node under its path, a further name (of the path `link`), or a whiteout (neither)."""

    path: bytes
    node: Node | None = None
    link: bytes = b""


def entries(tree: Tree, gone: Iterable[bytes] = ()) -> list[Entry]:
    """Return the entries that lay `tree` over a base and hide what is `gone` from it, sorted by path.

    Of paths that are hard links of each other the first in order holds the data, so that every reader finds it before
    the links. Nothing is hidden below a path that is no directory any more: the new thing hides it, and every engine
    refuses such a layer.
    """
    first: dict[int, bytes] = {}
    found = []
    for path in sorted(tree):
        node = tree[path]
        earlier = first.setdefault(id(node), path)
        found.append(Entry(path, node, earlier if earlier != path else b""))
    for path in gone:
        if path not in tree and all(is_directory(tree[above]) for above in ancestors(path) if above in tree):
            folder, slash, name = path.rpartition(b"/")
            found.append(Entry(folder + slash + WHITEOUT + name))
    return sorted(found, key=lambda entry: entry.path)
