"""Learn which torch this is, which devices it sees, and whether each of them adds up."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

from validate.probes import answer

#: Libraries whose origin changes results: two copies in one process are a fault.
LIBRARIES = (
    "libamdhip64", "libhsa-runtime64", "librocblas", "libhipblas", "libhipblaslt", "libMIOpen", "librccl", "libamd_smi",
    "libcudart", "libcublas", "libcublasLt", "libcudnn", "libnccl", "libopenblas", "libblas", "libmkl_rt", "libgomp",
    "libtorch_cpu", "libtorch_cuda", "libtorch_hip",
)  # fmt: skip
PCI_QUERY = {"libamdhip64": "hipDeviceGetPCIBusId", "libcudart": "cudaDeviceGetPCIBusId"}


def learn() -> dict[str, Any]:
    """Return the facts; whatever torch refuses is said under `error`."""
    try:
        import torch
    except Exception as error:  # noqa: BLE001 - a broken wheel fails in any way it likes
        return {"torch": {"version": None, "build": None, "error": _say(error)}, "available": False, "devices": []}
    found: dict[str, Any] = {"torch": about(torch), "available": False, "devices": []}
    found["switches"] = {
        "cudnn_enabled": bool(torch.backends.cudnn.enabled),
        "cudnn_allow_tf32": bool(torch.backends.cudnn.allow_tf32),
        "matmul_allow_tf32": bool(torch.backends.cuda.matmul.allow_tf32),
        "mkldnn": bool(torch.backends.mkldnn.is_available()),
        "mkl": bool(torch.backends.mkl.is_available()),
        "threads": torch.get_num_threads(),
    }
    try:
        found["available"] = torch.cuda.is_available()
        count = torch.cuda.device_count() if found["available"] else 0
        found["devices"] = [describe(torch, index) for index in range(count)]
    except Exception as error:  # noqa: BLE001 - the runtime's own errors are RuntimeError, AssertionError, OSError ...
        found["error"] = _say(error)
    found["proof"] = [prove(torch, name) for name in ["cpu", *(f"cuda:{d['index']}" for d in found["devices"])]]
    found["libraries"] = mapped()
    return found


def about(torch: Any) -> dict[str, Any]:
    """Return the `torch` object of a report. `hip` is HIP's version, never ROCm's; only newer builds have `rocm`."""
    version = torch.version
    hip, cuda = getattr(version, "hip", None), getattr(version, "cuda", None)
    build = "rocm" if hip else "cuda" if cuda else "cpu"
    try:
        arch = (torch._C._cuda_getArchFlags() or "").split()  # noqa: SLF001 - the public call is empty without a device
    except Exception:  # noqa: BLE001 - a CPU build has no such function
        arch = []
    return {
        "version": str(torch.__version__),
        "build": build,
        "hip": hip,
        "rocm": getattr(version, "rocm", None),
        "cuda": cuda,
        "git": getattr(version, "git_version", None),
        "arch_list": arch,
    }


def describe(torch: Any, index: int) -> dict[str, Any]:
    """Return what the runtime says about one device; sizes in bytes."""
    properties = torch.cuda.get_device_properties(index)
    gfx = getattr(properties, "gcnArchName", None) if torch.version.hip else None
    capability = None if torch.version.hip else f"{properties.major}.{properties.minor}"
    return {
        "index": index,
        "name": properties.name,
        "pci": pci(properties, index),
        "gfx": gfx,
        "compute_capability": capability,
        "compute_units": properties.multi_processor_count,
        "memory_bytes": properties.total_memory,
        "wavefront": getattr(properties, "warp_size", None),
        "l2_bytes": getattr(properties, "L2_cache_size", None),
    }


def pci(properties: Any, index: int) -> str | None:
    """Return domain:bus:device.function. Older torch does not tell: then the runtime library is asked."""
    bus = getattr(properties, "pci_bus_id", None)
    if isinstance(bus, int):
        domain = getattr(properties, "pci_domain_id", 0)
        return f"{domain:04x}:{bus:02x}:{getattr(properties, 'pci_device_id', 0):02x}.0"
    for library, function in PCI_QUERY.items():
        for path in mapped().get(library, []):
            text = ctypes.create_string_buffer(32)
            if getattr(ctypes.CDLL(path), function)(text, len(text), index) == 0:
                return text.value.decode().lower()
    return None


def prove(torch: Any, name: str) -> dict[str, Any]:
    """Multiply on the device and compare with the exact result: 64 ones times 64 ones is 64 everywhere."""
    try:
        out = torch.ones(64, 64, device=name) @ torch.ones(64, 64, device=name)
        return {"device": str(out.device), "total": float(out.sum()), "expected": 64.0**3}
    except Exception as error:  # noqa: BLE001 - whatever the runtime raises is the fact
        return {"device": name, "error": _say(error)}


def mapped() -> dict[str, list[str]]:
    """Return, by library, the files that this process really has loaded."""
    found: dict[str, set[str]] = {}
    for line in Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines():
        path = line.split(None, 5)[-1] if "/" in line else ""
        stem = Path(path).name.split(".so")[0]
        for library in LIBRARIES:
            # wheels carry copies with a hash in the name: libgomp-a34b3233.so.1
            if ".so" in path and (stem == library or stem.rsplit("-", 1)[0] == library):
                found.setdefault(library, set()).add(str(Path(path).resolve()))
    return {library: sorted(paths) for library, paths in sorted(found.items())}


def _say(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).strip().splitlines()[0][:300] if str(error).strip() else ''}"


if __name__ == "__main__":
    answer(learn)
