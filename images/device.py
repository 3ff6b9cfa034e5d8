"""What a person says of the machine's share in a run: options, each held to what it may be before anything starts."""

from __future__ import annotations

import re
from typing import NamedTuple

from schema.errors import KitError

UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
SIZE = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,18})?)\s*([kmgt]?)(?:i?b)?", re.IGNORECASE)
LARGEST_ID = (1 << 32) - 2


class Device(NamedTuple):
    """Which part of the machine a run gets.

    Options:
        gpus: numbers or PCI addresses as doctor shows them, or CDI names, with commas; default: all
        memory: the most memory, e.g. 64g; default: nine tenths of what the engine's machine has
        shm: the size of /dev/shm, e.g. 8g; default: a quarter of the memory, 16g at most
        user: who runs inside, as numbers, UID or UID:GID; default: one that the image does not know
    """

    gpus: str = ""
    memory: str = ""
    shm: str = ""
    user: str = ""


def size(text: str, option: str) -> int:
    """Return bytes of a size as engines take it: 1g is 1024 to the power of 3."""
    match = SIZE.fullmatch(text.strip())
    found = int(float(match[1]) * UNITS[match[2].lower()]) if match else 0
    if not found:
        raise KitError(f"--{option} {text!r} is no size", f"write it like --{option} 64g (k, m, g or t)")
    return found


def gpu_items(text: str) -> list[str]:
    """Return the items of --gpus; `all`, or nothing, is none."""
    items = [item.strip() for item in text.split(",")]
    if items in ([""], ["all"]):
        return []
    if not all(items):
        raise KitError(f"--gpus {text!r} has an empty item", "list them like --gpus 0,2")
    return items


def identity(text: str) -> str:
    """Return UID:GID; a UID alone is the number of its group, too, and not root's group as engines take it."""
    match = re.fullmatch(r"([0-9]{1,18})(?::([0-9]{1,18}))?", text)
    if not match or any(int(number or 0) > LARGEST_ID for number in match.groups()):
        hint = "give numbers, e.g. --user 1000:1000: a name is looked up inside the image"
        raise KitError(f"--user {text!r} is no UID and GID", hint)
    return f"{match[1]}:{match[2] or match[1]}"
