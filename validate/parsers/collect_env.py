"""Read `python -m torch.utils.collect_env`."""

from __future__ import annotations

import re
from typing import Any

from validate.parsers.reading import Reading
from validate.parsers.values import gfx, known, lines, plain, words

LINE = re.compile(r"([A-Z][\w /.()]{1,60}):\s{0,4}(.{0,2000})")
PACKAGE = re.compile(r"\[(pip3?|conda)\] ([\w.-]{1,80})(?:==|\s{1,40})(\S{1,80})")
GPU = re.compile(r"(?:GPU (\d{1,3}): )?(.{1,200})")
NAMED = re.compile(r"(.{1,200}) \((gfx\S{1,60})\)")
#: `ROCM used to build PyTorch` is a version of HIP.
VERSIONS = {
    "PyTorch version": "torch", "ROCM used to build PyTorch": "hip_built", "CUDA used to build PyTorch": "cuda_built",
    "HIP runtime version": "hip", "MIOpen runtime version": "miopen", "CUDA runtime version": "cuda",
    "Nvidia driver version": "nvidia_driver", "Python version": "python", "OS": "os", "Libc version": "libc",
    "GCC version": "gcc", "Clang version": "clang", "CMake version": "cmake",
}  # fmt: skip


def read(text: str) -> Reading:
    """Return the GPUs that torch named, the versions, `facts["packages"]`; what it could not collect is absent."""
    reading, text = Reading(), plain(text)
    keys: dict[str, str] = {}
    models: list[str] = []
    last = ""
    for line in lines(text):
        found, package = LINE.match(line), PACKAGE.match(line)
        if package and package[2] != "No":  # "No relevant packages"
            reading.facts.setdefault("packages", {})[package[2]] = package[3]
        elif last == "GPU models and configuration" and re.match(r"GPU \d{1,3}: ", line):
            models.append(line)
        elif found and not line.startswith("File "):
            last = found[1]
            keys.setdefault(last, found[2].strip())
        if line.startswith(("Traceback", "IndexError", "RuntimeError", "ModuleNotFoundError", "ImportError")):
            reading.warn(f"it stopped: {line.strip()}")
    reading.versions = known({name: words(keys.get(key)) for key, name in VERSIONS.items()})
    if "cmake" in reading.versions:
        reading.versions["cmake"] = reading.versions["cmake"].replace("version ", "")
    models = [keys.get("GPU models and configuration", ""), *models]
    reading.devices = [device for model in models for device in _device(model)]
    available = {"True": True, "False": False}.get(keys.get("Is CUDA available", ""))
    reading.facts.update(known({"cuda_available": available}))
    if "torch" in reading.versions or "PyTorch version" in keys:
        reading.form = "collect_env"
    elif "Collecting environment information" in text or ("collect_env" in text and reading.warnings):
        reading.form = "messages"
    reading.facts["other"] = {key: value for key, value in keys.items() if key not in VERSIONS}
    return reading


def _device(model: str) -> list[dict[str, Any]]:
    """Read `AMD Instinct MI210 (gfx90a:sramecc+:xnack-)` or `GPU 0: NVIDIA H200`."""
    match = GPU.fullmatch(model.strip())
    if not match or not words(match[2]) or match[2].startswith("Could not"):
        return []
    named = NAMED.fullmatch(match[2])
    index = int(match[1]) if match[1] else None
    name, target = (named[1], gfx(named[2])) if named else (match[2], None)
    return [{**known({"index": index, "name": name, "gfx": target}), "raw": {"model": model.strip()}}]
