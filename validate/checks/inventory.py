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
#: Kind of package -> what is said where the image's own tool gives no list of it, and what it is called.
ABSENT = {"deb": ("dpkg-query", "Debian packages"), "rpm": ("rpm", "RPM packages")}
REMEDY = "the image is not the lock's: `./kit build --force`, then `./kit validate`"


def gather(machine: Machine, lock: dict[str, Any] | None) -> dict[str, Any]:  # noqa: ARG001 - the interface
    """List what is installed. On a host only Python's packages: the rest is not ours to publish."""
    inside = context.load(machine)["runtime"] == "container"
    return {
        "runtime": context.load(machine)["runtime"],
        "debs": packages.debs(machine) if inside else None,
        "rpms": packages.rpms(machine) if inside else None,
        "wheels": packages.wheels(machine),
    }


def judge(facts: dict[str, Any], lock: dict[str, Any] | None) -> list[Outcome]:
    """Judge both ways where the lock knows every package; with a base image, what the lock adds to it.

    The lock of an adopted image has the inventory that was read when it was adopted.
    """
    if not lock:
        return [skip("inventory.no_lock", "there is no lock to compare with")]
    if facts["runtime"] != "container":
        return [
            skip("inventory.host", "the packages of a host are not the lock's; only the image's are held against it")
        ]
    seen = lock.get("inventory", {})
    wanted = {
        "deb": {**seen.get("deb", {}), **{item["name"]: item["version"] for item in lock["debs"]}},
        "rpm": seen.get("rpm", {}),
        "wheel": {
            **seen.get("wheel", {}),
            **{packages.normalise(item["name"]): item["version"] for item in lock["wheels"]},
        },
    }
    complete = lock["base"] is None or "inventory" in lock
    others = "of_the_base_image" if lock["base"] else "of_debian_packages"
    found = []
    for kind, installed in (("deb", facts["debs"]), ("rpm", facts.get("rpms"))):
        if installed is not None:
            judged = set(installed) if complete else set()
            found += _compare(kind, installed, wanted[kind], judged, others)
        elif wanted[kind]:
            tool, what = ABSENT[kind]
            found.append(fail(f"inventory.{kind}", f"the lock has {what}, and {tool} gives no list", remedy=REMEDY))
        elif kind == "deb":
            found.append(skip("inventory.deb", "there is no dpkg here, and the lock has no Debian packages"))
    installed = {item["name"]: item["version"] for item in facts["wheels"]}
    # Debian's own Python packages are in its packages; pip installs itself into environments: a lock names it
    judged = {item["name"] for item in facts["wheels"] if "inventory" in lock or not item["debian"]}
    return found + _compare("wheel", installed, wanted["wheel"], judged if complete else set(), others)


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
