"""Find the container engine's address: DOCKER_HOST, a docker context, or a socket that is there.

The order is the docker client's own; after it come the sockets of rootless Docker, Docker Desktop and Podman, so that
a machine with only one of them needs no setting.
"""

from __future__ import annotations

import errno
import grp
import hashlib
import json
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from images.hostfiles import exists
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULT_SOCKET = Path("/var/run/docker.sock")
INSTALL = "install and start one, e.g. `./kit --setup doctor` as root on Debian or Ubuntu"


class EngineError(KitError):
    """The engine could not be used; `code` says how: `absent`, `denied`, `silent`, `old`, `sdk`, `refused` ..."""

    def __init__(self, message: str, hint: str = "", *, code: str = "refused", status: int | None = None) -> None:
        super().__init__(message, hint)
        self.code = code
        self.status = status


@dataclass(frozen=True)
class Endpoint:
    """An engine's address, where we learnt it, and a context's TLS files (`ca`, `cert`, `key`) where it has some."""

    url: str
    source: str
    tls: Mapping[str, str] | None = None
    verify: bool = True

    @property
    def socket(self) -> Path | None:
        """The socket file of a local engine."""
        return Path("/" + self.url.removeprefix("unix://").lstrip("/")) if self.url.startswith("unix://") else None

    @property
    def remote(self) -> bool:
        """Whether the engine may run on another machine, whose devices cannot be judged from here."""
        return self.socket is None and not self.url.startswith("npipe:")


def find(environ: Mapping[str, str], root: Path = Path("/")) -> Endpoint:
    """Return the address to use; KitError for a context that is named but not defined. `root` is for tests."""
    if environ.get("DOCKER_HOST"):
        return Endpoint(_with_scheme(environ["DOCKER_HOST"]), "DOCKER_HOST")
    home = Path(environ.get("HOME") or "/")
    folder = Path(environ.get("DOCKER_CONFIG") or home / ".docker")
    context = environ.get("DOCKER_CONTEXT") or _read(folder / "config.json").get("currentContext") or "default"
    if context != "default":
        return _from_context(str(context), folder)
    runtime = Path(environ.get("XDG_RUNTIME_DIR") or "/nonexistent")
    known = (
        (DEFAULT_SOCKET, "the default socket"),
        (runtime / "docker.sock", "rootless Docker's socket"),
        (home / ".docker/run/docker.sock", "Docker Desktop's socket"),
        (home / ".docker/desktop/docker.sock", "Docker Desktop's socket"),
        (runtime / "podman/podman.sock", "Podman's socket"),
        (Path("/run/podman/podman.sock"), "Podman's socket"),
    )
    for path, source in known:
        place = root / path.relative_to("/")
        if exists(place):
            return Endpoint(f"unix://{place}", source)
    return Endpoint(f"unix://{root / DEFAULT_SOCKET.relative_to('/')}", "the default socket")


def reach(where: Endpoint, timeout_s: float = 5) -> None:
    """Raise EngineError, with the one remedy, unless something listens on the socket. Remote engines are not tried."""
    path = where.socket
    if path is None:
        return
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(timeout_s)
        try:
            probe.connect(str(path))
        except OSError as error:
            raise _unreachable(path, where.source, error) from error


def _unreachable(path: Path, source: str, error: OSError) -> EngineError:
    """Say which of the ways of not reaching a socket this is."""
    if error.errno == errno.ENOENT:
        return EngineError(f"no container engine: {path} ({source}) does not exist", INSTALL, code="absent")
    if error.errno in {errno.EACCES, errno.EPERM}:
        return EngineError(f"this user may not use the engine's socket {path}", _join_group(path), code="denied")
    if error.errno == errno.ECONNREFUSED:
        hint = "start it: `sudo systemctl start docker` (without systemd: `sudo dockerd &`)"
        return EngineError(f"nothing listens on {path} ({source}): the engine is not running", hint, code="silent")
    return EngineError(f"cannot reach the engine at {path}: {error.strerror or error}", "./kit doctor", code="silent")


def _join_group(path: Path) -> str:
    """Return the command that lets this user open the socket. Widening the socket's mode would let everyone in."""
    try:
        group = grp.getgrgid(path.stat().st_gid).gr_name
    except (OSError, KeyError):
        group = "docker"
    if group == "root":  # joining root's group is no remedy: such a socket is meant for root alone
        return "run the same command with sudo, or use rootless Docker or Podman"
    return f'sudo usermod -aG {group} "$USER", then log in again (or: `newgrp {group}`)'


def _with_scheme(url: str) -> str:
    return f"unix://{url}" if url.startswith("/") else url


def _from_context(name: str, folder: Path) -> Endpoint:
    """Read a docker context: its folder is named by the SHA-256 of its name."""
    key = hashlib.sha256(name.encode()).hexdigest()
    meta = _read(folder / "contexts/meta" / key / "meta.json")
    endpoint = (meta.get("Endpoints") or {}).get("docker") or {}
    if not endpoint.get("Host"):
        raise EngineError(
            f"docker context {name!r} is not defined in {folder}",
            "choose another: `docker context ls`, `docker context use default`",
            code="absent",
        )
    files = {kind: folder / "contexts/tls" / key / "docker" / f"{kind}.pem" for kind in ("ca", "cert", "key")}
    tls = {kind: str(path) for kind, path in files.items() if exists(path)}
    return Endpoint(endpoint["Host"], f"docker context {name}", tls or None, not endpoint.get("SkipTLSVerify"))


def _read(path: Path) -> dict[str, Any]:
    """Return a JSON object from the docker client's own files; empty when it is missing or unreadable, as there."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
