"""Is a variable set that changes, falsifies or hides results, or that nothing reads?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from validate import amd, backends, context, override, variables
from validate import rules as rules_of
from validate.outcome import fail, passed, warn

if TYPE_CHECKING:
    from schema.records import Outcome
    from validate.machine import Machine

ALLOCATORS = ("PYTORCH_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF")
MOST = 400  # looking for the nearest name takes milliseconds each
LEVELS = {"error": fail, "warn": warn}
SHAPE = {"runtime": str, "variables": dict, "gfx": list, "arch_list": list}


def gather(machine: Machine, lock: dict[str, Any] | None) -> dict[str, Any]:  # noqa: ARG001 - the interface
    """Take the variables of this process, redacted, and the GPUs that an override would lie about."""
    found = backends.torch_facts(machine)
    return {
        "backend": backends.detect(machine),
        "runtime": context.load(machine)["runtime"],
        "variables": variables.record(machine.env),
        "gfx": sorted({gpu["gfx"] for gpu in amd.nodes(machine) if gpu["gfx"]}),
        "arch_list": found.get("torch", {}).get("arch_list") or [],
    }


def judge(facts: dict[str, Any], lock: dict[str, Any] | None) -> list[Outcome]:
    """Judge each variable by the dated table; a value that the lock declares is the image's own and only recorded."""
    given = {name: value for name, value in facts["variables"].items() if isinstance(value, str)}
    if len(given) > MOST:
        raise ValueError(f"{len(given)} variables: no process of ours has so many")
    declared = (lock or {}).get("environment", {})
    found: list[Outcome] = []
    for name, value in sorted(given.items()):
        found += _judge_variable(name, value, given, facts, declared)
    values = {given[name] for name in ALLOCATORS if name in given}
    if len(values) > 1:
        set_here = [name for name in ALLOCATORS if name in given]
        found.append(
            fail(
                "environment.contradiction",
                "one allocator is configured under several names with different values",
                seen={name: given[name] for name in set_here},
                remedy=f"unset {' '.join(set_here[1:])}",
            )
        )
    for name, value in sorted(declared.items()):
        if given.get(name, value) != value:
            reason = f"{name} is {given[name]!r}, the lock sets {value!r}"
            found.append(warn("environment.differs", reason, seen=given[name], expected=value, remedy=f"unset {name}"))
    return found or [passed("environment.clean", {"recorded": sorted(given)})]


def _judge_variable(
    name: str, value: str, given: dict[str, str], facts: dict[str, Any], declared: dict[str, str]
) -> list[Outcome]:
    if override.NAME.match(name):
        return [override.judge(name, value, facts["gfx"], facts["arch_list"])]
    if name in variables.not_real():
        entry = variables.not_real()[name]
        reason = f"nothing reads {name}: {entry['finding']}"
        return [
            warn(
                "environment.not_real",
                reason,
                seen={name: value},
                remedy=f"unset {name}   # instead: {entry['instead']}",
            )
        ]
    entry = variables.known().get(name)
    if entry is None:
        return _judge_unknown(name, value)
    level = level_of(value, entry, given, facts)
    if level not in LEVELS or (declared.get(name) == value and entry["class"] not in {"serialise", "log"}):
        return []
    return [
        LEVELS[level](
            f"environment.{entry['class']}",
            f"{name}={value}: {entry['what']}. {entry['lint']}",
            seen={name: value},
            remedy=f"unset {name}",
        )
    ]


def _judge_unknown(name: str, value: str) -> list[Outcome]:
    """A name with a GPU stack's prefix that no table has: most often a slip, and silent."""
    if name in variables.HARMLESS or name in variables.ALSO or not name.startswith(variables.PREFIXES):
        return []
    near = variables.nearest(name)
    if near:
        reason = f"nothing that we know reads {name}; perhaps {near} is meant"
        return [
            warn(
                "environment.unknown", reason, seen={name: value}, remedy=f"unset {name}   # perhaps: export {near}=..."
            )
        ]
    if name.startswith(("TORCH", "PYTORCH_", "NCCL_", "RCCL_")):  # hundreds exist that only log or find files
        return []
    reason = f"nothing that we know reads {name} (table of {len(variables.known())} variables)"
    return [warn("environment.unknown", reason, seen={name: value}, remedy=f"unset {name}")]


def level_of(value: str, entry: dict[str, Any], given: dict[str, str], facts: dict[str, Any]) -> str:
    """Return error, warn or info for a variable that is set to `value`: the first rule that holds."""
    # a folder in memory that the kit lends: the cache is cold by construction
    if entry["class"] == "cache" and facts["runtime"] == "container" and value.startswith(variables.FRESH):
        return "info"
    rules = (rule for rule in entry["rules"] if rules_of.holds(rule["when"], value, given, facts))
    return next((str(rule["level"]) for rule in rules), "info")
