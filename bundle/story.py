"""What a report says, in words and rows: Markdown, HTML and the card show the same, each in its own form.

Everything here follows from the evidence and the summary alone. Nothing is typed, nothing knows the time of day.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bundle import layout
from bundle.format import UNKNOWN, count, interval, plain, quantity, share, size
from schema import canon
from schema.records import MEASURED

if TYPE_CHECKING:
    from bundle.evidence import Evidence

STATUSES = ("fail", "error", "warn", "skip", "pass")
MEASURED_NAMES = frozenset(status.value for status in MEASURED)
Rows = list[tuple[str, str]]


@dataclass(frozen=True)
class Story:
    """The evidence with the figures computed from it."""

    evidence: Evidence
    summary: dict[str, Any] | None
    content_hash: str

    @property
    def figures(self) -> list[dict[str, Any]]:
        """The cases of the summary, in its order."""
        cases: list[dict[str, Any]] = self.summary["cases"] if self.summary else []
        return cases

    @property
    def findings(self) -> list[dict[str, Any]]:
        """The findings, worst first, otherwise as found."""
        found = self.evidence.report.findings if self.evidence.report else []
        return sorted(found, key=lambda finding: STATUSES.index(finding["status"]))


def title(evidence: Evidence) -> str:
    """Return one line: device, software."""
    start = evidence.start
    return " · ".join([devices(start), *(f"{name} {version}" for name, version in software(evidence)[:2])])


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


def notice(evidence: Evidence) -> str | None:
    """Return what a reader must be told first; None when there is nothing."""
    said = []
    if not evidence.gpu:
        said.append(f"{layout.NOT_A_GPU_RESULT}: a CPU did the work, the figures say nothing about a GPU")
    if evidence.report is None:
        said.append(
            "without validation: nothing here shows that the software computes rightly, beyond each case's check"
        )
    elif bad := sum(finding["status"] in {"fail", "error"} for finding in evidence.report.findings):
        said.append(f"validation found {count(bad, 'failure')}")
    if evidence.results is None:
        said.append("without benchmarks")
    if evidence.results and any("file_sha256" in case for case in evidence.results.protocol["cases"]):
        said.append("measured with the user's own case, sealed in case/")
    return "; ".join(said) or None


def hardware(evidence: Evidence) -> Rows:
    """Return rows on the machine: devices, then host."""
    start = evidence.start
    host = start["host"]
    rows = [(_device_label(start, device), _device(device)) for device in start["devices"]]
    cores = f", {host['cores']} cores usable" if host["cores"] else ""
    return [
        *rows,
        ("Topology", _topology(start)),
        ("Driver", plain(host["driver"]) if host["driver"] else f"{UNKNOWN}: none seen"),
        ("Processor", f"{plain(host['cpu']) if host['cpu'] else UNKNOWN}{cores}"),
        ("Main memory", size(host["memory_bytes"])),
        ("Kernel", plain(host["kernel"]) if host["kernel"] else UNKNOWN),
        ("Machine", f"{host['identity'][:16]} (salted hash)" if host["identity"] else f"{UNKNOWN}: no identity"),
    ]


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
        rows += [("Image", record["image_id"]), ("Manifest", record["manifest_digest"])]
        if record["built_twice"]:
            rows.append(("Built twice", "identical" if record["built_twice"]["identical"] else "NOT identical"))
    else:
        rows.append(("Image", "none: the host's own Python"))
    if evidence.lock:
        lock = evidence.lock
        packages = (
            f"{count(len(lock['debs']), 'Debian package')}, {count(len(lock['wheels']), 'wheel')}, each by sha256"
        )
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
        *([("Note", "smoke: few, short processes; for trying out, not for comparing")] if _smoke(protocol) else []),
    ]


def _smoke(protocol: dict[str, Any]) -> bool:
    return bool(protocol["suite"] == "smoke")


def figure(case: dict[str, Any]) -> str:
    """Return the headline of a case in words, or why it has none."""
    if case["value"] is None:
        return f"no figure: {plain(case['status'])}"
    return interval(case["value"], case["low"], case["high"], case["unit"])


def peak(case: dict[str, Any]) -> str:
    """Return the share of the datasheet's peak."""
    return share(case["of_peak"]) if case["of_peak"] is not None else "-"


def power(case: dict[str, Any]) -> str:
    """Return the mean power while sampling."""
    return quantity(case["power_w"], "W") if case["power_w"] is not None else "-"


def status(case: dict[str, Any]) -> str:
    """Return the status with its first reason; its processes mostly say the like."""
    first, *more = [plain(reason) for reason in case["reasons"]] or [""]
    rest = f" (and {count(len(more), 'reason')} more)" if more else ""
    return f"{case['status']}: {first}{rest}" if first else str(case["status"])


def validation_line(story: Story) -> str:
    """Return the counts of the findings in one line."""
    if story.evidence.report is None:
        return "not in this bundle"
    found = [finding["status"] for finding in story.findings]
    parts = [
        f"{found.count(name)} {name}" for name in reversed(STATUSES) if found.count(name) or name in {"pass", "fail"}
    ]
    return " · ".join(parts)


def benchmark_line(story: Story) -> str:
    """Return in one line how many cases have a figure."""
    if story.evidence.results is None:
        return "not in this bundle"
    good = sum(case["value"] is not None for case in story.figures)
    samples = sum(len(series) for series in story.evidence.results.samples.values())
    return f"{good} of {count(len(story.figures), 'case')} measured · {count(samples, 'sample')}"


def commands(evidence: Evidence) -> Rows:
    """Return three commands with what each does: check, rebuild, repeat."""
    name = evidence.lock["name"] if evidence.lock else None
    suite = plain(evidence.results.protocol["suite"]) if evidence.results else "smoke"
    if suite not in {"smoke", "quick", "publish"}:
        suite = "smoke"
    check = ("./kit verify bundle", "check every byte, figure and finding again; needs neither GPU nor engine")
    if name and evidence.image:
        return [
            check,
            ("./kit verify bundle --rebuild", "build the image from its lock again and compare it bit for bit"),
            (f"./kit reproduce --lock {name} --suite {suite}", "build, validate and measure on your own machine"),
        ]
    return [
        check,
        (f"python3 -m benchmarks --suite {suite} > results.jsonl", "measure with your own Python and PyTorch"),
        ("./kit bundle --results results.jsonl", "seal what you measured, to hold it against this"),
    ]
