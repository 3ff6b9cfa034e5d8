"""Turn a pin into a lock: every package by name, version and sha256, or a base image by digest."""

from __future__ import annotations

import re
import shlex
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pins import archives, lock, resolve_wheels
from pins.apt import ESSENTIAL, Apt
from pins.channels import BUILDS
from pins.choice import matches, numbers
from pins.paths import is_folder
from pins.progress import Progress
from pins.resolve_debian import distributions
from pins.resolve_target import Target
from pins.resolve_wheels import public
from schema import documents
from schema.canon import digest
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pins.apt import Package

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
TORCHES = frozenset({"torch", "torchvision", "torchaudio"})  # whose wheels are components of the stack, too
BASE_GLIBC = 28  # what PyTorch's wheels are made for; every image of AMD's for Ubuntu has a newer one
REPACKED = re.compile(r"(\+|~)(dfsg|ds|repack|git|really).*$")


def resolve(pin_path: Path, out_dir: Path, *, root: Path = Path("/"), progress: bool = True) -> Path:
    """Write the lock of a pin into `out_dir` and return its path.

    Packages are asked of this host's Debian archive, wheels of the indexes (KitError when these cannot be asked, or
    have other versions than the pin says); an image by digest needs no network. The same answers give the same bytes.
    """
    pin = lock.load_pin(pin_path)
    if not is_folder(out_dir):
        raise KitError(f"there is no folder {out_dir}", f"mkdir -p {shlex.quote(str(out_dir))}, then run it again")
    if pin_path.name != pin["name"] + lock.PIN_SUFFIX:
        raise KitError(f"{pin_path.name} calls itself {pin['name']}", f"rename it to {pin['name']}{lock.PIN_SUFFIX}")
    if pin["channel"] == "adopted":
        raise KitError(
            f"{pin_path.name} was made together with its lock from an image that existed",
            "./kit lock --from-image IMAGE makes both",
        )
    debs, components = _from_debian(pin, root, shown=progress) if "suite" in pin else ([], {})
    document = _document(pin, pin_path.name, debs, components)
    if pin.get("wheels"):
        document = _document(pin, pin_path.name, debs, components, _wheels(pin, document, shown=progress))
    documents.check(document, "lock-1", pin["name"])
    path = out_dir / f"{pin['name']}{lock.LOCK_SUFFIX}"
    lock.write(document, path, f"Made from {pin_path.name} by `./kit lock`. Review it like code; do not edit it.")
    return path


def _document(
    pin: dict[str, Any],
    where: str,
    debs: list[dict[str, Any]],
    components: dict[str, str],
    wheels: Sequence[dict[str, Any]] = (),
) -> dict[str, Any]:
    """Return the lock; KitError where what was found is not the PyTorch or Python that the pin asks for."""
    components = components | {item["name"]: public(item["version"]) for item in wheels if item["name"] in TORCHES}
    components = dict(sorted((components | pin.get("components", {})).items()))
    torch, python = components.get("torch", pin["pytorch"]), components.get("python", pin["python"])
    for what, asked, found in (("PyTorch", pin["pytorch"], torch), ("Python", pin["python"], python)):
        if not matches(found, asked):
            raise KitError(
                f"{where} asks for {what} {asked}, and the archive has {found}", "correct the pin, or its suite"
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
        "python": python,
        "torch": {"version": torch, "build": BUILDS[pin["channel"]]},
        "gfx": pin["gfx"],
        "components": components,
        "host_requirements": pin.get("host_requirements", {}),
        "environment": pin.get("environment", {}),
        "debs": debs,
        "wheels": list(wheels),
    }
    return document | ({"notes": pin["notes"]} if "notes" in pin else {})


def _wheels(pin: dict[str, Any], document: dict[str, Any], *, shown: bool) -> list[dict[str, Any]]:
    """Return the wheels of a pin beside the packages of the lock that it makes."""
    libc = next((deb["version"] for deb in document["debs"] if deb["name"] == "libc6"), None)
    target = Target(document["python"], numbers(upstream(libc))[1] if libc else BASE_GLIBC)
    with Progress("lock", shown=shown) as progress:
        present = distributions(document, shown=shown) if document["debs"] else {}
        progress.note("choosing wheels")
        return resolve_wheels.resolve(pin, present, target)


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
