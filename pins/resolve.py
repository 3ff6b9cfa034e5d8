"""Turn a pin into a lock: every package by name, version and sha256, or a base image by digest."""

from __future__ import annotations

import re
import shlex
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pins import archives, lock
from pins.apt import ESSENTIAL, Apt
from pins.paths import is_folder
from pins.progress import Progress
from schema import documents
from schema.canon import digest
from schema.errors import KitError

if TYPE_CHECKING:
    from pins.apt import Package

BUILDS = {"debian": "cpu", "amd": "rocm"}  # the channels that are resolved, and what their PyTorch computes on
# Component of the stack: the package whose upstream version it has. What a part reports otherwise stands in the pin.
COMPONENTS = {
    "amd-smi": "amd-smi",
    "clang": "clang-17",
    "comgr": "libamd-comgr2",
    "device-libs": "rocm-device-libs-17",
    "hip": "hipcc",
    "numpy": "python3-numpy",
    "python": "python3",
    "rocm-smi": "rocm-smi",
    "rocminfo": "rocminfo",
    "rocr": "libhsa-runtime64-1",
    "torch": "python3-torch",
    "torchvision": "python3-torchvision",
}
REPACKED = re.compile(r"(\+|~)(dfsg|ds|repack|git|really).*$")


def resolve(pin_path: Path, out_dir: Path, *, root: Path = Path("/"), progress: bool = True) -> Path:
    """Write the lock of a pin into `out_dir` and return its path.

    Channel debian asks this host's Debian archive (KitError when it cannot, or has other versions than the pin says);
    channel amd needs no network, and no other is resolved. The same archive and pin give the same bytes.
    """
    pin = lock.load_pin(pin_path)
    if not is_folder(out_dir):
        raise KitError(f"there is no folder {out_dir}", f"mkdir -p {shlex.quote(str(out_dir))}, then run it again")
    if pin_path.name != pin["name"] + lock.PIN_SUFFIX:
        raise KitError(f"{pin_path.name} calls itself {pin['name']}", f"rename it to {pin['name']}{lock.PIN_SUFFIX}")
    if pin["channel"] not in BUILDS:
        raise KitError(
            f"{pin_path.name}: pins of channel {pin['channel']} are not resolved by this version",
            f"use one of: {', '.join(sorted(BUILDS))}",
        )
    debs, components = _from_debian(pin, root, shown=progress) if pin["channel"] == "debian" else ([], {})
    components = dict(sorted((components | pin.get("components", {})).items()))
    torch = components.get("torch", pin["pytorch"])
    for what, asked, found in (
        ("PyTorch", pin["pytorch"], torch),
        ("Python", pin["python"], components.get("python", pin["python"])),
    ):
        if not f"{found}.".startswith(f"{asked}."):
            raise KitError(
                f"{pin_path.name} asks for {what} {asked}, and the archive has {found}", "correct the pin, or its suite"
            )
    document = {
        "lock_version": "1",
        "name": pin["name"],
        "rocm": pin["rocm"],
        "channel": pin["channel"],
        "pin_sha256": digest(pin),
        "source_date_epoch": pin["source_date_epoch"],
        "platform": pin["platform"],
        "base": pin.get("base"),
        "python": components.get("python", pin["python"]),
        "torch": {"version": torch, "build": BUILDS[pin["channel"]]},
        "gfx": pin["gfx"],
        "components": components,
        "host_requirements": pin.get("host_requirements", {}),
        "environment": pin.get("environment", {}),
        "debs": debs,
        "wheels": [],
    }
    if "notes" in pin:
        document["notes"] = pin["notes"]
    documents.check(document, "lock-1", pin["name"])
    path = out_dir / f"{pin['name']}{lock.LOCK_SUFFIX}"
    lock.write(document, path, f"Made from {pin_path.name} by `./kit lock`. Review it like code; do not edit it.")
    return path


def upstream(version: str) -> str:
    """Return the upstream part of a Debian version: no epoch, no revision, no mark of repacking."""
    version = version.partition(":")[2] or version
    return REPACKED.sub("", version.rpartition("-")[0] or version)


def _from_debian(pin: dict[str, Any], root: Path, *, shown: bool) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Return the packages of a pin, as a lock lists them, and the versions of its components."""
    with tempfile.TemporaryDirectory(prefix="kit-apt-") as folder, Progress("lock", shown=shown) as progress:
        apt = Apt(Path(folder), pin["suite"], archives.find(root))
        progress.note(f"reading the signed indexes of Debian {pin['suite']}")
        apt.update()
        progress.note("choosing packages")
        essential = {package.name for package in apt.solve([ESSENTIAL])}
        # Naming the essential ones again keeps apt from choosing other alternatives the second time.
        packages = apt.solve([*sorted(essential), *pin["packages"]])
        times = apt.snapshots()
    missing = essential - {package.name for package in packages}
    if missing:
        raise KitError(
            f"packages {', '.join(sorted(missing))} conflict with what a minimal system needs", "correct the pin"
        )
    by_name = {package.name: package for package in packages}
    components = {part: upstream(by_name[name].version) for part, name in COMPONENTS.items() if name in by_name}
    return [_entry(package, times, essential) for package in packages], components


def _entry(package: Package, times: dict[str, str], essential: set[str]) -> dict[str, Any]:
    return {
        "name": package.name,
        "version": package.version,
        "architecture": package.architecture,
        "sha256": package.sha256,
        "size": package.size,
        "archive": package.archive,
        "path": package.path,
        "snapshot": times[package.archive],
        "bootstrap": package.name in essential,
    }
