"""Read lsmod."""

from __future__ import annotations

import re

from validate.parsers.reading import Reading
from validate.parsers.values import lines

MODULE = re.compile(r"([\w-]{1,80})\s{1,80}(\d{1,12})\s{1,20}(-?\d{1,8})(?:\s{1,8}([\w,-]{0,3000}))?\s{0,80}")
OURS = ("amdgpu", "amdkfd", "nvidia")


def read(text: str) -> Reading:
    """Return `facts["modules"]`: size in bytes, number of users, and which modules use it; and the GPU's drivers."""
    modules = {}
    for line in lines(text):
        match = MODULE.fullmatch(line)
        if match:
            users = [name for name in (match[4] or "").split(",") if name]
            modules[match[1]] = {"size_bytes": int(match[2]), "users": int(match[3]), "used_by": users}
    headed = text.lstrip()[:6] == "Module"
    facts = {"modules": modules, "drivers": [name for name in OURS if name in modules]} if modules else {}
    return Reading(form="lsmod" if modules or headed else "", facts=facts)
