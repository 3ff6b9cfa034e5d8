"""The GPUs of this machine that a run may have, numbered as their runtime numbers them, and which of them it gets.

AMD's runtime counts the nodes of the KFD topology that it may open, NVIDIA's tools count by PCI address. A GPU that the
device cgroup of this shell refuses is another job's: it has no number, and no container gets it.
"""

from __future__ import annotations

import errno
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pins.host import NODES
from pins.paths import matching, text_of, there
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

AMD_VENDOR = "0x1002"
#: What a caller may have set to name GPUs: of each step the first that is set filters what the step before left.
MASKS = {
    "rocm": (("ROCR_VISIBLE_DEVICES",), ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL")),
    "cuda": (("CUDA_VISIBLE_DEVICES",),),
}


@dataclass(frozen=True)
class Gpu:
    """One GPU: its number, its PCI address, its device node (a path of the host), the id that masks may name it by.

    What cannot be read is empty.
    """

    index: int
    address: str
    node: Path
    uuid: str = ""
    model: str = ""

    @property
    def text(self) -> str:
        """What doctor shows of it."""
        return f"{self.index}: {self.address or 'address unknown'} ({self.node.name})"


def open_errno(path: Path) -> int:
    """Open a device read-write, as a run would, and return errno, 0 when it opened. A healthy KFD fails a mere read."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CLOEXEC))
    except OSError as error:
        return error.errno or errno.EIO
    return 0


def render_nodes(root: Path) -> list[Path]:
    """Return the render nodes of AMD GPUs; one whose maker cannot be read counts, another maker's does not."""
    nodes = sorted(matching(root / "dev/dri", "renderD*"), key=lambda path: (len(path.name), path.name))
    return [node for node in nodes if text_of(root / "sys/class/drm" / node.name / "device/vendor") in {AMD_VENDOR, ""}]


def allowed(nodes: Sequence[Path]) -> list[Path]:
    """Return the nodes that the device cgroup of this process, a Slurm job's perhaps, does not refuse."""
    return [node for node in nodes if open_errno(node) != errno.EPERM]


def listed(backend: str, root: Path) -> list[Gpu]:
    """Return the GPUs of a backend that this process may use, in the order of their numbers."""
    found = {"rocm": _amd, "cuda": _nvidia}[backend](root)
    nodes = allowed([gpu.node for gpu in found])
    usable = [gpu for gpu in found if gpu.node in nodes]
    return [Gpu(index, gpu.address, gpu.node, gpu.uuid, gpu.model) for index, gpu in enumerate(usable)]


def _amd(root: Path) -> list[Gpu]:
    """Return the GPUs of the KFD topology; where it cannot be read, the render nodes."""
    found = []
    for place in sorted(matching(root / NODES, "*"), key=lambda path: (len(path.name), path.name)):
        rows = (line.partition(" ") for line in text_of(place / "properties").splitlines())
        facts = {name: int(value) for name, _, value in rows if value.strip().isdigit()}
        node = root / f"dev/dri/renderD{facts.get('drm_render_minor', 0)}"
        if facts.get("gfx_target_version") and there(node):  # 0 is a CPU
            uuid = f"GPU-{facts['unique_id']:016x}" if facts.get("unique_id") else ""
            found.append(Gpu(0, _address(facts.get("domain", 0), facts.get("location_id", 0)), node, uuid))
    return found or [Gpu(0, _address_of(root, node), node) for node in render_nodes(root)]


def _address(domain: int, location: int) -> str:
    return f"{domain:04x}:{location >> 8 & 0xFF:02x}:{location >> 3 & 0x1F:02x}.{location & 7:x}"


def _address_of(root: Path, node: Path) -> str:
    try:
        return (root / "sys/class/drm" / node.name / "device").resolve(strict=True).name
    except OSError:
        return ""


def _nvidia(root: Path) -> list[Gpu]:
    """Return what NVIDIA's driver lists, by PCI address as `nvidia-smi` and the container toolkit do."""
    found = []
    for place in matching(root / "proc/driver/nvidia/gpus", "*"):
        rows = (line.partition(":") for line in text_of(place / "information").splitlines())
        facts = {name.strip(): value.strip() for name, _, value in rows}
        node = root / f"dev/nvidia{facts.get('Device Minor', '0')}"
        found.append(Gpu(0, place.name, node, facts.get("GPU UUID", ""), facts.get("Model", "")))
    return found


def chosen(items: Sequence[str], gpus: Sequence[Gpu], source: str, hint: str) -> list[Gpu]:
    """Return the GPUs that the items name: numbers, ids, PCI addresses (as nvidia-smi writes them, or without domain).

    KitError, naming `source` and what there is, with `hint`, for one that names none, and for one named twice.
    """
    found: list[Gpu] = []
    there_are = ", ".join(gpu.text for gpu in gpus) or "none"
    for item in items:
        names = {item.lower(), f"0000:{item.lower()}", item.lower().removeprefix("0000")}
        match = [gpu for gpu in gpus if names & {str(gpu.index), gpu.address.lower(), gpu.uuid.lower()}]
        if not item or not match:
            raise KitError(f"{source}: there is no GPU {item!r} here; there are: {there_are}", hint)
        if match[0] in found:
            raise KitError(f"{source} names GPU {item} twice", hint)
        found.append(match[0])
    return found


def masked(backend: str, gpus: Sequence[Gpu], environ: Mapping[str, str]) -> tuple[list[Gpu], str]:
    """Return the GPUs that the caller's environment leaves, as the runtime would read it, and the variables; all, "".

    A container does not inherit those variables: what they mean is given to it. KitError where that is nothing, or
    cannot be told: runtimes then go on with fewer GPUs, or other ones, without a word.
    """
    left, read = list(gpus), []
    for step in MASKS[backend]:
        name = next((name for name in step if name in environ), None)
        if name is None:
            continue
        hint = f"name the GPUs with --gpus, which goes before it, or `unset {name}`"
        source = f"{name}={environ[name]}"
        items = [item.strip() for item in environ[name].split(",")]
        if items in ([""], ["-1"]):
            raise KitError(f"{name} is {environ[name]!r}: it hides every GPU", hint)
        if len({gpu.model for gpu in left}) > 1 and _by_speed(environ) and any(map(str.isdigit, items)):
            raise KitError(f"{source} counts the fastest GPU first, and these are not alike", hint)
        again = [Gpu(index, gpu.address, gpu.node, gpu.uuid, gpu.model) for index, gpu in enumerate(left)]
        left = chosen(items, again, source, hint)
        read.append(source)
    return left, " and ".join(read)


def _by_speed(environ: Mapping[str, str]) -> bool:
    return environ.get("CUDA_DEVICE_ORDER") != "PCI_BUS_ID"


def cdi_names(items: Sequence[str]) -> list[str]:
    """Return the items if they are full CDI names, such as amd.com/gpu=0; none otherwise. KitError for a mixture."""
    found = [item for item in items if re.fullmatch(r"[\w.-]+/[\w.-]+=[\w.:-]+", item)]
    if found and len(found) < len(items):
        raise KitError(f"--gpus mixes CDI names and others: {','.join(items)}", "give one kind of them")
    return found
