"""The first record of every stream: what ran, where, on what. Shared with benchmarks."""

from __future__ import annotations

import hashlib
import platform
from pathlib import Path
from typing import TYPE_CHECKING, Any

import schema
from schema import sources
from schema.errors import KitError
from schema.records import Start
from schema.stream import now
from validate import backends, context, variables

if TYPE_CHECKING:
    from validate.machine import Machine

#: Public and fixed: the hash hides the id from readers, and lets two records of one machine be recognised.
SALT = "rocm-repro-kit host identity 1"
TORCH_FIELDS = ("version", "build", "hip", "rocm", "cuda", "git", "arch_list", "error")


def start_record(
    document: str,
    machine: Machine,
    protocol: dict[str, Any] | None = None,
    lock: dict[str, Any] | None = None,
) -> Start:
    """Return the start of a stream of `document` (`report-1`, `results-1`). KitError unless the cargo is ours."""
    assert_ours()
    given = context.load(machine)
    backend = backends.detect(machine)
    lock = lock or context.read_lock(machine)
    return Start(
        document=document,
        started_at=now(),
        runtime=given["runtime"],
        backend=backend,
        lock_sha256=given.get("lock_sha256") or (context.lock_digest(lock) if lock else None),
        cargo_sha256=sources.digest(),
        image_id=given.get("image_id"),
        python=platform.python_version(),
        torch=torch(machine),
        devices=backends.BACKENDS[backend].devices(machine),
        host=host(machine, backend),
        environment=variables.record(machine.env),
        protocol=protocol,
    )


def assert_ours() -> None:
    """Raise KitError when another package called `schema` was found first: generic names collide with wheels."""
    here = Path(__file__).resolve().parent.parent
    if Path(schema.__file__ or "").resolve().parent.parent != here:
        raise KitError(f"another package named schema is in the way: {schema.__file__}", f"set PYTHONPATH={here}")


def torch(machine: Machine) -> dict[str, Any]:
    """Return the `torch` object of a start record."""
    about = backends.torch_about(machine)
    return {name: about[name] for name in TORCH_FIELDS if name in about}


def host(machine: Machine, backend: str) -> dict[str, Any]:
    """Return the machine, without anything that names it."""
    kernel = machine.kernel()
    return {
        "identity": identity(machine),
        "kernel": kernel["release"],
        "architecture": kernel["architecture"],
        "cpu": backends.cpu_model(machine),
        "cores": backends.usable_cores(machine),
        "memory_bytes": backends.memory_bytes(machine),
        "driver": backends.BACKENDS[backend].driver(machine),
    }


def identity(machine: Machine) -> str | None:
    """Return the salted hash of the machine's id. None in a container, whose id (if any) is the image's."""
    if (
        context.load(machine)["runtime"] == "container"
        or machine.stat("/.dockerenv")
        or machine.stat("/run/.containerenv")
    ):
        return None
    found = (machine.read("/etc/machine-id") or "").strip()
    return hashlib.sha256(f"{SALT}\0{found}".encode()).hexdigest() if found else None
