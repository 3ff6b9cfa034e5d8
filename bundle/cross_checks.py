"""Is what the records say of torch, driver and devices what the report's own checks saw, and what the lock names?

One probe answers both the start record and the checks, so they say the same. Checks of another version of the kit may
have seen other things: only facts that are there are compared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bundle import layout
from bundle.format import plain
from bundle.ledger import Disagreement
from validate.versions import agrees

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bundle.evidence import Evidence, Report

TORCH = ("version", "build", "hip", "rocm", "cuda", "git", "arch_list")
#: Component and source in the facts of `versions`, and what of the start record it is.
VERSIONS = {
    ("torch", "torch.__version__"): "torch.version",
    ("hip", "torch.version.hip"): "torch.hip",
    ("rocm", "torch.version.rocm"): "torch.rocm",
    ("python", "this interpreter"): "python",
}
#: What is a card's own, told by the start record and again by checks. An AMD runtime's memory is what a device may use,
#: the kernel's what the card has.
OF_CARD = ("power_cap_w", "clock_max_hz", "compute_partition", "memory_partition")
SAME = {"rocm": (*OF_CARD, "numa_node"), "cuda": (*OF_CARD, "memory_bytes"), "cpu": ()}
#: Where checks list cards by PCI address.
CARDS = {"device_nodes": "gpus", "telemetry": "devices", "processes": "cards", "host_state": "gpus"}
MODULES = {"rocm": "amdgpu", "cuda": "nvidia"}


def disagreements(evidence: Evidence) -> Iterator[Disagreement]:
    """Yield what the checks saw otherwise than the start record says."""
    if evidence.report:
        start = evidence.report.start
        said = _said(start)
        for what, seen in _seen(evidence.report.facts):
            if said[what] != seen:
                yield Disagreement(
                    f"{layout.REPORT}: start: {what}", plain(said[what]), f"{plain(seen)}, as its own checks saw"
                )
        yield from _cards(evidence.report)
        yield from _computed(evidence.report)
        yield from _installed(evidence.report)
    for path, stream in ((layout.REPORT, evidence.report), (layout.SAMPLES, evidence.results)):
        if stream:
            yield from _drivers(path, stream.start)
    yield from _lock(evidence)


def _said(start: dict[str, Any]) -> dict[str, Any]:
    """Return what a start record says, by the names that are used here."""
    return {
        "python": start["python"],
        "environment": start["environment"],
        **{f"torch.{key}": start["torch"].get(key) for key in TORCH},
        **{f"host.{key}": start["host"][key] for key in ("driver", "kernel")},
        "devices": [{key: device.get(key) for key in ("pci", "gfx")} for device in start["devices"]],
    }


def _seen(facts: list[dict[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Yield what the checks saw of the same."""
    found = {record["check"]: record["facts"] for record in facts}
    if isinstance(variables := found.get("environment", {}).get("variables"), dict):
        yield "environment", variables
    torch = _dict(found.get("torch_build", {}).get("torch"))
    yield from ((f"torch.{key}", torch[key]) for key in TORCH if key in torch)
    driver = found.get("driver", {})
    yield from ((f"host.{key}", driver[key]) for key in ("driver", "kernel") if key in driver)
    sources = _dict(found.get("versions", {}).get("sources"))
    for (component, source), what in VERSIONS.items():
        for row in sources.get(component) or ():
            if len(row) == 2 and row[0] == source:
                yield what, row[1]
    devices = found.get("device_counts", {}).get("torch")
    if isinstance(devices, list):
        yield "devices", [{key: device.get(key) for key in ("pci", "gfx")} for device in devices]


def _cards(report: Report) -> Iterator[Disagreement]:
    """A card is what each check says that it is, and the checks saw the cards of the start record."""
    backend = report.start["backend"]
    # where nothing was read of a card, its runtime may have made up the address
    read = [device for device in report.start["devices"] if any(device.get(key) is not None for key in OF_CARD)]
    devices = [device for device in read if device.get("pci")]
    for record in report.facts if devices else ():
        cards = _listed(record["facts"].get(CARDS.get(record["check"], "")))
        if cards and not {_slot(pci) for pci in cards} & {_slot(device["pci"]) for device in devices}:
            expected = ", ".join(device["pci"] for device in devices)
            yield Disagreement(f"{layout.REPORT}: the cards of {record['check']}", ", ".join(sorted(cards)), expected)
        for device in devices:
            card = cards.get(device["pci"], {})
            for key in SAME[backend]:
                if None not in (said := device.get(key), seen := card.get(key)) and said != seen:
                    what = f"{layout.REPORT}: start: {key} of the device at {device['pci']}"
                    yield Disagreement(what, said, f"{plain(seen)}, as the check {record['check']} saw")


def _listed(cards: Any) -> dict[str, dict[str, Any]]:
    """Return cards by address, however a check lists them."""
    if isinstance(cards, list):
        return {str(card["pci"]): card for card in map(_dict, cards) if card.get("pci")}
    return {address: _dict(card) for address, card in _dict(cards).items()}


def _slot(pci: str) -> str:
    """Return an address without its function, in which partitions of one card differ."""
    return pci.rpartition(".")[0]


def _computed(report: Report) -> Iterator[Disagreement]:
    """Numerics are computed on the devices of the start record, and on each of them."""
    start = report.start
    here = ["cpu"] if start["backend"] == "cpu" else [f"cuda:{device['index']}" for device in start["devices"]]
    for record in report.facts if start["devices"] else ():
        if record["check"] != "numerics":
            continue
        if "torch_error" in record["facts"]:
            yield from _without_torch(record["facts"], report)
            continue
        rows, devices = record["facts"].get("rows"), record["facts"].get("devices", here)
        ran = {_dict(row).get("device") for row in rows} if isinstance(rows, list) else set()
        if devices != here or not ran <= set(here):
            seen = ", ".join(sorted(map(plain, {*ran, *devices}))) or "none"
            yield Disagreement(f"{layout.REPORT}: the devices of numerics", seen, ", ".join(here))


def _without_torch(facts: dict[str, Any], report: Report) -> Iterator[Disagreement]:
    """Numerics were not computed for want of a torch: then nobody else had one, and nothing was computed."""
    found = [_dict(record["facts"].get("torch")) for record in report.facts if record["check"] == "torch_build"]
    had = [torch["version"] for torch in (*found, report.start["torch"]) if torch.get("version")]
    if had or facts.get("rows"):
        seen = f"PyTorch {plain(had[0])}" if had else "rows"
        yield Disagreement(f"{layout.REPORT}: numerics without torch", seen, "none")


def _installed(report: Report) -> Iterator[Disagreement]:
    """In a container, the PyTorch that was imported is the one that is installed; a host may have one of its own."""
    found = {record["check"]: record["facts"] for record in report.facts}
    wheels, seen = found.get("inventory", {}).get("wheels"), report.start["torch"]["version"]
    listed = [wheel.get("version") for wheel in wheels if wheel.get("name") == "torch"] if wheels else []
    if (
        report.start["runtime"] == "container"
        and seen
        and len(listed) == 1
        and str(listed[0]).partition("+")[0] != seen.partition("+")[0]
    ):
        yield Disagreement(f"{layout.REPORT}: start: torch.version", seen, f"{plain(listed[0])}, the one installed")


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _drivers(path: str, start: dict[str, Any]) -> Iterator[Disagreement]:
    """A device's driver is the machine's."""
    for device in start["devices"]:
        module, version = MODULES.get(device["backend"]), device.get("driver")
        if module and version and start["host"]["driver"] != f"{module} {version}":
            yield Disagreement(
                f"{path}: start: the driver of {device['name']}", version, start["host"]["driver"] or "none"
            )


def _lock(evidence: Evidence) -> Iterator[Disagreement]:
    """Another torch than the lock's is a failure that the report names; else it was not that torch."""
    lock, seen = evidence.lock, evidence.start["torch"]["version"]
    if lock is None or (seen and agrees(seen, lock["torch"]["version"])):
        return
    found = evidence.report.findings if evidence.report else []
    if not any(item["check"] == "torch_build" and item["status"] in {"fail", "error"} for item in found):
        yield Disagreement(
            "the PyTorch that ran", seen, f"{lock['torch']['version']}, the lock's, or a finding that it is another"
        )
