"""A container as a command that a person can paste into a shell, with the `cargo` tar on its stdin."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from images.access import ENVIRONMENT

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
