"""Keep what names a machine or a person out of a bundle: seal refuses, it never rewrites evidence.

What names *this* machine is looked up (host, user, home, addresses, serials). A record made elsewhere can only be
searched for what looks like an address, a GPU's identity or a home folder.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from schema.errors import KitError

#: Names that say nothing about who or where.
COMMON = frozenset({
    "admin", "administrator", "container", "daemon", "debian", "default", "docker", "fedora", "guest", "home",
    "host", "jenkins", "linux", "local", "localhost", "localdomain", "machine", "nobody", "nogroup", "none",
    "node", "root", "runner", "server", "system", "ubuntu", "user", "users", "work", "worker",
})  # fmt: skip
#: What it is, a literal that it holds (a whole run is 100 MB: a plain search comes first), and its shape.
SHAPES = (
    (
        "an address of a network card",
        b":",
        re.compile(rb":(?<=[0-9A-Fa-f]{2}:)(?<![0-9A-Fa-f:]..:)[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){4}(?![0-9A-Fa-f:])"),
    ),
    (
        "the identity of a GPU",
        b"GPU-",
        re.compile(rb"GPU-[0-9a-f]{8}(?:-?[0-9a-f]{4}){2}(?:-[0-9a-f]{4}-[0-9a-f]{12})?"),
    ),
    ("a home folder", b"/home/", re.compile(rb"/home/(?!user/|ubuntu/)[A-Za-z0-9._-]+")),
    ("a home folder", b"/Users/", re.compile(rb"/Users/[A-Za-z0-9._-]+")),
)
NEWLINE = b"\n"
_SERIALS = (
    "etc/machine-id",
    "sys/class/dmi/id/product_serial",
    "sys/class/dmi/id/product_uuid",
    "sys/class/dmi/id/board_serial",
    "sys/class/dmi/id/chassis_serial",
    "sys/class/net/*/address",
    "sys/class/drm/card*/device/unique_id",
    "sys/class/drm/card*/device/serial_number",
)


def names(root: Path = Path("/")) -> dict[bytes, str]:
    """Return what names this machine or its user, with what it is. Unreadable and meaningless values are left out."""
    found: dict[str, str] = {}
    host = _read(root / "etc/hostname") or os.uname().nodename
    for name in {host, host.split(".", maxsplit=1)[0]}:
        if _telling(name):
            found[name] = "this machine's name"
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 - Path.home() raises where there is no home
    for name in {os.environ.get("USER", ""), os.environ.get("LOGNAME", ""), home.name}:
        if _telling(name):
            found[name] = "this user's name"
    if len(home.parts) > 2:
        found[str(home)] = "this user's home folder"
    for pattern in _SERIALS:
        for path in root.glob(pattern):
            value = _read(path)
            if len(value) >= 8 and len(set(value) - set(":-0")) > 2:
                found[value] = "a serial number or address of this machine"
    return {name.encode("utf-8", "replace"): kind for name, kind in found.items()}


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _telling(name: str) -> bool:
    return len(name) >= 4 and name.lower() not in COMMON


def refuse(files: dict[str, bytes], named: dict[bytes, str], public: bytes = b"") -> None:
    """Raise KitError, saying where, when a file holds one of the names or something of their shape.

    A name that stands in `public` as a word (in the lock: a host called `python3`) says nothing about the machine.
    """
    searches = [
        (kind, name, pattern) for name, kind in named.items() if not (pattern := _word(name)).search(public.lower())
    ]
    for path, data in files.items():
        folded = data.lower() if searches else b""
        found = next(
            (hit for kind, name, pattern in searches if (hit := _hit(kind, name.lower(), pattern, folded))), None
        )
        found = found or next((hit for shape in SHAPES if (hit := _hit(*shape, data))), None)
        if found:
            kind, place = found
            raise KitError(
                f"{path}, line {data.count(NEWLINE, 0, place) + 1}, holds {kind}: it does not belong into a bundle",
                "keep it out of what is measured (run from another folder, unset the variable), and measure again",
            )


def _hit(kind: str, literal: bytes, pattern: re.Pattern[bytes], data: bytes) -> tuple[str, int] | None:
    found = pattern.search(data, max(0, first - 2)) if (first := data.find(literal)) >= 0 else None
    return (kind, found.start()) if found else None


def _word(name: bytes) -> re.Pattern[bytes]:
    return re.compile(rb"(?<![a-z0-9])" + re.escape(name.lower()) + rb"(?![a-z0-9])")
