"""Say in our words what an engine's `version` and `info` answers mean."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from images.endpoint import EngineError

if TYPE_CHECKING:
    from images.endpoint import Endpoint

CONTAINERD_STORE = "io.containerd.snapshotter.v1"
NEWER = "use Docker Engine 20.10 or newer, or Podman 4 or newer"
OLDEST_API = (1, 40)  # Docker 19.03 or Podman 3: the first with device requests


def describe(version: dict[str, Any], info: dict[str, Any], where: Endpoint) -> dict[str, Any]:
    """Return {name, version, storage} as image records have it, and what access and doctor need to know besides."""
    security = [str(item) for item in info.get("SecurityOptions") or []]
    parts = [str(part.get("Name", "")) for part in version.get("Components") or []]
    kernel = os.uname().release  # a socket may be forwarded, or lead into a virtual machine
    driver_status = dict(pair[:2] for pair in info.get("DriverStatus") or [] if len(pair) >= 2)
    return {
        "name": "podman" if any("podman" in part.lower() for part in parts) else "docker",
        "version": str(version.get("Version", "")),
        "storage": "containerd"
        if driver_status.get("driver-type") == CONTAINERD_STORE
        else str(info.get("Driver", "")),
        "api": str(version.get("ApiVersion", "0")),
        "address": where.url,
        "source": where.source,
        "remote": where.remote or str(info.get("KernelVersion") or kernel) != kernel,
        "rootless": any("name=rootless" in item for item in security),
        "userns_remap": any("name=userns" in item for item in security),
        "desktop": "docker desktop" in str(info.get("OperatingSystem")).lower(),
        "data_root": str(info.get("DockerRootDir", "")),
        "memory_bytes": int(info.get("MemTotal") or 0) or None,
        "cpus": int(info.get("NCPU") or 0) or None,
        "oci_runtime": str(info.get("DefaultRuntime") or ""),
        "runtimes": sorted(info.get("Runtimes") or {}),
        "cdi": sorted(str(device.get("ID")) for device in info.get("DiscoveredDevices") or []),
    }


def require_asked(description: dict[str, Any], where: Endpoint, engine: str) -> None:
    """Raise EngineError unless the engine that answered is the one that was asked for; empty asks for any."""
    name = description["name"]
    if engine in {"", name}:
        return
    message = f"{where.url} ({where.source}) is {name.capitalize()}, and {engine.capitalize()} was asked for"
    raise EngineError(message, f"--runtime {name}" + (f", or `{where.undo}`" if where.undo else ""), code="chosen")


def require_new(description: dict[str, Any]) -> None:
    """Raise EngineError for an engine whose API is older than what we ask of it."""
    if tuple(int(part) for part in description["api"].split(".")[:2]) < OLDEST_API:
        oldest = ".".join(map(str, OLDEST_API))
        message = f"{description['name']} {description['version']} speaks API {description['api']}, this needs {oldest}"
        raise EngineError(message, NEWER, code="old")
