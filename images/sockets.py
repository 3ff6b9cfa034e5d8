"""Where an engine of this machine listens unless it is told otherwise, and how it is started there."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pins.paths import there

if TYPE_CHECKING:
    from collections.abc import Mapping

DOCKER = Path("/var/run/docker.sock")
PODMAN = Path("/run/podman/podman.sock")


class Socket(NamedTuple):
    """A socket of `engine`, docker or podman, and what it is called."""

    engine: str
    path: Path
    source: str


def first(environ: Mapping[str, str], root: Path = Path("/"), engine: str = "") -> Socket:
    """Return the first socket that is there, of `engine` or of any; where none is, the one to expect.

    Podman's, started without an address, is at /run for root and in the user's runtime folder for anybody else.
    """
    home = Path(environ.get("HOME") or "/")
    runtime = Path(environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}")
    podman = [runtime / "podman/podman.sock", PODMAN]
    known = [
        Socket("docker", DOCKER, "the default socket"),
        Socket("docker", runtime / "docker.sock", "rootless Docker's socket"),
        Socket("docker", home / ".docker/run/docker.sock", "Docker Desktop's socket"),
        Socket("docker", home / ".docker/desktop/docker.sock", "Docker Desktop's socket"),
        *(Socket("podman", path, "Podman's socket") for path in (podman if os.getuid() else reversed(podman))),
    ]
    known = [item._replace(path=root / item.path.relative_to("/")) for item in known if engine in {"", item.engine}]
    return next((item for item in known if there(item.path)), known[0])


def start(engine: str) -> str:
    """Return how this user starts the engine so that it listens where `first` looks."""
    if engine != "podman":
        return "start it: `sudo systemctl start docker` (without systemd: `sudo dockerd &`)"
    install = "" if shutil.which("podman") else "install podman with your package manager, then "
    user = " --user" if os.getuid() else ""
    service = f"`systemctl{user} start podman.socket` (without systemd: `podman system service --time 0 &`)"
    return f"{install}start its service: {service}"
