"""Which packages are installed: Debian's by dpkg, Red Hat's by rpm, Python's by their metadata."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from validate.machine import Machine

QUERY = ["dpkg-query", "-W", "-f=${db:Status-Abbrev}\t${Package}\t${Version}\t${Architecture}\n"]
RPM_QUERY = ["rpm", "-qa", "--qf", "%{NAME}\t%{EPOCHNUM}:%{VERSION}-%{RELEASE}\n"]
OWNED_BY_DPKG = re.compile(r"^/usr/lib/python3(\.\d+)?(/dist-packages)?/?$")  # Debian's own Python packages lie there


def debs(machine: Machine) -> dict[str, str] | None:
    """Return name -> version of the installed Debian packages; None where there is no dpkg."""
    return machine.once("debs", lambda: _debs(machine))  # type: ignore[no-any-return]


def _debs(machine: Machine) -> dict[str, str] | None:
    ran = machine.run(QUERY, 60)
    if not ran.ok:
        return None
    rows = [line.split("\t") for line in ran.stdout.splitlines()]
    return {row[1]: row[2] for row in rows if len(row) == 4 and row[0].startswith("ii")}


def rpms(machine: Machine) -> dict[str, str] | None:
    """Return name -> version of the installed RPM packages; None where there is no rpm, or it knows of none.

    Several of one name, as keys and kernels are, have their versions beside each other.
    """
    ran = machine.run(RPM_QUERY, 60)
    rows = sorted(line.split("\t") for line in ran.stdout.splitlines() if line.count("\t") == 1) if ran.ok else []
    found: dict[str, list[str]] = {}
    for name, version in rows:
        found.setdefault(name, []).append(version.removeprefix("0:"))
    return {name: " ".join(versions) for name, versions in found.items()} or None


def wheels(machine: Machine) -> list[dict[str, Any]]:
    """Return the Python distributions: normalised name, version, and whether dpkg put them there."""
    return [
        {
            "name": normalise(item["name"]),
            "version": item["version"],
            "debian": bool(OWNED_BY_DPKG.match(item["folder"])),
        }
        for item in machine.distributions()
    ]


def normalise(name: str) -> str:
    """Return a project's name in its one spelling: lower case, runs of `-_.` as one dash."""
    return re.sub(r"[-_.]+", "-", name).lower()
