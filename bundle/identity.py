"""Name a bundle: what hangs on what, two hashes, and which sources made its views."""

from __future__ import annotations

import functools
import hashlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schema import canon, sources
from schema.errors import KitError

if TYPE_CHECKING:
    from array import array

    from bundle.evidence import Evidence

FOLDER = Path(__file__).parent
HINT = "unset PYTHONOPTIMIZE"


def chain(evidence: Evidence) -> dict[str, Any]:
    """Return L -> image -> K -> protocol, as the evidence says it."""
    start, results = evidence.start, evidence.results
    return {
        "lock_sha256": start["lock_sha256"],
        "image_id": start["image_id"],
        "manifest_digest": evidence.image["manifest_digest"] if evidence.image else None,
        "cargo_sha256": start["cargo_sha256"],
        "protocol_sha256": canon.digest(results.protocol) if results else None,
    }


def content_hash(evidence: Evidence) -> str:
    """Return the digest of what was found, without times, host and paths.

    The same lock, findings and samples give the same hash wherever and whenever they are sealed. Samples count as the
    64-bit numbers they are (little-endian), in their order.
    """
    start, report, results = evidence.start, evidence.report, evidence.results
    device_keys = ("backend", "name", "gfx", "compute_capability", "compute_units", "memory_bytes")
    content = {
        "form": "content-1",
        "chain": chain(evidence),
        "backend": start["backend"],
        "torch": {key: start["torch"].get(key) for key in ("version", "build", "git")},
        "devices": [{key: device.get(key) for key in device_keys} for device in start["devices"]],
        "findings": [[found["code"], found["status"]] for found in report.findings] if report else None,
        "processes": [[run["case"], run["process"], run["status"]] for run in results.processes] if results else None,
        "samples": [[*key, _digest(series)] for key, series in sorted(results.samples.items())] if results else None,
        "cases": {path: hashlib.sha256(data).hexdigest() for path, data in evidence.cases.items()},
    }
    return canon.digest(content)


def _digest(series: array[float]) -> str:
    if sys.byteorder == "big":
        series = series[:]
        series.byteswap()
    return hashlib.sha256(series.tobytes()).hexdigest()


def bundle_hash(manifest: dict[str, Any]) -> str:
    """Return the digest over the manifest without this field. It has each file's digest: every byte counts."""
    return canon.digest({key: value for key, value in manifest.items() if key != "bundle_hash"})


def require_docstrings() -> None:
    """Raise KitError where Python has left them out: what a case measures is said in its docstring."""
    if sys.flags.optimize > 1:
        raise KitError("Python was told to leave docstrings out (-OO), and titles are made from them", HINT)


@functools.cache
def cargo() -> str:
    """Return K of the sources that run here."""
    return sources.digest()


@functools.cache
def renderer() -> str:
    """Return the digest over the sources that make views: this package, and K for statistics and facts."""
    total = hashlib.sha256(cargo().encode())
    for path in sorted(FOLDER.iterdir()):
        if path.suffix in {".py", ".css"}:
            total.update(f"{path.name}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return total.hexdigest()
