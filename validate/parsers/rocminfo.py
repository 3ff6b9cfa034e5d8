"""Read rocminfo's text: the runtime's version, its agents, and why it stopped.

Processors come first and share the key `Name`, so agents are told apart by `Device Type`; deeper `Name` lines belong to
instruction sets. Unknown keys are kept. The line that names the user is never kept.
"""

from __future__ import annotations

import re
from typing import Any

from validate.parsers.indented import Node, tree
from validate.parsers.reading import Reading
from validate.parsers.values import MEGA, absent, gfx, known, lines, plain, quantity, whole, words

FIRST = "Runtime Version"  # of the system's attributes; what stands before are messages
AGENT = re.compile(r"Agent \d{1,6}")
UUID = re.compile(r"GPU-[0-9a-f]{16}")
FAILURES = (
    (re.compile(r"Unable to open /dev/kfd read-write: ([^\n]{1,200})"), "/dev/kfd: {}"),
    (re.compile(r"ROCk module is NOT loaded"), "the kernel driver is not loaded"),
    (re.compile(r"ROCk module is NOT live"), "the kernel driver is loaded but not live"),
    (re.compile(r"Call returned (HSA_STATUS_\w{1,80})"), "{}"),
    (re.compile(r"hsa_init Failed, ([^\n]{1,200})"), "hsa_init failed: {}"),
    (re.compile(r"ROCR: unsupported GPU"), "the runtime does not support this GPU"),
)
CAUSES = {
    "permission denied": "EACCES",
    "operation not permitted": "EPERM",
    "no such file or directory": "ENOENT",
    "cannot allocate memory": "ENOMEM",
    "invalid argument": "EINVAL",
    "no such device": "ENODEV",
    "no such device or address": "ENXIO",
    "device or resource busy": "EBUSY",
}
DRIVER = re.compile(r"ROCk module version (\S{1,60}) is loaded")
WITHOUT_TYPE = ("Wavefront Size", "Packet Processor uCode", "Memory Properties", "ISA Info")  # only GPUs have these


def parse(text: str) -> dict[str, Any]:
    """Return `runtime` (version), `agents` (name, marketing, gpu, pci, compute_units, node) and `failure`, or None."""
    text = plain(text)
    system, agents = _split(text)
    return {
        "runtime": words(system.get("Runtime Version")),
        "agents": [_agent(keys) for keys in agents],
        "failure": _failure(text),
    }


def read(text: str) -> Reading:
    """Return the GPUs (memory in bytes, clocks in Hz), versions of runtime and driver; `facts` tell what went wrong."""
    reading, text = Reading(), plain(text)
    if "printf(" in text:
        reading.form = "source text"
        reading.warn("this is source text of rocminfo, no output of it")
        return reading
    system, agents = _split(text)
    failure, driver = _failure(text), DRIVER.search(text)
    reading.form = "agents" if agents else "system" if system else "failure" if failure or "ROCk module" in text else ""
    reading.devices = [_device(keys) for keys in agents if _is_gpu(keys)]
    if any("Device Type" not in keys for keys in agents):
        reading.warn("an agent does not tell its device type: the text is cut off")
    reading.versions = known({
        "hsa_runtime": words(system.get("Runtime Version")),
        "hsa_runtime_extension": words(system.get("Runtime Ext Version")),
        "driver": driver[1] if driver else None,
    })  # fmt: skip
    xnack = words(system.get("XNACK enabled"))
    reading.facts = known({
        "processors": sum(keys.get("Device Type") == "CPU" for keys in agents) if agents else None,
        "failure": failure,
        "cause": _cause(failure),
        "wsl": True if "WSL environment detected" in text else None,
        "xnack": xnack == "YES" if xnack else None,
        "system": system or None,
    })  # fmt: skip
    if agents and not reading.devices:
        reading.warn("no agent is a GPU")
    return reading


def _split(text: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the system's attributes and each agent's keys. A text that was cut may begin, or go on, in an agent."""
    system: dict[str, Any] = {}
    agents: list[list[Node]] = []
    for node in _nodes(text):
        if AGENT.fullmatch(node.key):
            agents.append([])
        elif node.indent == 0 and node.value and not agents and (system or node.key == FIRST):
            system.setdefault(node.key, node.value)
        for line in node.children if AGENT.fullmatch(node.key) else [node] if node.indent else ():
            if not agents or (line.key == "Name" and agents[-1]):  # an agent's first key
                agents.append([])
            agents[-1].append(line)
    kept = [[node for node in nodes if node.value or node.children or node.key.endswith("Info")] for nodes in agents]
    return system, [_keys(nodes) for nodes in kept if nodes]


def _nodes(text: str) -> list[Node]:
    """Return the lines as a tree; rules (`====`, `****`) and headings hold nothing."""
    useful = [line.replace("\\", "") for line in lines(text)]
    return tree(line for line in useful if line.strip("=* \t") and (":" in line or line.startswith((" ", "Agent "))))


def _keys(nodes: list[Node]) -> dict[str, Any]:
    keys: dict[str, Any] = {}
    for node in nodes:
        if node.key in {"Pool Info", "ISA Info"}:
            value: Any = [child.entries() for child in node.children]
        else:
            value = node.entries() if node.children else node.value
        keys.setdefault(node.key, value)
    return keys


def _is_gpu(keys: dict[str, Any]) -> bool:
    if "Device Type" in keys:
        return bool(keys["Device Type"] == "GPU")
    return gfx(keys.get("Name")) is not None or any(keys.get(name) for name in WITHOUT_TYPE)


def _agent(keys: dict[str, Any]) -> dict[str, Any]:
    number, is_gpu = whole(keys.get("BDFID")), _is_gpu(keys)
    return {
        "name": words(keys.get("Name")) or "",
        "marketing": words(keys.get("Marketing Name")) or "",
        "gpu": is_gpu,
        "pci": _pci(number, whole(keys.get("Domain")) or 0) if is_gpu and number is not None else None,
        "compute_units": whole(keys.get("Compute Unit")),
        "node": whole(keys.get("Node")),
    }


def _device(keys: dict[str, Any]) -> dict[str, Any]:
    agent, uuid = _agent(keys), words(keys.get("Uuid")) or ""
    isas = [isa.get("Name") for isa in keys.get("ISA Info") or [] if isinstance(isa, dict)]
    clock = whole(keys.get("Max Clock Freq. (MHz)"))
    return known({
        "pci": agent["pci"],
        "gfx": gfx(agent["name"]) or next((gfx(isa) for isa in isas if gfx(isa)), None),
        "name": agent["marketing"] or None,
        "node": agent["node"] if agent["node"] is not None else whole(keys.get("Internal Node ID")),
        "compute_units": agent["compute_units"],
        "device_id": _chip(keys.get("Chip ID")),
        "unique_id": uuid if UUID.fullmatch(uuid) and uuid[4:].strip("f") else None,  # all f on WSL: no identity
        "memory_bytes": _memory(keys.get("Pool Info")),
        "memory_is_shared": True if "APU" in str(keys.get("Memory Properties", "")) else None,
        "clock_max_hz": None if clock is None else float(clock * MEGA),
        "isas": [isa.rsplit("--", 1)[-1] for isa in isas if isinstance(isa, str)] or None,
        "raw": keys,
    })  # fmt: skip


def _memory(pools: Any) -> float | None:
    """Return the size of the GPU's own memory: every global pool has all of it. Printed as KB, counted in KiB."""
    found = [
        quantity(f"{whole(pool.get('Size'))} KB")
        for pool in pools or []
        if isinstance(pool, dict) and str(pool.get("Segment", "")).startswith("GLOBAL")
    ]
    return max((size for size in found if size is not None), default=None)


def _chip(text: Any) -> str | None:
    number = whole(text)
    return None if number is None or absent(text) else f"0x{number:04x}"


def _pci(bdfid: int, domain: int) -> str:
    return f"{domain & 0xFFFFFFFF:04x}:{(bdfid >> 8) & 0xFF:02x}:{(bdfid >> 3) & 0x1F:02x}.0"


def _failure(text: str) -> str | None:
    for pattern, sentence in FAILURES:
        found = pattern.search(text)
        if found:
            return sentence.format(*(part.strip() for part in found.groups()))
    return None


def _cause(failure: str | None) -> str | None:
    """Return the errno that opening /dev/kfd gave, in the C library's English words."""
    return CAUSES.get(failure[len("/dev/kfd: ") :].lower()) if failure and failure.startswith("/dev/kfd: ") else None
