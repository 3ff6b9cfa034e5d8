"""Say what the dated tables tell of one thing that is asked, for one ROCm release."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from pins.choice import first_release, matches, numbers
from schema import facts

SYSTEMS = {"suse": "sles", "redhat": "rhel"}  # other people's names for the families of the table


@dataclass(frozen=True)
class Aspect:
    """One part of an answer. `holds`: yes, no, or unknown; `sources` and `date` are of the row that says so."""

    aspect: str
    asked: str
    holds: str
    reason: str
    sources: tuple[str, ...]
    date: str
    upstream: bool = False


def _rocm(row: dict[str, Any], wanted: dict[str, str]) -> Aspect:
    if "sources" in row:
        return _of_row("rocm", wanted, row, "yes", f"ROCm {row['rocm']} is in the table")
    return _of_row("rocm", wanted, row, "unknown", "no release of that name is in the table")


def _pytorch(row: dict[str, Any], wanted: dict[str, str]) -> Aspect:
    asked, listed = wanted["pytorch"], row.get("pytorch_amd_supported", "AMD's list was not at hand")
    if isinstance(listed, list) and any(same(asked, one) for one in listed):
        return _of_row("pytorch", wanted, row, "yes", f"AMD lists PyTorch {asked} for ROCm {row['rocm']}")
    wheels = {wheel: torch for torch in _torches(asked) for wheel in torch.get("rocm_wheels", [])}
    for wheel, torch in wheels.items():
        if any(matches(one, wheel) for one in releases(row)):
            reason = f"PyTorch publishes wheels of {torch['torch']} for ROCm {', '.join(torch['rocm_wheels'])}"
            return _of_torch("pytorch", wanted, torch, "yes", reason, upstream=True)
    words = f"AMD lists {', '.join(listed)} for ROCm {row['rocm']}" if isinstance(listed, list) else f"AMD: {listed}"
    known = f"wheels are known for ROCm {', '.join(wheels)}" if wheels else "no wheel for ROCm is known"
    return _of_row("pytorch", wanted, row, "unknown", f"{words}; of PyTorch {asked} {known}")


def _python(row: dict[str, Any], wanted: dict[str, str]) -> Aspect:
    """Judge by the PyTorch asked for; without one, by those that AMD lists for the release, or that have wheels for it.

    The range is PyTorch's own word: it is AMD's, too, only for a PyTorch that AMD lists.
    """
    asked, listed = wanted["python"], row.get("pytorch_amd_supported")
    torches = _torches(wanted.get("pytorch", ""))
    amds = [torch for torch in torches if isinstance(listed, list) and any(same(one, torch["torch"]) for one in listed)]
    if "pytorch" not in wanted:
        torches = amds or [torch for torch in torches if _has_wheels(torch, row)]
    found = [(torch, _in_range(asked, torch["python"])) for torch in torches]
    for holds, words in (("yes", "is for"), ("unknown", "may be for"), ("no", "is not for")):
        for torch, said in found:
            if said == holds:
                reason = f"PyTorch {torch['torch']} {words} Python {asked}: {torch['python']}"
                return _of_torch("python", wanted, torch, holds, reason, upstream=torch not in amds)
    return _of_row("python", wanted, row, "unknown", "the table has no PyTorch for it, or no Pythons for that PyTorch")


def _has_wheels(torch: dict[str, Any], row: dict[str, Any]) -> bool:
    return any(matches(one, wheel) for wheel in torch.get("rocm_wheels", []) for one in releases(row))


def _os(row: dict[str, Any], wanted: dict[str, str]) -> Aspect:
    family, version = _system(wanted["os"])
    listed = row.get("os", {}).get(family, [])
    if any(same(version, one.lower()) for one in listed):
        return _of_row("os", wanted, row, "yes", f"AMD lists {family} {', '.join(listed)} for ROCm {row['rocm']}")
    systems = "; ".join(f"{name} {', '.join(versions)}" for name, versions in row.get("os", {}).items())
    return _of_row("os", wanted, row, "unknown", f"for ROCm {row['rocm']} AMD lists {systems or 'none that we know'}")


def _gfx(row: dict[str, Any], wanted: dict[str, str]) -> Aspect:
    """A target that none of its family had yet is refused, unless PyTorch's own wheels are compiled for it."""
    target = wanted["gfx"].partition(":")[0]
    for entry in _targets(row):
        if entry.split()[0] == target:
            limit = re.search(r"\(Ubuntu (\S+) only\)", entry)
            unfit = limit and "os" in wanted and not same(_system(wanted["os"])[1], limit[1])
            said = f"AMD lists {entry} for ROCm {row['rocm']}"
            return _of_row("gfx", wanted, row, "unknown" if unfit else "yes", said)
    if target in row.get("gfx_listed", []):
        said = f"for ROCm {row['rocm']} no list of AMD's was at hand; {target} stands elsewhere: {row['gfx_note']}"
        return _of_row("gfx", wanted, row, "unknown", said)
    compiled = [
        item
        for item in facts.load("compat")["wheel_targets"]["rows"]
        if target in item["gfx"] and any(matches(one, item["rocm"]) for one in releases(row))
    ]
    first, family = first_release(target), _first_of_family(target)
    since = f"the first release for which it does is {first}" if first else "nor for any other that we know"
    reason = f"AMD does not list {target} for ROCm {row['rocm']}; {since}"
    if compiled:
        return _of_row("gfx", wanted, row, "unknown", f"{reason}, though PyTorch's wheels are compiled for it")
    newest = max((numbers(one) for one in releases(row)), default=())
    too_early = "sources" in row and family and numbers(family) > newest
    return _of_row("gfx", wanted, row, "no" if too_early else "unknown", reason)


def _driver(row: dict[str, Any], wanted: dict[str, str]) -> Aspect:
    asked, listed = wanted["driver"], row.get("amdgpu_driver_ok", [])
    release, words = _driver_release(asked)
    if any(_series(release) == _series(one) for one in listed):
        return _of_row("driver", wanted, row, "yes", f"AMD lists driver {release} for ROCm {row['rocm']}{words}")
    said = ", ".join(listed) or f"none that we know ({facts.load('compat')['rules'][1]})"
    return _of_row("driver", wanted, row, "unknown", f"for ROCm {row['rocm']} AMD lists drivers {said}{words}")


JUDGES = {"rocm": _rocm, "pytorch": _pytorch, "python": _python, "os": _os, "gfx": _gfx, "driver": _driver}


def _of_row(name: str, wanted: dict[str, str], row: dict[str, Any], holds: str, reason: str) -> Aspect:
    compat = facts.load("compat")
    sources = tuple(compat["sources"][key] for key in row.get("sources", []))
    return Aspect(name, wanted[name], holds, reason, sources, str(row.get("date", compat["compiled"])))


def _of_torch(
    name: str, wanted: dict[str, str], torch: dict[str, Any], holds: str, reason: str, *, upstream: bool = False
) -> Aspect:
    sources = tuple(facts.load("compat")["sources"][key] for key in torch["sources"])
    return Aspect(name, wanted[name], holds, reason, sources, str(torch.get("date", "unknown")), upstream)


def _torches(asked: str) -> list[dict[str, Any]]:
    return [row for row in facts.load("compat")["pytorch_releases"] if not asked or same(asked, row["torch"])]


def releases(row: dict[str, Any]) -> list[str]:
    """Return the releases that one row is of."""
    return str(row["rocm"]).split("/")


def same(asked: str, listed: str) -> bool:
    """Say whether one of two versions is the other, or a patch release of it: 2.8.0 is 2.8, and 6.4 has 6.4.1."""
    listed = listed.removesuffix(".x")
    return matches(asked, listed) or matches(listed, asked)


def _in_range(asked: str, words: str) -> str:
    """Say whether `>=3.9,<=3.13 (3.14 experimental)` has a Python: yes, no, or unknown."""
    found = re.match(r">=(\d+\.\d+),<=(\d+\.\d+)(?: \((\d+\.\d+)\b)?", words)
    if not found:
        return "unknown"
    asked_for = numbers(asked)[:2]
    if found[3] and asked_for == numbers(found[3]):
        return "unknown"
    return "yes" if numbers(found[1]) <= asked_for <= numbers(found[2]) else "no"


def _system(text: str) -> tuple[str, str]:
    name, _, version = re.sub(r"^([A-Za-z]+)[ -]?", r"\1|", text).partition("|")
    return SYSTEMS.get(name.lower(), name.lower()), version.lower()


def _first_of_family(target: str) -> str:
    """Return the first release that lists any target of the same family: gfx942 is of gfx94, gfx1101 of gfx110."""
    listed = {entry.split()[0] for row in facts.load("compat")["releases"] for entry in _targets(row)}
    return min((first_release(other) for other in listed if other[:-1] == target[:-1]), key=numbers, default="")


def _targets(row: dict[str, Any]) -> list[str]:
    """Return AMD's list of a release, limits in brackets; empty where there are only words about it."""
    listed = row.get("gfx_official", [])
    return listed if isinstance(listed, list) else []


def _driver_release(asked: str) -> tuple[str, str]:
    """Return the driver release that is meant, and words where a module version was given: they count differently."""
    rows = facts.load("compat")["driver_modules"]
    if any(_series(row["release"]) == _series(asked) for row in rows) and len(numbers(asked)) < 3:
        return asked, ""
    for row in rows:
        if numbers(asked) and numbers(asked)[:3] == numbers(row["module"])[: len(numbers(asked))]:
            return str(row["release"]), f"; module {row['module']} is that of driver {row['release']}"
    return asked, ""


def _series(release: str) -> tuple[int, ...]:
    return numbers(release)[:2]
