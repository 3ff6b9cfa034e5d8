"""Look at the Python, PyTorch and ROCm of an image, in under a second: by files and metadata, importing nothing."""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import runpy
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

from images.inside import steps

FAMILY = ("torch", "torchvision", "torchaudio", "triton")
#: Distributions that own the family's modules, under any of their names.
OWNERS = re.compile(r"torch|torchvision|torchaudio|triton|(pytorch-)?triton(-rocm)?|pytorch-triton|vllm")
IMPORT_S = 300
MAX_SHARED = 20  # two names tell the fault; a whole overlapping package would be thousands


def look() -> dict[str, Any]:
    """Return versions as the image's files tell them; what is not there is null or an empty list."""
    return {
        "python": platform.python_version(),
        "torch": torch(),
        "rocm": rocm(),
        "distributions": [_about(one) for one in _distributions()],
    }


def look_closer() -> dict[str, Any]:
    """Return that, and what importing each of PyTorch's family says, with files that two distributions own."""
    return {**look(), "imports": imports(), "shared": shared(), "triton_amd": _triton_amd()}


def torch() -> dict[str, Any] | None:
    """Return {version, hip, cuda} of the installed torch, from its version.py; None where there is no torch."""
    spec = importlib.util.find_spec("torch")
    if not (spec and spec.origin):
        return None
    try:
        said = runpy.run_path(str(Path(spec.origin).with_name("version.py")))
    except Exception as error:  # noqa: BLE001 -- somebody's file: whatever it raises, it tells no version
        return {"version": None, "hip": None, "cuda": None, "error": str(error)[:200]}
    return {"version": said.get("__version__"), "hip": said.get("hip"), "cuda": said.get("cuda")}


def rocm(root: Path = Path("/")) -> list[list[str]]:
    """Return [source, version] of each place that tells a ROCm version, the best first."""
    names = (".info/version", ".info/version-dev")
    found = [[f"/opt/rocm/{name}", _read(root / "opt/rocm" / name)] for name in names]
    header = _read(root / "opt/rocm/include/rocm-core/rocm_version.h")
    match = re.search(r'ROCM_BUILD_INFO\s+"([^"]+)"', header)
    found.append(["rocm_version.h", match[1] if match else ""])
    real = re.search(r"rocm-(\d[\d.]*)$", os.path.realpath(root / "opt/rocm"))
    found.append(["the folder of /opt/rocm", real[1] if real else ""])
    wheels = [one for one in _distributions() if _name(one) in {"rocm", "rocm-sdk-core"}]
    found += [[f"the wheel {_name(one)}", one.version] for one in wheels]
    return [[source, text.strip().split("\n")[0][:100]] for source, text in found if text.strip()]


def imports() -> dict[str, str]:
    """Return what importing each member says: nothing when all is well."""
    said = {}
    for name in FAMILY:
        if importlib.util.find_spec(name):
            argv = [sys.executable, "-B", "-c", f"import {name}"]
            ran = steps.ask(argv, IMPORT_S)
            lines = ran.stderr.strip().splitlines() or [f"exit code {ran.code}"]
            said[name] = lines[-1][:300] if ran.code else ""
    return said


def shared() -> dict[str, list[str]]:
    """Return files that several distributions of the family own, each with their names; the first few."""
    owners: dict[str, set[str]] = {}
    for one in _distributions():
        if OWNERS.fullmatch(_name(one)):
            for path in one.files or []:
                if path.suffix != ".pyc" and path.parts[0] != "..":
                    owners.setdefault(str(one.locate_file(path)), set()).add(_name(one))
    several = {path: sorted(names) for path, names in sorted(owners.items()) if len(names) > 1}
    return dict(list(several.items())[:MAX_SHARED])


def _triton_amd() -> bool | None:
    """Say whether the installed triton has a back end for AMD, by its content; None where that does not tell."""
    spec = importlib.util.find_spec("triton")
    backends = Path(spec.origin).parent / "backends" if spec and spec.origin else None
    return (backends / "amd").is_dir() if backends and backends.is_dir() else None


def _distributions() -> list[metadata.Distribution]:
    return [one for one in metadata.distributions() if one.metadata["Name"]]


def _about(one: metadata.Distribution) -> dict[str, Any]:
    name = _name(one)
    requires = list(one.requires or []) if OWNERS.fullmatch(name) else []
    return {"name": name, "version": one.version, "folder": str(one.locate_file("")), "requires": requires}


def _name(one: metadata.Distribution) -> str:
    return re.sub(r"[-_.]+", "-", one.metadata["Name"]).lower()


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")[:20_000]
    except OSError:
        return ""
