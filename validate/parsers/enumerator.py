"""Read rocm_agent_enumerator: a target a line."""

from __future__ import annotations

import re

from validate.parsers.reading import Reading
from validate.parsers.values import lines

TARGET = re.compile(r"gfx[0-9a-f]{3,6}")
PROCESSOR = "gfx000"


def read(text: str) -> Reading:
    """Return the GPUs in the tool's order; `gfx000` is a processor."""
    targets = [line.strip() for line in lines(text) if TARGET.fullmatch(line.strip())]
    devices = [{"gfx": target, "raw": {}} for target in targets if target != PROCESSOR]
    facts = {"processors": targets.count(PROCESSOR)} if targets else {}
    return Reading(form="targets" if targets else "", devices=devices, facts=facts)
