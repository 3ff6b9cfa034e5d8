"""Read rocminfo's text into the runtime's version and a list of agents.

Processors come first and share the key `Name`, so agents are told apart by `Device Type`; deeper `Name` lines belong to
instruction sets. Unknown keys are passed over. The line that names the user is never kept.
"""

from __future__ import annotations

import re
from typing import Any

ANSI = re.compile(r"\x1b\[[0-9;]*m")
AGENT = re.compile(r"^Agent \d+\s*$")
KEY = re.compile(r"^  ([A-Za-z][^:]*):\s*(.*?)\s*$")  # two blanks: the agent's own level
FAILURES = (
    (re.compile(r"Unable to open /dev/kfd read-write: (.+)"), "/dev/kfd: {}"),
    (re.compile(r"ROCk module is NOT loaded"), "the kernel driver is not loaded"),
    (re.compile(r"ROCk module is NOT live"), "the kernel driver is loaded but not live"),
    (re.compile(r"Call returned (HSA_STATUS_\w+)"), "{}"),
    (re.compile(r"hsa_init Failed, (.+)"), "hsa_init failed: {}"),
)


def parse(text: str) -> dict[str, Any]:
    """Return `runtime` (version), `agents` (name, marketing, gpu, pci, compute_units, node) and `failure`, or None."""
    text = ANSI.sub("", text)
    agents: list[dict[str, str]] = []
    runtime = None
    for line in text.splitlines():
        if AGENT.match(line.strip()):
            agents.append({})
        elif line.startswith("Runtime Version:"):
            runtime = line.split(":", 1)[1].strip() or None
        found = KEY.match(line) if agents else None
        if found:
            agents[-1].setdefault(found[1].strip(), found[2])
    return {"runtime": runtime, "agents": [_agent(keys) for keys in agents], "failure": _failure(text)}


def _agent(keys: dict[str, str]) -> dict[str, Any]:
    number = _number(keys.get("BDFID", ""))
    is_gpu = keys.get("Device Type") == "GPU"
    return {
        "name": keys.get("Name", ""),
        "marketing": keys.get("Marketing Name", ""),
        "gpu": is_gpu,
        "pci": _pci(number, _number(keys.get("Domain", "")) or 0) if is_gpu and number is not None else None,
        "compute_units": _number(keys.get("Compute Unit", "")),
        "node": _number(keys.get("Node", "")),
    }


def _pci(bdfid: int, domain: int) -> str:
    return f"{domain:04x}:{(bdfid >> 8) & 0xFF:02x}:{(bdfid >> 3) & 0x1F:02x}.0"


def _number(text: str) -> int | None:
    found = re.match(r"\d{1,19}", text)
    return int(found[0]) if found else None


def _failure(text: str) -> str | None:
    for pattern, words in FAILURES:
        found = pattern.search(text)
        if found:
            return words.format(*(part.strip() for part in found.groups()))
    return None
