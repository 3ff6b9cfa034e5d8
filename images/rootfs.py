"""Lay the files of a minimal system's .debs into one tar, so that `dpkg` can run in it.

Needs Python alone: no root, no apt, no dpkg on the host. Only files are laid out; whatever maintainer scripts do is
done later, by dpkg itself, inside the image.
"""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from images import canonical, deb
from images.entries import entries
from images.layers import Node, Tree, is_directory
from images.tar import BLOCK_DEVICE, CHARACTER, DIRECTORY, FIFO, HARD_LINK, SYMLINK, Member, Tar, scan, show
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pins.registry_documents import Descriptor

FIRST = "base-files"  # it brings /bin -> usr/bin and the like, through which later packages' paths go
MAX_SYMLINKS = 40  # as the kernel


def write_first_layer(
    debs: Iterable[tuple[str, Path]], target: Path, *, epoch: int, advance: Callable[[], None] = lambda: None
) -> Descriptor:
    """Write one tar with the files of all packages (`(name, path of the .deb)`), none younger than `epoch`.

    `advance` is called after each package.
    Raises KitError, naming the package, for anything that a package of a minimal system has no business to hold: paths
    or links out of the root, devices, hard links to nothing.
    """
    tree: Tree = {}
    ordered = sorted(debs, key=lambda item: item[0] != FIRST)  # the order is otherwise kept
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(dir=target.parent, prefix=".tmp-"))
        for name, path in ordered:
            try:
                lay(tree, stack.enter_context(deb.files(path, Path(folder))))
            except KitError as error:
                raise KitError(f"the package {name}: {error.message}", error.hint or deb.ODD) from error
            advance()
        with target.open("wb") as file:
            return canonical.write_layer(file.fileno(), entries(tree), epoch)


def lay(tree: Tree, tar: Tar) -> None:
    """Lay the files of one package over the tree, in place: directories once, links to directories followed."""
    for member in scan(tar):
        if member.kind in {CHARACTER, BLOCK_DEVICE, FIFO}:
            raise KitError(f"it brings a device or pipe: {show(member.name)}")
        if not member.name:
            continue
        path = through_links(tree, member.name)
        if member.kind == SYMLINK:
            _refuse_escape(path, member.link)
        there = tree.get(path)
        if member.kind == DIRECTORY and there is not None:
            if is_directory(there) or is_directory(tree.get(through_links(tree, path + b"/."))):
                continue
        elif is_directory(there):
            raise KitError(f"it would replace a directory: {show(path)}")
        tree[path] = _target(tree, member) if member.kind == HARD_LINK else Node(member, tar.fd)


def through_links(tree: Tree, name: bytes) -> bytes:
    """Return where a path really lies: symlinks among its directories (usr-merge: /lib -> usr/lib) are followed.

    A last component that is a link is the link itself; with `/.` after it, what it points to.
    """
    waiting = name.split(b"/")[::-1]
    found: list[bytes] = []
    links = 0
    while waiting:
        part = waiting.pop()
        if part in {b"", b"."}:
            continue
        if part == b"..":
            if not found:
                raise KitError(f"it has a path that leaves the root: {show(name)}")
            found.pop()
            continue
        found.append(part)
        node = tree.get(b"/".join(found))
        if node is None or not waiting:
            continue
        if node.member.kind == SYMLINK:
            links += 1
            if links > MAX_SYMLINKS:
                raise KitError(f"it has symlinks in a circle: {show(name)}")
            _refuse_escape(b"/".join(found), node.member.link)
            found.pop()
            if node.member.link.startswith(b"/"):
                found = []
            waiting += node.member.link.split(b"/")[::-1]
        elif node.member.kind != DIRECTORY:
            raise KitError(f"it has a file below a file: {show(name)}")
    return b"/".join(found)


def _refuse_escape(path: bytes, link: bytes) -> None:
    """Refuse a symlink that climbs above the root, wherever it might lead there."""
    depth = 0 if link.startswith(b"/") else path.count(b"/")
    for part in link.split(b"/"):
        depth += {b"": 0, b".": 0, b"..": -1}.get(part, 1)
        if depth < 0:
            raise KitError(f"it has a link that leaves the root: {show(path)} -> {show(link)}")


def _target(tree: Tree, member: Member) -> Node:
    node = tree.get(through_links(tree, member.link))
    if node is None or is_directory(node):
        raise KitError(f"it has a hard link to nothing: {show(member.name)}")
    return node
