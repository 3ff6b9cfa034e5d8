"""Find the container engine's address: DOCKER_HOST, a docker context, or a socket that is there; say why it is no use.

The order is the docker client's own; after it come the sockets of rootless Docker, Docker Desktop and Podman, so that
a machine with only one of them needs no setting. Who asks for Podman gets what its own client takes, CONTAINER_HOST or
its socket; DOCKER_HOST and contexts are Docker's settings.
"""

from __future__ import annotations

import errno
import grp
import hashlib
import importlib.util
import json
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from images import sockets
from pins.paths import there
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Mapping

INSTALL = "install and start one, e.g. `./kit --setup doctor` as root on Debian or Ubuntu"


#: How the SDK, and we, meet an answer that is not an engine's.
NONSENSE = (TypeError, ValueError, LookupError, AttributeError)
MAX_WORDS = 2000  # of a refusal: what is no engine may answer with a page


class EngineError(KitError):
    """The engine could not be used; `code` says how: `absent`, `denied`, `silent`, `old`, `sdk`, `refused` ...

    `chosen`: it cannot be reached, and a setting of the user's means it, so that no other will do.
    """

    def __init__(self, message: str, hint: str = "", *, code: str = "refused", status: int | None = None) -> None:
        super().__init__(message, hint)
        self.code = code
        self.status = status


@dataclass(frozen=True)
class Endpoint:
    """An engine's address, where we learnt it, and a context's TLS files (`ca`, `cert`, `key`) where it has some.

    `undo` is what frees a person from the setting that chose it; empty where none did. `engine` is which one listens
    there by custom (see `sockets`), or was asked for; empty where either may be meant.
    """

    url: str
    source: str
    undo: str = ""
    tls: Mapping[str, str] | None = None
    verify: bool = True
    engine: str = ""

    @property
    def socket(self) -> Path | None:
        """The socket file of a local engine."""
        return Path("/" + self.url.removeprefix("unix://").lstrip("/")) if self.url.startswith("unix://") else None

    @property
    def remote(self) -> bool:
        """Whether the engine may run on another machine, whose devices cannot be judged from here."""
        return self.socket is None


def find(environ: Mapping[str, str], root: Path = Path("/"), engine: str = "") -> Endpoint:
    """Return the address to use, of `engine` where one is asked for. `root` is for tests.

    KitError for a context that is named but not defined.
    """
    if engine == "podman":
        if environ.get("CONTAINER_HOST"):
            url, undo = _with_scheme(environ["CONTAINER_HOST"]), "unset CONTAINER_HOST"
            return Endpoint(url, "CONTAINER_HOST", undo, engine=engine)
        return _default(environ, root, engine)
    if environ.get("DOCKER_HOST"):
        return Endpoint(_with_scheme(environ["DOCKER_HOST"]), "DOCKER_HOST", "unset DOCKER_HOST", engine=engine)
    folder = Path(environ.get("DOCKER_CONFIG") or Path(environ.get("HOME") or "/") / ".docker")
    if environ.get("DOCKER_CONTEXT", "default") not in {"", "default"}:
        return _from_context(environ["DOCKER_CONTEXT"], folder, "unset DOCKER_CONTEXT")
    context = not environ.get("DOCKER_CONTEXT") and _read(folder / "config.json").get("currentContext")
    if context and context != "default":
        return _from_context(str(context), folder, "docker context use default")
    return _default(environ, root, engine)


def _default(environ: Mapping[str, str], root: Path, engine: str) -> Endpoint:
    found = sockets.first(environ, root, engine)
    return Endpoint(f"unix://{found.path}", found.source, engine=found.engine)


def reach(where: Endpoint, timeout_s: float = 5) -> None:
    """Raise EngineError, with the one remedy, unless something listens on the socket. Remote engines are not tried."""
    _usable(where)
    path = where.socket
    if path is None:
        return
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(timeout_s)
        try:
            probe.connect(str(path))
        except OSError as error:
            raise _unreachable(path, where, error) from error


def advised(error: EngineError, where: Endpoint, environ: Mapping[str, str], root: Path = Path("/")) -> EngineError:
    """Return the error with the remedy that helps where a setting chose an engine that cannot be reached."""
    if not where.undo or error.code not in {"absent", "silent"}:
        return error
    hint = f"point {where.source} at an engine that runs (unix:///PATH or tcp://HOST:PORT), or `{where.undo}`"
    other = _default(environ, root, where.engine)
    try:
        reach(other)
    except EngineError:
        pass
    else:
        hint = f"`{where.undo}`: an engine listens on {other.socket}, and {where.source} hides it"
    return EngineError(error.message, hint, code="chosen", status=error.status)


def refusal(what: str, error: BaseException, hint: str, code: str) -> EngineError:
    """Return what to raise where an engine refused, could not be reached, or answered as none does."""
    if isinstance(error, (ConnectionError, TimeoutError)):
        words = "the engine hung up"
    elif isinstance(error, NONSENSE) and not isinstance(error, OSError):
        words = f"this is not how a container engine answers ({type(error).__name__}: {error})"
    else:
        words = _innermost(error).strip()[:MAX_WORDS]
    status = getattr(getattr(error, "response", None), "status_code", None)
    return EngineError(f"cannot {what}: {words}", hint or remedy(words), code=code, status=status)


def _innermost(error: BaseException) -> str:
    """Return the engine's own words, else those of the first cause: the outer layers only repeat it."""
    while not (explanation := getattr(error, "explanation", None)) and (cause := error.__cause__ or error.__context__):
        error = cause
    if explanation:
        return str(explanation)
    return str(error.args[-1]) if isinstance(error, OSError) and error.args else str(error)


def remedy(words: str, otherwise: str = "./kit doctor") -> str:
    """Return the next step after an engine refused, by the words in which it did."""
    full = "no space left on device" in words.lower()
    return "make room on the engine's disk: `docker system df` shows what takes it" if full else otherwise


def _usable(where: Endpoint) -> None:
    """Raise EngineError for an address at which no engine can be: nothing but its form is looked at."""
    scheme, _, rest = where.url.partition("://")
    try:
        parts = urlsplit(where.url)
        host, port = parts.hostname, parts.port
    except ValueError:  # brackets that do not close, a port that is no number
        host, port = None, None
    if (scheme == "unix" and rest.strip("/")) or (scheme in {"tcp", "http", "https"} and host and port):
        return
    if scheme != "ssh" or not host:
        message = f"{where.source} is no engine's address: {where.url[:200]!r}"
        raise EngineError(message, f"correct {where.source}", code="absent")
    podman = where.engine == "podman"
    if podman or not importlib.util.find_spec("paramiko"):
        far, name = (parts.path or sockets.PODMAN, "CONTAINER_HOST") if podman else (sockets.DOCKER, "DOCKER_HOST")
        hint = f"ssh -fNT -L /tmp/engine.sock:{far} {parts.netloc}, then {name}=unix:///tmp/engine.sock"
        why = "is Podman's own" if podman else "needs the Python package paramiko"
        raise EngineError(f"ssh:// {why} ({where.source})", hint, code="chosen")


def _unreachable(path: Path, where: Endpoint, error: OSError) -> EngineError:
    """Say which of the ways of not reaching a socket this is."""
    if error.errno == errno.ENOENT:
        absent = f"{path} ({where.source}) does not exist"
        if where.engine == "podman":
            return EngineError(f"Podman's service is not running: {absent}", sockets.start("podman"), code="silent")
        return EngineError(f"no container engine: {absent}", INSTALL, code="absent")
    if error.errno in {errno.EACCES, errno.EPERM}:
        return EngineError(f"this user may not use the engine's socket {path}", _join_group(path), code="denied")
    if error.errno == errno.ECONNREFUSED:
        message = f"nothing listens on {path} ({where.source}): the engine is not running"
        return EngineError(message, sockets.start(where.engine), code="silent")
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


def _from_context(name: str, folder: Path, undo: str) -> Endpoint:
    """Read a docker context: its folder is named by the SHA-256 of its name."""
    key = hashlib.sha256(name.encode()).hexdigest()
    meta = _read(folder / "contexts/meta" / key / "meta.json")
    endpoints = meta.get("Endpoints")
    endpoint = endpoints.get("docker") if isinstance(endpoints, dict) else None
    if not (isinstance(endpoint, dict) and endpoint.get("Host")):
        raise EngineError(
            f"docker context {name!r} is not defined in {folder}",
            f"choose another of `docker context ls`, or `{undo}`",
            code="chosen",
        )
    files = {kind: folder / "contexts/tls" / key / "docker" / f"{kind}.pem" for kind in ("ca", "cert", "key")}
    tls = {kind: str(path) for kind, path in files.items() if there(path)}
    return Endpoint(
        str(endpoint["Host"]), f"docker context {name}", undo, tls or None, not endpoint.get("SkipTLSVerify")
    )


def _read(path: Path) -> dict[str, Any]:
    """Return a JSON object from the docker client's own files; empty when it is missing or unreadable, as there."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
