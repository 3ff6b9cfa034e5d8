"""How devices reach a container, with the least privilege that works: one table of backends.

Always: no network, no capability, no new privileges, a read-only root with `exec` tmpfs for /tmp and caches (hipcc,
Triton and Inductor run what they write there), limits on memory and processes, the engine's default seccomp profile, a
user who is not root. Devices are added to that, by path, with the numeric group of each node and nothing more.
"""

from __future__ import annotations

import resource
import shlex
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pins.paths import matching, text_of, there
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

USER = "65532:65532"  # in no image's passwd: what works for it works for any user
ROOT_USER = "0:0"
AMD_VENDOR = "0x1002"
AMD_CDI, NVIDIA_CDI = "amd.com/gpu=all", "nvidia.com/gpu=all"
MIB, GIB = 1 << 20, 1 << 30

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
class Devices:
    """What a backend needs of the host: nodes as (host path, container path), groups, requests, and who opens them.

    `notes` say what is more than the least, and why.
    """

    nodes: tuple[tuple[str, str], ...] = ()
    groups: tuple[str, ...] = ()
    requests: tuple[dict[str, Any], ...] = ()
    user: str = USER
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Access:
    """What one container may use, in bytes where sizes are meant."""

    backend: str
    devices: Devices
    memory_bytes: int
    processes: int
    ulimits: tuple[tuple[str, int], ...] = (("core", 0),)
    program: str = "docker"

    @property
    def shared_bytes(self) -> int:
        """Size of /dev/shm: collectives need more than the engine's 64 MiB."""
        return min(self.memory_bytes // 4, 16 * GIB)

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
    *,
    root: Path = Path("/"),
) -> Access:
    """Return what a container of `backend` gets on the engine that `about` describes.

    `root` is where device nodes are looked for, for tests. KitError when a node that is needed is missing, or nobody
    inside could open it.
    """
    total = about.get("memory_bytes") or 4 * GIB
    podman = about.get("name") == "podman"
    memory = max(total - max(total // 10, GIB), GIB // 2) // MIB * MIB  # the rest keeps the host alive
    return Access(
        backend=backend,
        devices=ACCESS[backend](about, root),
        memory_bytes=memory,
        processes=max(4096, 128 * (about.get("cpus") or 1)),
        ulimits=(("core", 0), *(_own_limits() if podman and not elsewhere(about) else ())),
        program=str(about.get("name") or "docker"),
    )


def _rocm(about: Mapping[str, Any], root: Path) -> Devices:
    """/dev/kfd and the render nodes of all GPUs, or a CDI device where the engine offers all of them as one."""
    if elsewhere(about):
        if AMD_CDI in about.get("cdi", ()):
            return Devices(requests=(_cdi(AMD_CDI),), user=ROOT_USER, notes=(_FAR,))
        return Devices(tuple((name, name) for name in ("/dev/kfd", "/dev/dri")), user=ROOT_USER, notes=(_FAR,))
    kfd, gpus = root / "dev/kfd", render_nodes(root)
    missing = ([] if there(kfd) else ["/dev/kfd"]) + ([] if gpus else ["/dev/dri/renderD*"])
    if missing:
        raise KitError(f"this host has no {' and no '.join(missing)}", "./kit doctor says why")
    pairs = tuple((str(path), f"/{path.relative_to(root)}") for path in [kfd, *gpus])
    return _opened_by(about, [kfd, *gpus], pairs)


def _cuda(about: Mapping[str, Any], root: Path) -> Devices:
    """A device request: NVIDIA's own hook brings the nodes and the driver's libraries. Nobody needs /dev/kfd here."""
    nvidia = [root / "dev" / name for name in ("nvidiactl", "nvidia-uvm")]
    opened = _opened_by(about, [] if elsewhere(about) else [path for path in nvidia if there(path)], ())
    every_gpu = {"Driver": "", "Capabilities": [["gpu"]], "Count": -1}
    request = _cdi(NVIDIA_CDI) if NVIDIA_CDI in about.get("cdi", ()) else every_gpu
    return Devices(groups=opened.groups, requests=(request,), user=opened.user, notes=opened.notes)


def _cpu(_about: Mapping[str, Any], _root: Path) -> Devices:
    """Nothing."""
    return Devices()


#: Equal, by a test, to the schema's backends and to `validate.backends`.
ACCESS: dict[str, Callable[[Mapping[str, Any], Path], Devices]] = {"rocm": _rocm, "cuda": _cuda, "cpu": _cpu}
_FAR = "the engine's devices cannot be judged from here: the user inside is root, without any capability"
_ROOTLESS = "rootless engine: host groups do not exist inside; the user inside is root, which is you outside"


UNMAPPED = "the engine maps users (userns-remap), and users and groups of this host do not exist inside"
UNMAPPED_HINT = "measure with `--runtime host`, or with an engine that maps no users"


def open_to_all(mode: int) -> bool:
    """Say whether any user, a mapped one too, may open a node of this mode."""
    return mode & 0o006 == stat.S_IROTH | stat.S_IWOTH


def elsewhere(about: Mapping[str, Any]) -> bool:
    """Say whether the engine runs on another kernel, so that this host's nodes and groups mean nothing to it."""
    return bool(about.get("remote") or about.get("desktop"))


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


def render_nodes(root: Path) -> list[Path]:
    """Return the render nodes of AMD GPUs; one whose maker cannot be read counts, another maker's does not."""
    nodes = sorted(matching(root / "dev/dri", "renderD*"), key=lambda path: len(path.name))
    return [node for node in nodes if text_of(root / "sys/class/drm" / node.name / "device/vendor") in {AMD_VENDOR, ""}]


def _opened_by(about: Mapping[str, Any], nodes: Sequence[Path], pairs: tuple[tuple[str, str], ...]) -> Devices:
    """Find out who can open the nodes: any user, members of their numeric groups, or only their owner."""
    if about.get("rootless") and nodes:
        keep = about.get("name") == "podman" and about.get("oci_runtime") == "crun"
        return Devices(pairs, ("keep-groups",) if keep else (), user=ROOT_USER, notes=(_ROOTLESS,))
    groups, user, notes = set(), USER, []
    for node in nodes:
        facts = node.stat()
        if open_to_all(facts.st_mode):
            continue
        if about.get("userns_remap"):
            raise KitError(f"{UNMAPPED}: nobody inside can open {node}", UNMAPPED_HINT)
        if facts.st_mode & 0o060 == stat.S_IRGRP | stat.S_IWGRP:
            groups.add(facts.st_gid)
        else:
            user = f"{facts.st_uid}:{facts.st_gid}"
            notes.append(f"{node} is open to its owner alone: the user inside is {user}")
    return Devices(pairs, tuple(str(group) for group in sorted(groups)), user=user, notes=tuple(notes))


def _cdi(name: str) -> dict[str, Any]:
    return {"Driver": "cdi", "Count": 0, "DeviceIDs": [name]}


def docker_run_line(access: Access, image: str, argv: Sequence[str], *, cargo: Path | None = None) -> str:
    """Return a command that a person can paste into a shell: the same container, with the `cargo` tar on its stdin.

    The archive is unpacked inside, into a tmpfs, so that the line works with remote engines and under SELinux too.
    """
    flags = ["--rm", "--interactive", "--network=none", "--cap-drop=ALL", "--security-opt=no-new-privileges"]
    flags += ["--read-only", *(f"--tmpfs={place}:{options}" for place, options in access.tmpfs.items())]
    flags += [f"--memory={access.memory_bytes}", f"--memory-swap={access.memory_bytes}"]
    flags += [f"--pids-limit={access.processes}", f"--shm-size={access.shared_bytes}"]
    flags += [f"--ulimit={name}={limit}:{limit}" for name, limit in access.ulimits]
    flags += ["--log-driver=none", "--no-healthcheck", f"--user={access.devices.user}"]
    flags += [f"--group-add={group}" for group in access.devices.groups]
    flags += [f"--device={host}:{inside}:rw" for host, inside in access.devices.nodes]
    flags += [_request_flag(request) for request in access.devices.requests]
    flags += [f"--env={name}={value}" for name, value in ENVIRONMENT.items()]
    command, end = list(argv), ""
    if cargo:
        # no --workdir: it would make /kit before the tmpfs, and runc keeps the mode of a folder that is there
        flags.append("--tmpfs=/kit:rw,nosuid,nodev,mode=1777")
        command = ["sh", "-c", 'cd /kit && tar -xof - && exec "$@"', "sh", *argv]
        end = f" < {shlex.quote(str(cargo))}"
    flags.append(f"--entrypoint={command[0]}")
    words = [f"{access.program} run", *(shlex.quote(flag) for flag in flags), shlex.quote(image)]
    return " \\\n  ".join([*words, shlex.join(command[1:]) + end])


def _request_flag(request: Mapping[str, Any]) -> str:
    return f"--device={request['DeviceIDs'][0]}" if request["Driver"] == "cdi" else "--gpus=all"
