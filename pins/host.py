"""See which accelerators this machine has, from the kernel's files alone."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pins.paths import is_folder, matching, there

NODES = "sys/class/kfd/kfd/topology/nodes"


@dataclass(frozen=True)
class Host:
    """The accelerators of one machine: `gfx` has one entry for each AMD GPU that the kernel's topology lists.

    `topology` is False where the kernel shows none: `gfx` is unknown then, not empty.
    """

    has_kfd: bool
    gfx: tuple[str, ...]
    nvidia: bool
    topology: bool = True

    @property
    def has_amd_gpu(self) -> bool:
        """`/dev/kfd` is there, and the topology does not say that all its nodes are CPUs."""
        return self.has_kfd and (bool(self.gfx) or not self.topology)


def look(root: Path = Path("/")) -> Host:
    """Look at `/dev/kfd`, the KFD topology, and the traces of NVIDIA's driver; nothing is opened but sysfs files.

    What this user may not see is not there: it could not be used either.
    """
    nodes = root / NODES
    return Host(
        has_kfd=there(root / "dev/kfd"),
        gfx=_targets(nodes),
        nvidia=there(root / "proc/driver/nvidia/version") or there(root / "dev/nvidia0"),
        topology=is_folder(nodes),
    )


def _targets(nodes: Path) -> tuple[str, ...]:
    """Return the gfx target of each GPU, in the kernel's order of nodes."""
    found = []
    for node in sorted(matching(nodes, "*/properties"), key=lambda path: (len(path.parent.name), path.parent.name)):
        try:
            text = node.read_text(encoding="ascii", errors="replace")
        except OSError:
            continue  # some kernels show other users' GPUs as unreadable nodes
        for line in text.splitlines():
            name, _, value = line.partition(" ")
            if name == "gfx_target_version" and value.strip().isdigit() and int(value):  # 0 is a CPU
                found.append(target(int(value)))
    return tuple(found)


def target(version: int) -> str:
    """Return the name of a KFD `gfx_target_version`: major * 10000 + minor * 100 + stepping, written in hex digits.

    90010 is gfx90a, 90402 gfx942, 110000 gfx1100 (libhsakmt, topology.c).
    """
    major, rest = divmod(version, 10000)
    minor, stepping = divmod(rest, 100)
    return f"gfx{major}{minor:x}{stepping:x}"
