"""What an image keeps, and in which form: the table of everything that would differ from one build to the next."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from images.tar import DIRECTORY, FILE, show
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Callable

    from images.layers import Node, Tree

#: Directories that stay, empty.
EMPTIED = (b"tmp/", b"run/", b"var/tmp/")

#: Directories below which folders stay and files go: logs with times, caches that are made again when needed.
WITHOUT_FILES = (
    b"var/log/",
    b"var/cache/apt/",
    b"var/cache/debconf/",
    b"var/cache/fontconfig/",
    b"var/cache/ldconfig/",
    b"var/cache/man/",
    b"var/lib/apt/lists/",
)

#: Files that tools keep for themselves, and files that an engine puts in for its network.
DROPPED = frozenset(
    {
        b".dockerenv",
        b"etc/.pwd.lock",
        b"etc/group-",
        b"etc/gshadow-",
        b"etc/hostname",
        b"etc/hosts",
        b"etc/passwd-",
        b"etc/resolv.conf",
        b"etc/shadow-",
        b"etc/subgid-",
        b"etc/subuid-",
        b"var/lib/dpkg/available-old",
        b"var/lib/dpkg/diversions-old",
        b"var/lib/dpkg/lock",
        b"var/lib/dpkg/lock-frontend",
        b"var/lib/dpkg/statoverride-old",
        b"var/lib/dpkg/status-old",
        b"var/lib/dpkg/triggers/Lock",
        b"var/lib/systemd/random-seed",
    }
)

DAY_S = 86400
MAX_REWRITTEN_BYTES = 1 << 20  # the files that are rewritten are small; a large one is not what it says


def normalised(tree: Tree, epoch: int) -> Tree:
    """Return the tree as an image keeps it; `epoch` is in seconds. Nodes that stay as they are stay the same object."""
    kept: Tree = {}
    for path, node in tree.items():
        if path and not dropped(path, node):
            rewrite = REWRITTEN.get(path)
            kept[path] = _rewritten(node, rewrite, path, epoch) if rewrite and node.member.kind == FILE else node
    return kept


def dropped(path: bytes, node: Node) -> bool:
    """Say whether the table above leaves this path out."""
    return left_out(path) and not (path.startswith(WITHOUT_FILES) and node.member.kind == DIRECTORY)


def left_out(path: bytes) -> bool:
    """Say whether it leaves out whatever file is at this path."""
    return path in DROPPED or path.startswith((*EMPTIED, *WITHOUT_FILES))


def _rewritten(node: Node, rewrite: Callable[[bytes, int], bytes], path: bytes, epoch: int) -> Node:
    if node.member.size > MAX_REWRITTEN_BYTES:
        raise KitError(f"/{show(path)} is not what its name says: {node.member.size} bytes")
    content = rewrite(read(node), epoch)
    return node._replace(member=node.member._replace(size=len(content)), content=content)


def read(node: Node) -> bytes:
    """Return the whole content of a file; for small ones."""
    return node.content if node.content is not None else os.pread(node.fd, node.member.size, node.member.offset)


def _emptied(content: bytes, epoch: int) -> bytes:
    """Return the machine's id for an image: none yet, the first start makes one."""
    del content, epoch
    return b""


def _not_after(content: bytes, epoch: int) -> bytes:
    """Return /etc/shadow with no password changed after the epoch; the third field counts days since 1970."""
    lines = []
    for line in content.split(b"\n"):
        fields = line.split(b":")
        if len(fields) > 2 and fields[2].isdigit():
            fields[2] = b"%d" % min(int(fields[2][:9]), epoch // DAY_S)
        lines.append(b":".join(fields))
    return b"\n".join(lines)


REWRITTEN: dict[bytes, Callable[[bytes, int], bytes]] = {
    b"etc/machine-id": _emptied,
    b"etc/shadow": _not_after,
    b"var/lib/dbus/machine-id": _emptied,
}
