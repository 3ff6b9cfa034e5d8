"""List a root file system before and after, and write what changed as one layer: a plain tar with whiteouts.

The base's files are looked at (`lstat`), never read: the cost is that of their number, not of their bytes.
"""

from __future__ import annotations

import os
import re
import stat
import tarfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    State = tuple[int, ...]  # what `lstat` says, as far as it counts

#: What engines mount for a container; below /dev, /proc and /sys nothing belongs to an image.
OWN = re.compile(
    rb"/(dev|proc|sys)(/.*)?|/etc/(hostname|hosts|mtab|resolv\.conf)|/(var/)?run/(\.containerenv|secrets(/.*)?)"
)
CAPABILITY = "security.capability"  # the one extended attribute that every engine keeps


def mounts(text: str, root: str = "/") -> set[bytes]:
    """Return where other file systems are mounted, from the text of /proc/self/mountinfo: they are no part of it."""
    points = [line.split(" ")[4] for line in text.splitlines() if line.count(" ") > 4]
    found = {re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), point) for point in points}
    return {os.fsencode(point) for point in found if point != root}


def refuse_foreign(points: set[bytes]) -> None:
    """SystemExit where something is mounted that is not the engine's own: what is written there is in no layer."""
    if foreign := sorted(os.fsdecode(point) for point in points if not OWN.fullmatch(point) and os.path.isdir(point)):  # noqa: PTH112 -- a path of bytes
        raise SystemExit(f"mounted in the container, so that what is written there is in no image: {' '.join(foreign)}")


def take(root: bytes, skip: set[bytes]) -> dict[bytes, State]:
    """Return the state of every path below `root`, without those in `skip` and what is below them.

    The change time tells every write to a file and cannot be set. That of a directory tells what its entries tell, and
    differs between storage drivers: of directories mode and owner count.
    """
    found: dict[bytes, State] = {}
    waiting = [root]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.path in skip:
                    continue
                status = entry.stat(follow_symlinks=False)
                state: State = (status.st_mode, status.st_uid, status.st_gid)
                if stat.S_ISDIR(status.st_mode):
                    waiting.append(entry.path)
                else:
                    state += (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_rdev)
                found[entry.path] = state
    return found


def write(layer: str, root: bytes, before: dict[bytes, State], after: dict[bytes, State]) -> None:
    """Write the layer that makes `after` out of `before` to the file `layer`, without sockets, which no image has.

    Paths that are hard links of each other follow the first of them in order.
    """
    first: dict[tuple[int, int], str] = {}
    with tarfile.open(layer, "w", format=tarfile.PAX_FORMAT, encoding="utf-8", errors="surrogateescape") as tar:
        for path in gone(before, after):
            folder, _, name = path.rpartition(b"/")
            tar.addfile(tarfile.TarInfo(_name(folder + b"/.wh." + name, root)))
        for path in sorted(path for path, state in after.items() if before.get(path) != state):
            status = os.lstat(path)
            if stat.S_ISSOCK(status.st_mode):
                continue
            entry = _entry(path, root, status)
            if entry.isreg():
                earlier = first.setdefault((status.st_dev, status.st_ino), entry.name)
                if earlier != entry.name:
                    entry.type, entry.linkname, entry.size = tarfile.LNKTYPE, earlier, 0
            if entry.isreg():
                with open(path, "rb") as file:  # noqa: PTH123 -- a path of bytes
                    tar.addfile(entry, file)
            else:
                tar.addfile(entry)


def gone(before: dict[bytes, State], after: dict[bytes, State]) -> list[bytes]:
    """Return the topmost paths that are there no more; what lay below a directory that became a file goes with it."""
    found = []
    for path in sorted(before.keys() - after.keys()):
        folder = path.rpartition(b"/")[0]
        if folder not in before or (folder in after and stat.S_ISDIR(after[folder][0])):
            found.append(path)
    return found


def _entry(path: bytes, root: bytes, status: os.stat_result) -> tarfile.TarInfo:
    mode = status.st_mode
    entry = tarfile.TarInfo(_name(path, root))
    entry.mode, entry.uid, entry.gid = stat.S_IMODE(mode), status.st_uid, status.st_gid
    entry.mtime = status.st_mtime_ns // 10**9
    if stat.S_ISREG(mode):
        entry.size = status.st_size
        if CAPABILITY in _attributes(path):
            value = os.getxattr(path, CAPABILITY, follow_symlinks=False)
            entry.pax_headers = {f"SCHILY.xattr.{CAPABILITY}": value.decode("utf-8", "surrogateescape")}
    elif stat.S_ISLNK(mode):
        entry.type, entry.linkname = tarfile.SYMTYPE, os.fsdecode(os.readlink(path))  # noqa: PTH115 -- a path of bytes
    elif stat.S_ISDIR(mode):
        entry.type = tarfile.DIRTYPE
    elif stat.S_ISFIFO(mode):
        entry.type = tarfile.FIFOTYPE
    else:
        entry.type = tarfile.CHRTYPE if stat.S_ISCHR(mode) else tarfile.BLKTYPE
        entry.devmajor, entry.devminor = os.major(status.st_rdev), os.minor(status.st_rdev)
    return entry


def _attributes(path: bytes) -> list[str]:
    try:
        return os.listxattr(path, follow_symlinks=False)
    except OSError:  # a file system without any
        return []


def _name(path: bytes, root: bytes) -> str:
    return path[len(root.rstrip(b"/")) + 1 :].decode("utf-8", "surrogateescape")
