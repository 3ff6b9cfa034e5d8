"""Is this process in the numeric groups that the GPU's device nodes belong to?"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Any

from validate import access
from validate.checks import device_nodes
from validate.outcome import fail, passed, skip

if TYPE_CHECKING:
    from schema.records import Outcome
    from validate.machine import Machine

SHAPE = device_nodes.SHAPE
NOT_HERE = device_nodes.NOT_HERE


def gather(machine: Machine, lock: dict[str, Any] | None) -> dict[str, Any]:
    """Look at the same nodes: numbers only, because names are the image's and groups the host's."""
    return device_nodes.gather(machine, lock)


def judge(facts: dict[str, Any], lock: dict[str, Any] | None) -> list[Outcome]:  # noqa: ARG001 - the interface
    """Fail only for a node that really refused: root, mode 0666 and access lists open without any group."""
    if reason := device_nodes.not_here(facts):
        return [skip("groups.not_here", reason)]
    nodes = {path: node for path, node in facts["nodes"].items() if node}
    if not nodes:
        return [skip("groups.no_nodes", "there is no device node to compare with: see device_nodes")]
    seen = {"process": facts["identity"], "nodes": {path: [n["gid"], n["mode"]] for path, n in nodes.items()}}
    needed = [device_nodes.KFD, *(gpu["render"] for gpu in facts["gpus"])]
    refused = [path for path in needed if facts["opens"].get(path) == errno.EACCES]
    if device_nodes.KFD not in facts["opens"]:
        raise ValueError(f"nobody tried to open {device_nodes.KFD}")
    if not refused:
        return [passed("groups.numeric", seen)]
    missing = sorted({nodes[path]["gid"] for path in refused if path in nodes})
    cause, reason, remedy = access.explain_refusal(refused[0], facts)
    return [fail(f"groups.{cause}", reason, seen=seen, expected={"groups": missing}, remedy=remedy)]
