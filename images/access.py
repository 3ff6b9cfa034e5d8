"""What a container may use, the least that works; how GPUs reach it is in `images.devices`.

Always: no network, no capability, no new privileges, a read-only root with `exec` tmpfs for /tmp and caches (hipcc,
Triton and Inductor run what they write there), limits on memory and processes, the engine's default seccomp profile, a
user who is not root. Devices are added to that, by path, with the numeric group of each node and nothing more.
"""

from __future__ import annotations

import os
import resource
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from images import device as wanted
from images.device import Device
from images.devices import ACCESS, Devices, elsewhere
from pins.progress import amount
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Mapping

MIB, GIB = 1 << 20, 1 << 30
SMALLEST = GIB // 2  # torch alone takes most of it

#: A user that the image does not know has no home and no name: torch asks for both.
ENVIRONMENT = {
    "HOME": "/cache",
    "USER": "kit",
    "LOGNAME": "kit",
    "TMPDIR": "/tmp",  # noqa: S108 -- the container's own tmpfs
    "XDG_CACHE_HOME": "/cache",
    "TORCHINDUCTOR_CACHE_DIR": "/cache/inductor",
    "TRITON_CACHE_DIR": "/cache/triton",
    "MIOPEN_USER_DB_PATH": "/cache/miopen",
    "MIOPEN_CUSTOM_CACHE_DIR": "/cache/miopen-kernels",
    "PYTHONPATH": "/kit",
    "PYTHONDONTWRITEBYTECODE": "1",
}


@dataclass(frozen=True)
class Access:
    """What one container may use, in bytes where sizes are meant.

    `shared_bytes` is the size of /dev/shm: collectives need more than the engine's 64 MiB.
    """

    backend: str
    devices: Devices
    memory_bytes: int
    shared_bytes: int
    processes: int
    ulimits: tuple[tuple[str, int], ...] = (("core", 0),)
    program: str = "docker"

    @property
    def tmpfs(self) -> dict[str, str]:
        """Writable places, counted within the memory limit."""
        options = f"rw,exec,nosuid,nodev,mode=1777,size={self.memory_bytes // 4}"
        return {"/tmp": options, "/cache": options}  # noqa: S108 -- a mount point in the container

    @property
    def host_config(self) -> dict[str, Any]:
        """The engine API's words for all this. `docker_run_line` says the same in the client's."""
        return {
            "NetworkMode": "none",
            "CapDrop": ["ALL"],
            "SecurityOpt": ["no-new-privileges"],
            "ReadonlyRootfs": True,
            "Tmpfs": self.tmpfs,
            "Memory": self.memory_bytes,
            "MemorySwap": self.memory_bytes,  # no swap on top: a figure measured while swapping is none
            "PidsLimit": self.processes,
            "ShmSize": self.shared_bytes,
            "Ulimits": [{"Name": name, "Soft": limit, "Hard": limit} for name, limit in self.ulimits],
            "LogConfig": {"Type": "none", "Config": {}},  # read live; a million samples need no second copy
            "Devices": [
                {"PathOnHost": host, "PathInContainer": inside, "CgroupPermissions": "rw"}
                for host, inside in self.devices.nodes
            ],
            "GroupAdd": list(self.devices.groups),
            "DeviceRequests": list(self.devices.requests),
        }


def access(
    backend: str,
    about: Mapping[str, Any],
    device: Device | None = None,
    *,
    root: Path = Path("/"),
    environ: Mapping[str, str] = os.environ,
) -> Access:
    """Return what a container of `backend` gets on the engine that `about` describes, of what a person asked for.

    `root` is where device nodes are looked for, for tests. KitError when a node that is needed is missing, nobody
    inside could open it, or what was asked for cannot be had.
    """
    asked = device or Device()
    podman = about.get("name") == "podman"
    memory = _memory(asked.memory, about.get("memory_bytes") or 4 * GIB)
    shared = wanted.size(asked.shm, "shm") if asked.shm else min(memory // 4, 16 * GIB)
    if shared > memory:
        raise KitError(
            f"--shm {asked.shm} is more than the memory, {amount(memory, 'B')}", "raise --memory, or lower it"
        )
    return Access(
        backend=backend,
        devices=_as_user(ACCESS[backend](about, root, wanted.gpu_items(asked.gpus), environ), asked.user),
        memory_bytes=memory,
        shared_bytes=shared,
        processes=max(4096, 128 * (about.get("cpus") or 1)),
        ulimits=(("core", 0), *(_own_limits() if podman and not elsewhere(about) else ())),
        program=str(about.get("name") or "docker"),
    )


def _memory(asked: str, total: int) -> int:
    """Return the limit in bytes: nine tenths of the engine's machine, where nothing is asked for."""
    if not asked:
        return max(total - max(total // 10, GIB), SMALLEST) // MIB * MIB  # the rest keeps the host alive
    found = wanted.size(asked, "memory")
    if not SMALLEST <= found <= total:
        limits = f"{amount(SMALLEST, 'B')} to {amount(total, 'B')}, what the engine's machine has"
        raise KitError(f"--memory {asked} is out of range", f"give {limits}")
    return found // MIB * MIB


def _as_user(devices: Devices, asked: str) -> Devices:
    if not asked:
        return devices
    user = wanted.identity(asked)
    if devices.owned and user.split(":")[0] != devices.user.split(":")[0]:
        raise KitError(f"--user {asked}: {devices.notes[-1]}", "leave --user out")
    return replace(devices, user=user)


def _own_limits() -> tuple[tuple[str, int], ...]:
    """Return limits that any process here may have.

    Podman's defaults are higher, and where it may not raise any (a machine without CAP_SYS_RESOURCE) nothing starts
    with them. Its own `nproc` it lowers to the largest pid.
    """
    try:
        largest = int(Path("/proc/sys/kernel/pid_max").read_text(encoding="ascii"))
    except OSError:
        return ()
    files, processes = (resource.getrlimit(what)[1] for what in (resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC))
    processes = largest if processes == resource.RLIM_INFINITY else min(processes, largest)
    return (("nofile", files), ("nproc", processes))
