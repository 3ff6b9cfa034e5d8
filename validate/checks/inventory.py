"""Are the installed packages those of the lock, no fewer and no others?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from validate import context, packages
from validate.outcome import fail, passed, skip

if TYPE_CHECKING:
    from schema.records import Outcome
    from validate.machine import Machine

SHOWN = 12
SHAPE = {"runtime": str, "debs": (dict, type(None)), "wheels": list}
REMEDY = "the image is not the lock's: `./kit build --force`, then `./kit validate`"


def gather(machine: Machine, lock: dict[str, Any] | None) -> dict[str, Any]:  # noqa: ARG001 - the interface
    """List what is installed. On a host only Python's packages: the rest is not ours to publish."""
    runtime = context.load(machine)["runtime"]
    return {
        "runtime": runtime,
        "debs": packages.debs(machine) if runtime == "container" else None,
        "wheels": packages.wheels(machine),
    }


def judge(facts: dict[str, Any], lock: dict[str, Any] | None) -> list[Outcome]:
    """Judge both ways where the lock holds every byte; with a base image, what the lock adds to it."""
    if not lock:
        return [skip("inventory.no_lock", "there is no lock to compare with")]
    if facts["runtime"] != "container":
        return [
            skip("inventory.host", "the packages of a host are not the lock's; only the image's are held against it")
        ]
    debs = {item["name"]: item["version"] for item in lock["debs"]}
    wheels = {packages.normalise(item["name"]): item["version"] for item in lock["wheels"]}
    installed = {item["name"]: item["version"] for item in facts["wheels"]}
    ours = {item["name"] for item in facts["wheels"] if not item["debian"]}
    complete = lock["base"] is None
    found, others = [], "of_debian_packages" if complete else "of_the_base_image"
    if facts["debs"] is not None:
        found += _compare("deb", facts["debs"], debs, set(facts["debs"]) if complete else set(), others)
    elif debs:
        found.append(fail("inventory.deb", "the lock has Debian packages, and dpkg-query gives no list", remedy=REMEDY))
    else:
        found.append(skip("inventory.deb", "there is no dpkg here, and the lock has no Debian packages"))
    # pip installs itself into environments; a lock names it when the image has it
    found += _compare("wheel", installed, wheels, ours if complete else set(), others)
    return found


def _compare(
    kind: str, installed: dict[str, str], wanted: dict[str, str], judged: set[str], others: str
) -> list[Outcome]:
    """Compare one kind; `judged` are the installed names that the lock must know, `others` says whose the rest are."""
    missing = sorted(name for name in wanted if name not in installed)
    other = sorted(f"{name} {installed[name]}" for name in wanted if installed.get(name, wanted[name]) != wanted[name])
    extra = sorted(judged - set(wanted))
    if not (missing or other or extra):
        rest = len(installed.keys() - judged - wanted.keys())
        seen = {"installed": len(installed), "locked": len(wanted), **({others: rest} if rest else {})}
        return [passed(f"inventory.{kind}", seen)]
    words = {"missing": missing, "of another version": other, "not in the lock": extra}
    reason = "; ".join(f"{len(names)} {what}: {_some(names)}" for what, names in words.items() if names)
    differs = {"missing": missing[:SHOWN], "other_version": other[:SHOWN], "extra": extra[:SHOWN]}
    return [fail(f"inventory.{kind}", reason, seen=differs, expected={"locked": len(wanted)}, remedy=REMEDY)]


def _some(names: list[str]) -> str:
    return ", ".join(names[:SHOWN]) + (" ..." if len(names) > SHOWN else "")
