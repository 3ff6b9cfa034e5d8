"""Can there be such devices? Where the dated facts know a product, its target, units and memory are the product's."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any

from benchmarks import hardware
from bundle import layout
from bundle.ledger import Disagreement
from schema import facts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bundle.evidence import Evidence

#: Names that a device of each backend cannot have.
OTHER_MAKER = {
    "rocm": re.compile(r"(NVIDIA|Tesla|GeForce|Quadro|Intel)\b", re.IGNORECASE),
    "cuda": re.compile(r"(AMD|Radeon|Instinct|Intel)\b", re.IGNORECASE),
    "cpu": re.compile(r"(AMD )?(Instinct (?!MI300A)|Radeon\b)|NVIDIA (?!Grace)|GeForce|Tesla|Quadro", re.IGNORECASE),
}
#: What only devices of one backend have.
OF_BACKEND = {"gfx": "rocm", "compute_capability": "cuda", "compute_partition": "rocm", "memory_partition": "rocm"}
OVERRIDE = "HSA_OVERRIDE_GFX_VERSION"  # makes the runtime report another target
#: SIMD units of a compute unit, in the targets where the runtime counts compute units one by one (CDNA, GCN).
SIMDS, ONE_BY_ONE = 4, "gfx9"
#: A vendor's gigabytes are a little more or less than what is there.
ROOM = 1.05
GIB = 1 << 30


def disagreements(evidence: Evidence) -> Iterator[Disagreement]:
    """Yield what is said of devices and their host that cannot be."""
    for path, stream in ((layout.REPORT, evidence.report), (layout.SAMPLES, evidence.results)):
        if stream is None:
            continue
        for name in ("cores", "memory_bytes"):
            if stream.start["host"][name] is not None and not stream.start["host"][name] > 0:
                yield Disagreement(f"{path}: start: host.{name}", stream.start["host"][name], "above 0, or unknown")
        for position, device in enumerate(stream.start["devices"]):
            for name, seen, expected in _device(position, device, stream.start):
                yield Disagreement(f"{path}: start: device {position}: {name}", seen, expected)
    yield from _as_the_kernel_counts(evidence)


def _device(position: int, device: dict[str, Any], start: dict[str, Any]) -> Iterator[Disagreement]:
    if device["index"] != position:
        yield Disagreement("index", device["index"], position)
    for name in ("compute_units", "memory_bytes", "wavefront", "power_cap_w", "clock_max_hz", "memory_clock_max_hz"):
        if device.get(name) is not None and not device[name] > 0:
            yield Disagreement(name, device[name], "above 0, or unknown")
    for name, backend in OF_BACKEND.items():
        if device.get(name) is not None and device["backend"] != backend:
            yield Disagreement(name, device[name], f"none: its backend is {device['backend']}")
    if why := _unreadable(device):
        yield Disagreement("name", device["name"], why)
    if OTHER_MAKER[device["backend"]].match(device["name"]):
        yield Disagreement("name", device["name"], f"a device of the backend {device['backend']}")
    elif device["backend"] == "cpu" and device["name"] != (start["host"]["cpu"] or device["name"]):
        yield Disagreement("name", device["name"], f"the host's processor, {start['host']['cpu']}")
    yield from _product(device, start["environment"])


def _unreadable(device: dict[str, Any]) -> str:
    """Return why no runtime can have given such a name; an empty text where one can.

    HIP's is empty where the tables of names do not know the product. A processor's is spaced as its maker likes.
    """
    name = device["name"]
    if not name.isprintable():
        return "a name of characters that can be seen"
    if device["backend"] != "cpu" and name != " ".join(name.split()):
        return "a name without spaces around it or twice in it"
    return "" if name or device["backend"] == "rocm" else "a name"


def _product(device: dict[str, Any], environment: dict[str, str]) -> Iterator[Disagreement]:
    """A whole product has the listed units; a part of one has fewer."""
    targets = _targets().get(device["name"], set())
    target = (device.get("gfx") or "").partition(":")[0]
    if targets and target not in targets and not any(name.startswith(OVERRIDE) for name in environment):
        yield Disagreement("gfx", target or "none", f"{' or '.join(sorted(targets))}, of {device['name']}")
    names = hardware.LISTED_AS.get(device["name"], (device["name"],))
    if not (rows := [row for row in _peaks() if row["gpu"] in names]):
        return
    capability = device.get("compute_capability")
    known = sorted({f"{row['sm'][3:-1]}.{row['sm'][-1]}" for row in rows if row.get("sm")})  # sm_90 is 9.0
    if capability is not None and known and capability not in known:
        yield Disagreement("compute_capability", capability, f"{' or '.join(known)}, of {device['name']}")
    units, memory = device.get("compute_units"), device.get("memory_bytes")
    whole = max(row["compute_units"] // (row.get("devices_per_package") or 1) for row in rows)
    undivided = device.get("compute_partition") == "SPX" and target.startswith(ONE_BY_ONE)
    if units is not None and (units > whole or (undivided and units != whole)):
        yield Disagreement("compute_units", units, f"{whole}, of {device['name']}")
    if memory is not None and (most := max(row["hbm_GiB"] or 0 for row in rows)) and memory > most * GIB * ROOM:
        yield Disagreement("memory_bytes", memory, f"at most the {most} GiB of {device['name']}")


@functools.cache
def _targets() -> dict[str, set[str]]:
    """Return the targets of each product that the facts name."""
    found: dict[str, set[str]] = {}
    for target, about in facts.load("gfx")["targets"].items():
        for product in about["products"]:
            series = "Instinct " if product.removeprefix("Instinct ").startswith("MI") else "Radeon "
            found.setdefault(f"AMD {series}{product.removeprefix(series)}", set()).add(target)
    for name, rows in {**{row["gpu"]: (row["gpu"],) for row in _peaks()}, **hardware.LISTED_AS}.items():
        found.setdefault(name, set()).update(row["gfx"] for row in _peaks() if row["gpu"] in rows and row.get("gfx"))
    return found


def _peaks() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = facts.load("hardware-peaks")["gpus"]
    return rows


def _as_the_kernel_counts(evidence: Evidence) -> Iterator[Disagreement]:
    """The kernel's topology, which a check read, has as many SIMD units as the runtime's compute units need."""
    for record in evidence.report.facts if evidence.report else ():
        for gpu in (record["facts"].get("gpus") or ()) if record["check"] == "device_nodes" else ():
            simds, counted = gpu.get("simds"), str(gpu.get("gfx")).startswith(ONE_BY_ONE)
            for device in evidence.start["devices"] if simds and counted and gpu.get("pci") else ():
                units = device.get("compute_units")
                if device.get("pci") == gpu["pci"] and units is not None and simds != SIMDS * units:
                    what = f"{layout.REPORT}: the compute units of {device['name']}"
                    yield Disagreement(what, units, f"a quarter of the {simds} SIMD units that the kernel counts")
