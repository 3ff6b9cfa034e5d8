"""Small documents that follow the schemas, and bundles sealed from them. Each test changes one thing."""

import copy
import hashlib
import json
import math
import random
from dataclasses import replace
from datetime import datetime, timedelta

from benchmarks import cases, plan, statistics
from bundle import identity, seal
from schema import canon
from schema.records import to_dict
from tests.validate import fakes_node
from validate.checking import BY_NAME, gather, judge_again

WHEN = "2026-11-30T12:00:00Z"
CASE_FILE = b'"""A case of the user\'s own."""\n'
LOCK = {
    "lock_version": "1",
    "name": "debian13-hip5.7-torch2.6cpu",
    "rocm": "5.7.1",
    "channel": "debian",
    "pin_sha256": "a" * 64,
    "source_date_epoch": 1700000000,
    "platform": "linux/amd64",
    "base": None,
    "python": "3",
    "torch": {"version": "2.6.0", "build": "rocm"},
    "gfx": [],
    "components": {"hip": "5.7"},
    "host_requirements": {},
    "environment": {},
    "debs": [
        {
            "name": name,
            "version": version,
            "architecture": "amd64",
            "sha256": digit * 64,
            "size": 1000,
            "archive": "debian",
            "path": f"pool/main/p/{name}_1_amd64.deb",
            "snapshot": "20261101T000000Z",
            "bootstrap": False,
        }
        for name, version, digit in (("libc6", "2.41-12", "c"), ("python3", "3.13.5-1", "d"))
    ],
    "wheels": [],
}
L = canon.digest(LOCK)
IMAGE = {
    "schema": "image-1",
    "name": LOCK["name"],
    "reference": "rocm-repro-kit:debian13-hip5.7-torch2.6cpu",
    "channel": "debian",
    "lock_sha256": L,
    "platform": "linux/amd64",
    "image_id": "sha256:" + "1" * 64,
    "manifest_digest": "sha256:" + "2" * 64,
    "diff_ids": ["sha256:" + "3" * 64, "sha256:" + "4" * 64],
    "size_bytes": 123456,
    "engine_id": "sha256:" + "1" * 64,
    "engine": {"name": "docker", "version": "20.10.24", "storage": "overlay2"},
    "base": None,
    "built_at": WHEN,
    "build_seconds": 61.5,
    "built_twice": {"identical": True, "differences": []},
}
CPU = {
    "backend": "cpu",
    "index": 0,
    "name": "AMD EPYC 9654 96-Core Processor",
    "pci": None,
    "compute_units": 2,
    "memory_bytes": 1 << 34,
}
GPU = {
    "backend": "rocm",
    "index": 0,
    "name": "AMD Instinct MI300X",
    "pci": fakes_node.address(0),
    "gfx": "gfx942:sramecc+:xnack-",
    "compute_units": 304,
    "memory_bytes": 206141652992,
    "wavefront": 64,
    "power_cap_w": 750,
    "clock_max_hz": 2.1e9,
    "driver": "6.12.12",
    "vbios": "113-M3000100-102",
    "compute_partition": "SPX",
    "memory_partition": "NPS1",
    "numa_node": 0,
}
LLC_BYTES = (32 + 256) << 20  # of an MI300X: L2 and Infinity Cache
FACTS = {
    "driver": {"backend": "rocm", "driver": "amdgpu 6.12.12", "amdgpu_version": "", "kernel": "6.12.0", "cards": []},
    "inventory": {
        "runtime": "container",
        "debs": {"libc6": "2.41-12", "python3": "3.13.5-1"},
        "wheels": [{"name": "torch", "version": "2.6.0", "debian": True}],
    },
}
KNOWN = {item["case"]: json.loads(json.dumps(item)) for case in cases.built_in() for item in cases.describe(case)}
CASES = [KNOWN["matmul.bf16.8192"], KNOWN["copy.fp32.1gib"]]
OWN = "mine.fp32"
SECONDS = {"matmul.bf16.8192": 1.65e-3, "copy.fp32.1gib": 5.4e-4, OWN: 5.4e-4}


#: What torch says of itself, in a start record and in the facts of the checks alike.
TORCH = fakes_node.TORCH_ROCM | {"version": "2.6.0+rocm5.7.1", "hip": "5.7.31921"}
#: Seconds of the phases of a process before its sampling, and between two of them.
SETUP_S, FIRST_S, WARM_UP_S, BETWEEN_S = 2.5, 0.5, 2.05, 0.2


def start(document, *, gpu=True, host=False, protocol=None):
    """Return a start record."""
    record = {
        "kind": "start",
        "document": document,
        "started_at": WHEN,
        "runtime": "host" if host else "container",
        "backend": "rocm" if gpu else "cpu",
        "lock_sha256": None if host else L,
        "cargo_sha256": identity.cargo(),
        "image_id": None if host else IMAGE["image_id"],
        "python": "3.13.5",
        "torch": {**(TORCH if gpu else fakes_node.TORCH_CPU)},
        "devices": [copy.deepcopy(GPU if gpu else CPU)],
        "host": {
            "identity": "b" * 64,
            "kernel": "6.12.0",
            "architecture": "x86_64",
            "cpu": "AMD EPYC 9654 96-Core Processor",
            "cores": 96,
            "memory_bytes": 1 << 40,
            "driver": "amdgpu 6.12.12" if gpu else None,
        },
        "environment": {"MIOPEN_FIND_MODE": "NORMAL"},
    }
    return record | ({"protocol": protocol} if protocol else {})


def end(records):
    """Return the end record for these records, as late as their last sample."""
    counts = {}
    for record in records:
        counts[record["kind"]] = counts.get(record["kind"], 0) + 1
    lasted = timedelta(seconds=math.ceil(max((record.get("at_s", 5.0) for record in records), default=5.0)))
    finished = datetime.strptime(WHEN, "%Y-%m-%dT%H:%M:%SZ") + lasted  # noqa: DTZ007 - the Z is UTC
    return {"kind": "end", "finished_at": f"{finished:%Y-%m-%dT%H:%M:%SZ}", "counts": counts}


def machine(*, gpu=True):
    """Return a machine of recorded answers on which nothing fails."""
    if not gpu:
        return fakes_node.laptop()
    probes = {
        "devices": json.dumps(fakes_node.torch_answer(torch=TORCH, order=(0,))),
        "numerics": json.dumps({"rows": fakes_node.numerics_rows("cuda:0"), "repeats": 3}),
    }
    return fakes_node.instinct(
        1, probes=probes, runs={"rocminfo": fakes_node.rocminfo((0,)), "hipconfig --version": "5.7.31921"}
    )


def report(*, gpu=True, numerics=2, **options):
    """Return the records of a validation: every check, its facts and what follows from them.

    Of hundreds of rows of numerics only the first are there, as mutations go through every value; None leaves them all,
    without which the operators that are missing fail.
    """
    records, here, lock = (
        [start("report-1", gpu=gpu, **options)],
        machine(gpu=gpu),
        None if options.get("host") else LOCK,
    )
    for name, check in BY_NAME.items():
        record = to_dict(gather(check, here, lock)) | {"seconds": 0.25}
        if name in FACTS and (gpu or "backend" not in FACTS[name]):
            record["facts"] = copy.deepcopy(FACTS[name])
        if name == "driver":
            record["facts"]["kernel"] = records[0]["host"]["kernel"]
        if name == "environment":
            record["facts"]["variables"] = dict(records[0]["environment"])
        if name == "versions":
            record["facts"]["sources"]["python"] = [["this interpreter", records[0]["python"]]]
        if name == "numerics":
            record["facts"]["rows"] = record["facts"]["rows"][:numerics]
        records += [record, *judge_again([record], lock)]
    return [*records, end(records)]


def judged_again(records, lock):
    """Return the records of a validation with the findings that follow from its facts as they are now."""
    judged = [records[0]]
    for record in records:
        if record["kind"] == "facts":
            judged += [record, *judge_again([record], lock)]
    return [*judged, end(judged)]


def results(*, processes=3, samples=40, case_sha256="", seed=1, gpu=True, **options):
    """Return the records of a benchmark run with noise like a real one's."""
    measured = copy.deepcopy(CASES)
    if case_sha256:
        measured[1] |= {"case": OWN, "file_sha256": case_sha256}
    timing = next((one for one in plan.TIMING.values() if one.processes == processes), plan.TIMING["quick"])
    protocol = plan.protocol("custom", replace(timing, processes=processes), 2, measured, 0)
    rng = random.Random(seed)
    records, at_s = [start("results-1", protocol=protocol, gpu=gpu, **options)], 0.0
    for position, (case, process) in enumerate(protocol["order"]):
        level, taken = SECONDS[case] * (1 + 0.01 * (rng.random() - 0.5)), []
        inner = math.ceil(1.05 * protocol["sampling_s"] / (samples * level))
        begin = at_s = at_s + BETWEEN_S + SETUP_S + FIRST_S + WARM_UP_S
        for index in range(samples):
            taken.append(level * (1 + 0.004 * (rng.random() - 0.5)))
            at_s += taken[-1] * inner + 1e-4
            about = {"kind": "sample", "case": case, "process": process, "index": index}
            records.append({**about, "seconds": taken[-1], "at_s": at_s})
        if gpu:
            records.append(
                {"kind": "telemetry", "process": position, "at_s": at_s, "device": GPU["pci"], "power_w": 688.5}
            )
        records.append(process_record(case, process, position, taken, inner=inner, lasted=at_s - begin, gpu=gpu))
    return [*records, end(records)]


def process_record(case, process, order, taken, *, inner, lasted, gpu=True):
    """Return the record of one good process."""
    error, tolerance = (0.0, 0.0) if case.startswith("copy") else (1.2e-3, 4e-3)
    check = {"passed": True, "error": error, "tolerance": tolerance, "finite": True, "reference": "float64 on the CPU"}
    width = statistics.median_half_width(taken)
    return {
        "kind": "process",
        "case": case,
        "process": process,
        "order": order,
        "status": "ok",
        "device": (GPU if gpu else CPU)["name"],
        "setup_s": SETUP_S,
        "first_call_s": FIRST_S,
        "inner": inner,
        "clock": "event" if gpu else "host",
        "cache": cache(case, gpu=gpu),
        "warm_up": {"seconds": WARM_UP_S, "steps": math.ceil(WARM_UP_S / taken[0]), "steady": True},
        "stop": {
            "rule": "precision",
            "samples": len(taken),
            "seconds": lasted,
            "half_width": width.relative if math.isfinite(width.relative) else None,
            "autocorrelation": width.autocorrelation,
        },
        "check_before": check,
        "check_after": check,
    }


def cache(case, *, gpu):
    """Return how many input sets defeat the cache of the device; a processor's memory is not enough for two."""
    size = KNOWN.get(case, KNOWN["copy.fp32.1gib"])["bytes"]
    if not gpu:
        return {"mode": "hot", "sets": 1, "llc_bytes": 32 << 20, "set_bytes": size}
    return {"mode": "rotate", "sets": math.ceil(3 * LLC_BYTES / size) + 1, "llc_bytes": LLC_BYTES, "set_bytes": size}


def lines(records):
    """Return records as JSON Lines."""
    return "".join(json.dumps(record, separators=(",", ":")) + "\n" for record in records).encode()


def evidence(*, gpu=True, host=False, with_report=True, with_results=True, case_file=b"", **options):
    """Return the evidence files of a good bundle, as `seal.assemble` takes them."""
    files = {}
    if with_report:
        files["validate/report.jsonl"] = lines(report(gpu=gpu, host=host))
    if with_results:
        digest = hashlib.sha256(case_file).hexdigest() if case_file else ""
        files["benchmarks/samples.jsonl.gz"] = lines(results(gpu=gpu, host=host, case_sha256=digest, **options))
    if not host:
        files |= {"lock.json": canon.dumps(LOCK), "image.json": canon.dumps(IMAGE)}
    if case_file:
        files["case/mine.py"] = case_file
    return files


def bundle(**options):
    """Return every file of a good bundle."""
    return seal.assemble(evidence(**options), created_at=WHEN, names={})[1]


def sealed_again(files, **changes):
    """Return the bundle with its manifest made to fit whatever lies in `files`: a liar who knows the format."""
    manifest = json.loads(files["bundle.json"]) | changes
    manifest["files"] = [
        {
            "path": path,
            "sha256": hashlib.sha256(data).hexdigest(),
            "size_bytes": len(data),
            "role": seal.layout.role(path),
        }
        for path, data in sorted(files.items())
        if path != "bundle.json"
    ]
    manifest["bundle_hash"] = identity.bundle_hash(manifest)
    return files | {"bundle.json": canon.dumps(manifest) + b"\n"}


def write(files, folder):
    """Write the files of a bundle into a folder."""
    for path, data in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    return folder
