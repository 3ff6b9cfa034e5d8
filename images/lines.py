"""A container as a command that a person can paste into a shell, with the `cargo` tar on its stdin."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from images.access import ENVIRONMENT
from images.device import Device, gpu_items
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from images.access import Access

#: Unpacked inside, into a tmpfs, so that a line works with remote engines and under SELinux too.
UNPACK = 'cd /kit && tar -xof - && exec "$@"'


def docker_run_line(access: Access, image: str, argv: Sequence[str], *, cargo: Path | None = None) -> str:
    """Return the line for Docker's client, or Podman's: the same container as the engine door makes."""
    flags = ["--rm", "--interactive", "--network=none", "--cap-drop=ALL", "--security-opt=no-new-privileges"]
    flags += ["--read-only", *(f"--tmpfs={place}:{options}" for place, options in access.tmpfs.items())]
    flags += [f"--memory={access.memory_bytes}", f"--memory-swap={access.memory_bytes}"]
    flags += [f"--pids-limit={access.processes}", f"--shm-size={access.shared_bytes}"]
    flags += [f"--ulimit={name}={limit}:{limit}" for name, limit in access.ulimits]
    flags += ["--log-driver=none", "--no-healthcheck", f"--user={access.devices.user}"]
    flags += [f"--group-add={group}" for group in access.devices.groups]
    flags += [f"--device={host}:{inside}:rw" for host, inside in access.devices.nodes]
    flags += [flag for request in access.devices.requests for flag in _request_flags(request)]
    flags += [f"--env={name}={value}" for name, value in ENVIRONMENT.items()]
    command, end = list(argv), ""
    if cargo:
        # no --workdir: it would make /kit before the tmpfs, and runc keeps the mode of a folder that is there
        flags.append("--tmpfs=/kit:rw,nosuid,nodev,mode=1777")
        command = ["sh", "-c", UNPACK, "sh", *argv]
        end = f" < {shlex.quote(str(cargo))}"
    flags.append(f"--entrypoint={command[0]}")
    words = [f"{access.program} run", *(shlex.quote(flag) for flag in flags), shlex.quote(image)]
    return " \\\n  ".join([*words, shlex.join(command[1:]) + end])


def _request_flags(request: Mapping[str, Any]) -> list[str]:
    if request["Driver"] == "cdi":
        return [f"--device={name}" for name in request["DeviceIDs"]]
    # the client reads the value as CSV: quotes keep the commas of a list together
    return [f'--gpus="device={",".join(request["DeviceIDs"])}"' if request.get("DeviceIDs") else "--gpus=all"]


#: How a compute node's GPUs are bound, and what names single ones there: the nodes are all in, the runtime chooses.
#: Never Apptainer's own `--rocm`: it binds the host's ROCm libraries over the image's, which are the ones to prove.
APPTAINER = {
    "rocm": (["--bind=/dev/kfd", "--bind=/dev/dri"], "ROCR_VISIBLE_DEVICES", {}),
    "cuda": (["--nv"], "CUDA_VISIBLE_DEVICES", {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}),
    "cpu": ([], "", {}),
}


def apptainer_line(backend: str, sif: Path, argv: Sequence[str], device: Device, *, cargo: Path, records: str) -> str:
    """Return the line for Apptainer (1.1 or newer, or SingularityCE 3.9), whose records go to a file named `records`.

    It runs as whoever types it, on a node without a network and perhaps without this kit. KitError for what Apptainer
    cannot give, or nobody can tell from here.
    """
    binds, mask, more = APPTAINER[backend]
    given = [f"--{name}" for name in ("memory", "shm", "user") if getattr(device, name)]
    if given:
        raise KitError(
            f"Apptainer runs as you, with the job's share: {given[0]} is for engines",
            "ask Slurm: --mem, --cpus-per-task",
        )
    items = gpu_items(device.gpus)
    if not all(item.isdigit() for item in items) or (items and not mask):
        raise KitError(f"--gpus {device.gpus}: on a compute node GPUs go by number", "give numbers, e.g. --gpus 0")
    environment = {name: value for name, value in ENVIRONMENT.items() if name != "HOME"}  # Apptainer refuses to set it
    environment |= {mask: ",".join(items), **more} if items else {}
    flags = ["--containall", "--no-home", "--net", "--network=none", "--pwd=/", "--scratch=/kit", "--scratch=/cache"]
    flags += [*binds, *(f"--env={name}={value}" for name, value in environment.items())]
    # its own tmpfs holds 64 MiB, too little for what compilers write: the folder is on the node's disk
    words = [
        "apptainer exec",
        '--workdir="$(mktemp -d)"',
        *(shlex.quote(flag) for flag in flags),
        shlex.quote(str(sif)),
    ]
    end = f"{shlex.join(['sh', '-c', UNPACK, 'sh', *argv])} < {shlex.quote(str(cargo))} > {records}"
    return " \\\n  ".join([*words, end])
