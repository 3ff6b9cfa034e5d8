"""Say what ran and on what, as rows of label and text: the tables that every report begins with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.plan import TIMING
from bundle.format import UNKNOWN, count, plain, quantity, share, size
from bundle.layout import NO_MANIFEST
from schema import canon

if TYPE_CHECKING:
    from bundle.evidence import Evidence

Rows = list[tuple[str, str]]
SMOKE = "short and few processes, as in the suite smoke: for trying out, not for comparing"
#: What a status beside a figure means for whoever reads it.
CAUTIONS = {
    "throttled": "throttled: the device slowed itself down",
    "drift": "drift: the times changed while they were taken",
    "not_steady": "not_steady: the warm-up ended before the times had settled",
    "not_converged": "not_converged: sampling ended before the median was known as closely as wanted",
}


def devices(start: dict[str, Any]) -> str:
    """Return the devices in words: `2 x AMD Instinct MI300X`."""
    names: dict[str, int] = {}
    for device in start["devices"]:
        names[device["name"]] = names.get(device["name"], 0) + 1
    said = ", ".join(name if amount == 1 else f"{amount} x {name}" for name, amount in names.items())
    return plain(said or start["host"]["cpu"] or "unknown device")[:120]


def software(evidence: Evidence) -> Rows:
    """Return the versions that matter most, PyTorch first."""
    start, lock = evidence.start, evidence.lock
    torch = start["torch"]
    rows = [("PyTorch", plain(torch["version"]) if torch["version"] else UNKNOWN)]
    if lock:
        rows.append(("ROCm", plain(lock["rocm"])))
    elif torch.get("rocm"):
        rows.append(("ROCm", plain(torch["rocm"])))
    rows += [(name, plain(torch[key])) for name, key in (("HIP", "hip"), ("CUDA", "cuda")) if torch.get(key)]
    return [*rows, ("Python", plain(start["python"]))]


def hardware(evidence: Evidence) -> Rows:
    """Return rows on the machine: devices, then host."""
    start = evidence.start
    host = start["host"]
    rows = [(_device_label(start, device), _device(device)) for device in start["devices"]]
    cores = f", {host['cores']} cores usable" if host["cores"] else ""
    return [
        *rows,
        ("Topology", _topology(start)),
        ("Driver", driver(start)),
        ("Processor", f"{plain(host['cpu']) if host['cpu'] else UNKNOWN}{cores}"),
        ("Main memory", size(host["memory_bytes"])),
        ("Kernel", plain(host["kernel"]) if host["kernel"] else UNKNOWN),
        ("Machine", f"{host['identity'][:16]} (salted hash)" if host["identity"] else f"{UNKNOWN}: no identity"),
    ]


def driver(start: dict[str, Any]) -> str:
    """Return the GPU driver of the machine."""
    return plain(start["host"]["driver"]) if start["host"]["driver"] else f"{UNKNOWN}: none seen"


def _device_label(start: dict[str, Any], device: dict[str, Any]) -> str:
    return "Device" if len(start["devices"]) == 1 else f"Device {device['index']}"


def _device(device: dict[str, Any]) -> str:
    units = {"rocm": "compute units", "cuda": "multiprocessors", "cpu": "cores"}[device["backend"]]
    said = [
        plain(device["name"]),
        plain(device["gfx"]) if device.get("gfx") else None,
        f"compute capability {plain(device['compute_capability'])}" if device.get("compute_capability") else None,
        f"{device['compute_units']} {units}" if device.get("compute_units") else None,
        size(device["memory_bytes"]) if device.get("memory_bytes") else None,
        f"wavefront {device['wavefront']}" if device.get("wavefront") else None,
        f"power cap {quantity(device['power_cap_w'], 'W')}" if device.get("power_cap_w") else None,
        f"up to {quantity(device['clock_max_hz'], 'Hz')}" if device.get("clock_max_hz") else None,
        "/".join(plain(device[key]) for key in ("compute_partition", "memory_partition") if device.get(key)) or None,
        f"firmware {plain(device['vbios'])}" if device.get("vbios") else None,
    ]
    return ", ".join(item for item in said if item)


def _topology(start: dict[str, Any]) -> str:
    if start["backend"] == "cpu":
        return "no GPU"
    # the kernel says -1 where it knows no node
    nodes = sorted({device.get("numa_node") for device in start["devices"]} - {None, -1})
    where = f"NUMA node {', '.join(map(str, nodes))}" if nodes else f"NUMA node {UNKNOWN}"
    if len(start["devices"]) == 1:
        return f"one device, {where}"
    return f"{len(start['devices'])} devices, {where}; links {UNKNOWN}: not recorded"


def image(evidence: Evidence) -> Rows:
    """Return rows on the software: image, lock, versions."""
    rows: Rows = []
    if evidence.image:
        record = evidence.image
        rows += [("Image", record["image_id"]), ("Manifest", record["manifest_digest"] or NO_MANIFEST)]
        if record["built_twice"]:
            rows.append(("Built twice", "identical" if record["built_twice"]["identical"] else "NOT identical"))
    else:
        rows.append(("Image", "none: the host's own Python"))
    if evidence.lock:
        lock = evidence.lock
        packages = (
            f"{count(len(lock['debs']), 'Debian package')}, {count(len(lock['wheels']), 'wheel')}, each by sha256"
        )
        if "inventory" in lock:  # of an image that existed: its digest fixes the bytes, and these were found in it
            found = sum(map(len, lock["inventory"].values()))
            packages = f"an image by digest, with {count(found, 'package')} when it was adopted"
        rows += [("Lock", f"{lock['name']}: {packages}"), ("Lock digest", evidence.start["lock_sha256"])]
    else:
        rows.append(("Lock", "none: nothing fixes the software"))
    return [*rows, *software(evidence), ("Kit sources", evidence.start["cargo_sha256"])]


def environment(evidence: Evidence) -> Rows:
    """Return the variables that influence results, as set."""
    return [(plain(name), plain(value)) for name, value in sorted(evidence.start["environment"].items())]


def method(evidence: Evidence) -> Rows:
    """Return rows on how it was measured."""
    if evidence.results is None:
        return []
    protocol = evidence.results.protocol
    confidence = share(1 - protocol["alpha"])
    return [
        ("Suite", plain(protocol["suite"])),
        ("Processes", f"{protocol['processes']} fresh processes of each case, interleaved, seed {protocol['seed']}"),
        ("Warm-up", f"to a steady state, at least {quantity(protocol['warm_up_s'], 's')}"),
        (
            "Sampling",
            f"until the median is known to {share(protocol['half_width'])}, "
            + " to ".join(quantity(protocol[key], "s") for key in ("sampling_s", "sampling_max_s")),
        ),
        ("Figure", f"geometric mean of the process medians; {confidence} t-interval on their logarithms"),
        ("Protocol digest", canon.digest(protocol)),
        *([("Note", SMOKE)] if timing(protocol) == "smoke" else []),
    ]


def caution(cases: list[dict[str, Any]]) -> str:
    """Return in one sentence what is the matter with figures that are not `ok`, and what to do; empty without any."""
    there = {case["status"] for case in cases if case["value"] is not None}
    found = [words for status, words in CAUTIONS.items() if status in there]
    return (
        f"{'; '.join(found)}. Such figures are for a look: to compare or publish, measure with --suite publish on a "
        "machine that does nothing else"
        if found
        else ""
    )


def timing(protocol: dict[str, Any]) -> str | None:
    """Return the suite whose times and processes a protocol has, whatever it calls itself; None where it is none."""
    keys = ("processes", "warm_up_s", "sampling_s", "sampling_max_s", "half_width")
    found = (name for name, suite in TIMING.items() if all(getattr(suite, key) == protocol[key] for key in keys))
    return next(found, None)
