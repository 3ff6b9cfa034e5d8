"""Environment variables that change results: which are known, which look as if, and what may be told about them."""

from __future__ import annotations

import difflib
import functools
import hashlib
import itertools
import re
from typing import TYPE_CHECKING, Any

from schema import facts

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIXES = (
    "HSA_", "HIP_", "HCC_", "ROCR_", "ROCM_", "ROCm_", "ROC_", "AMD_", "AMDGPU_", "GPU_", "MIOPEN_", "ROCBLAS_",
    "HIPBLASLT_", "HIPBLAS_", "TENSILE_", "PYTORCH_", "TORCH", "NCCL_", "RCCL_",
)  # fmt: skip
#: Read by programs we know, and without effect on a result: where things lie, what to build for, which interface.
HARMLESS = frozenset({
    "ROCM_PATH", "ROCM_HOME", "ROCM_VERSION", "ROCM_DIR", "HIP_PATH", "HIP_PLATFORM", "HIP_COMPILER", "HIP_RUNTIME",
    "HIP_CLANG_PATH", "HIP_DEVICE_LIB_PATH", "HSA_PATH", "PYTORCH_ROCM_ARCH", "PYTORCH_VERSION", "GPU_ARCHS",
    "GPU_TARGETS", "AMDGPU_TARGETS", "TORCH_HOME", "TORCH_CUDA_ARCH_LIST", "TORCH_EXTENSIONS_DIR", "TORCH_VERSION",
    "TORCHVISION_VERSION", "NCCL_VERSION", "NCCL_SOCKET_IFNAME", "NCCL_IB_HCA", "TORCH_SHOW_CPP_STACKTRACES",
})  # fmt: skip
#: Change which libraries or kernels run, whatever their vendor.
ALSO = (
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_LAUNCH_BLOCKING",
    "KMP_AFFINITY",
    "GOMP_CPU_AFFINITY",
)
GPU_ID = re.compile(r"GPU-[0-9a-fA-F-]{16,40}")  # names one card in the world
#: What the kit sets inside a container: folders in memory, empty at the start, and a user without a face.
FRESH = ("/cache", "/tmp")  # noqa: S108 - named here, never written to
NOBODY = frozenset({"root", "kit", "user"})
LONGEST_NAME = 80
NOT_TOLD = "(set; the value of a variable that we do not know is not recorded)"


@functools.cache
def known() -> dict[str, dict[str, Any]]:
    """Return the facts about each real variable by its name; names written together (`A_{X,Y}`, `A / B`) apart."""
    return {name: entry for entry in facts.load("env-vars")["env"] for name in expand(entry["name"])}


@functools.cache
def not_real() -> dict[str, dict[str, Any]]:
    """Return the names that nothing reads; entries about a real name's wrong meaning are left out."""
    return {
        name: entry
        for entry in facts.load("env-vars")["not_real"]
        for name in expand(entry["name"])
        if re.match(r"^[A-Za-z_]+$", name) and name not in known()
    }


def expand(name: str) -> list[str]:
    """Return the plain names in `A_{X,Y}` or `A / B`."""
    names = []
    for part in name.split(" / "):
        pieces = [piece.split(",") for piece in re.split(r"[{}]", part)]
        names += ["".join(choice) for choice in itertools.product(*pieces)]
    return names


def nearest(name: str) -> str | None:
    """Return the known variable that a name most likely means; None when none is near."""
    hints = facts.load("env-vars")["typo_hints"]
    if name in hints:
        return str(hints[name]).split(" ")[0]
    if len(name) > LONGEST_NAME:
        return None
    found = difflib.get_close_matches(name.upper(), list(known()), n=1, cutoff=0.85)
    return found[0] if found else None


def relevant(name: str) -> bool:
    """Tell whether a variable belongs into the record."""
    return name in known() or name in ALSO or name.startswith(PREFIXES)


def record(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables to record, sorted; values without home folders and user names."""
    personal = [environment.get(name, "") for name in ("HOME", "USER", "LOGNAME")]
    return {
        name: redact(value, personal) if name in known() or name in ALSO or name in HARMLESS else NOT_TOLD
        for name, value in sorted(environment.items())
        if relevant(name)
    }


def redact(text: str, personal: list[str]) -> str:
    """Replace home folders by `~`, user names by `user`, a card's id by a hash. `personal` is [home, names ...]."""
    home, *names = personal
    if len(home) > 1 and home not in FRESH:
        text = re.sub(re.escape(home.rstrip("/")) + r"(?![\w.-])", "~", text)
    text = re.sub(r"/(?:home|Users)/[^/:\s]+", "~", text)
    text = re.sub(r"(?<![\w.-])/root(?![\w.-])", "~", text)
    text = GPU_ID.sub(lambda match: "GPU-" + hashlib.sha256(match[0].lower().encode()).hexdigest()[:12], text)
    for name in names:
        if len(name) > 1 and name not in NOBODY:
            text = re.sub(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])", "user", text)
    return text
