"""The one door to the container engine, and the only importer of `docker` (lazily: it costs 0.4 s).

Everything that can go wrong behind this door comes out as an EngineError (a KitError) with one next step. Docker and
Podman's compatible socket are used alike; what differs between them is said in `about()`.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from images import about, containers, endpoint, streams
from images.endpoint import Endpoint, EngineError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from images.access import Access

OLDEST_API = (1, 40)  # Docker 19.03 or Podman 3: the first with device requests
CHUNK_BYTES = 4 << 20
PATIENCE_S = 120  # an engine that is busy loading gigabytes answers a question only after a while


class Engine:
    """A container engine: images in and out, one command run in one container."""

    def __init__(self, api: Any, slow: Any, where: Endpoint, description: dict[str, Any]) -> None:
        """`api` answers questions within `PATIENCE_S`; `slow` is a second connection for work without a time limit."""
        self.api = api
        self.slow = slow
        self.where = where
        self.description = description

    def door(self, what: str, *, code: str = "refused") -> AbstractContextManager[None]:
        """Guard talk to the engine: what fails inside is an EngineError that says `what` could not be done."""
        return door(what, code=code)

    def close(self) -> None:
        """Close the connections."""
        self.api.close()
        self.slow.close()

    def about(self) -> dict[str, Any]:
        """Return what the engine says of itself; the first three keys are those of an image record's `engine`."""
        return dict(self.description)

    def image(self, reference: str) -> dict[str, Any] | None:
        """Return {id, diff_ids, config, size, tags, digests} of an image, or None when the engine has no such one.

        `id` is the engine's own: the config digest, or the manifest digest with the containerd image store.
        """
        try:
            with door(f"look at image {reference}"):
                found = self.api.inspect_image(reference)
        except EngineError as error:
            if error.status == 404:
                return None
            raise
        return {
            "id": found["Id"],
            "diff_ids": list(found["RootFS"].get("Layers") or []),
            "config": found["Config"] or {},
            "size": found["Size"],
            "tags": list(found.get("RepoTags") or []),
            "digests": list(found.get("RepoDigests") or []),
        }

    def has(self, reference: str) -> bool:
        """Say whether the engine has the image. `FROM` an absent one would make it ask registries: check first."""
        return self.image(reference) is not None

    def require(self, reference: str) -> dict[str, Any]:
        """Return `image(reference)`; EngineError when it is absent."""
        found = self.image(reference)
        if found is None:
            raise EngineError(f"the engine has no image {reference}", "./kit build", code="absent", status=404)
        return found

    def build(
        self,
        context: Path | IO[bytes],
        *,
        tag: str = "",
        dockerfile: str = "Dockerfile",
        buildargs: Mapping[str, str] | None = None,
        nocache: bool = False,
        network: str = "none",
        base: str = "",
        on_log: Callable[[str], None] | None = None,
    ) -> str:
        """Build a context (a tar, as a file or its path) and return the engine's id of the image.

        `base` is what the Dockerfile begins FROM: it must be there already, or the engine would go and look for it.
        EngineError, with the last lines of the log, when a step fails.
        """
        if base:
            self.require(base)
        with _opened(context) as file, door("build the image"):
            answer = self.slow.build(
                fileobj=file,
                custom_context=True,
                tag=tag or None,
                dockerfile=dockerfile,
                buildargs=dict(buildargs or {}),
                nocache=nocache,
                network_mode=network,
                rm=True,
                forcerm=True,
                pull=False,
                decode=True,
                use_config_proxy=False,  # a person's proxy settings are no part of a reproducible image
            )
            return streams.built(answer, on_log)

    def save(self, reference: str, path: Path | None = None) -> Iterator[bytes]:
        """Return the image's archive in pieces; with `path`, write it there and return nothing more to read."""
        pieces = self._saved(reference)
        if path is None:
            return pieces
        with path.open("wb") as file:
            for piece in pieces:
                file.write(piece)
        return iter(())

    def _saved(self, reference: str) -> Iterator[bytes]:
        with door(f"save image {reference}"):
            yield from self.slow.get_image(reference, chunk_size=CHUNK_BYTES)

    def load(self, archive: Path | IO[bytes] | Iterable[bytes], reference: str = "") -> dict[str, Any]:
        """Load an archive and return the image: `reference` where given, else the one that the engine names.

        A failure comes inside a successful answer, and the containerd store keeps a tag whose layers did not unpack:
        the stream is read to its end, then the image is looked at.
        """
        with _opened(archive) as data, door("load the image"):
            named = streams.loaded(self.slow.load_image(data))
        if not (reference or named):
            raise EngineError("the engine loaded the archive without naming an image", "look at `docker images`")
        return self.require(reference or named[-1])

    def pull(
        self, reference: str, *, platform: str = "linux/amd64", on_progress: Callable[[int, int], None] | None = None
    ) -> dict[str, Any]:
        """Pull `repo@sha256:...` and return the image; a tag is refused, since tags move.

        `on_progress` gets bytes done and bytes known of so far. EngineError, naming the digest, when nobody answers.
        """
        if "@sha256:" not in reference:
            raise EngineError(f"{reference} is not a digest: tags move", "pull repo@sha256:...")
        try:
            with door(f"pull {reference}"):
                answer = self.slow.pull(reference, stream=True, decode=True, platform=platform)
                streams.pulled(answer, on_progress)
        except EngineError as error:
            hint = (
                "reach the registry from this engine (proxy, mirror, login), or `docker load` an archive of the image"
            )
            message = error.message if reference in error.message else f"cannot pull {reference}: {error.message}"
            raise EngineError(message, hint, status=error.status) from error
        return self.require(reference)

    def tag(self, reference: str, new: str) -> None:
        """Give an image the further name `new` (`repo:tag`)."""
        repository, _, name = new.rpartition(":")
        with door(f"tag {reference}"):
            self.api.tag(reference, repository or new, name if repository else None, force=True)

    def remove(self, reference: str, *, force: bool = False) -> bool:
        """Remove an image (its last name, or by id); False when there was none."""
        try:
            with door(f"remove image {reference}"):
                self.slow.remove_image(reference, force=force, noprune=False)
        except EngineError as error:
            if error.status == 404:
                return False
            raise
        return True

    def run(
        self,
        image: str,
        cargo: bytes,
        argv: list[str],
        access: Access,
        *,
        deadline_s: float,
        on_line: Callable[[bytes], None],
        on_stderr: Callable[[str], None] | None = None,
    ) -> int:
        """Run `argv` in a fresh container of `image` with `cargo` (a tar, may be empty) in /kit; return the exit code.

        Nothing of it stays behind, whatever happens. What `containers.run` raises, this raises.
        """
        return containers.run(
            self, image, cargo, argv, access, deadline_s=deadline_s, on_line=on_line, on_stderr=on_stderr
        )


def connect(environ: Mapping[str, str] = os.environ, *, timeout_s: float = 10) -> Engine:
    """Return the engine that this environment means; EngineError with one remedy when there is none to use."""
    where = endpoint.find(environ)
    endpoint.reach(where)
    try:
        import docker
        from docker.utils import kwargs_from_env
    except ImportError as error:
        hint = "run through ./kit, which makes .venv from the locked requirements"
        raise EngineError("the Docker SDK for Python is not installed", hint, code="sdk") from error
    hint = "start it, or point DOCKER_HOST or `docker context use` at one that runs"
    opened: list[Any] = []
    try:
        with door(f"reach the engine at {where.url} ({where.source})", hint, code="silent"):
            settings: dict[str, Any] = {"base_url": where.url, "use_ssh_client": where.url.startswith("ssh://")}
            if where.source == "DOCKER_HOST":
                settings |= kwargs_from_env(environment=cast("dict[str, str]", dict(environ)))
            elif where.tls:
                settings["tls"] = _tls(where)
            opened.append(docker.APIClient(version="auto", timeout=int(timeout_s), **settings))
            description = about.describe(opened[0].version(), opened[0].info(), where)
            _old_enough(description)
            opened.append(docker.APIClient(version=opened[0].api_version, timeout=int(timeout_s), **settings))
    except (EngineError, TypeError, AttributeError) as error:
        for api in opened:
            api.close()
        if isinstance(error, EngineError):
            raise
        # how docker-py and we meet an answer that is not an engine's
        raise EngineError(f"what answers at {where.url} is not a container engine", hint, code="silent") from error
    api, slow = opened
    api.timeout = PATIENCE_S
    slow.timeout = None  # requests' way of saying "as long as it takes"
    return Engine(api, slow, where, description)


@contextmanager
def door(what: str, hint: str = "", *, code: str = "refused") -> Iterator[None]:
    """Turn what the SDK, requests and sockets raise into EngineError: no foreign exception passes."""
    import requests
    import urllib3
    from docker.errors import APIError, DockerException

    try:
        yield
    except APIError as error:
        text = str(error.explanation or error).strip()
        status = None if error.response is None else error.response.status_code
        raise EngineError(f"cannot {what}: {text}", hint, code=code, status=status) from error
    except (requests.exceptions.RequestException, urllib3.exceptions.HTTPError, DockerException) as error:
        raise EngineError(f"cannot {what}: {_innermost(error)}", hint or "./kit doctor", code=code) from error
    except (ConnectionError, TimeoutError) as error:
        raise EngineError(f"cannot {what}: the engine hung up", hint or "./kit doctor", code=code) from error


def _innermost(error: BaseException) -> str:
    """Return the first cause in words: the outer layers only repeat each other around it."""
    while error.__cause__ or error.__context__:
        if explanation := getattr(error, "explanation", None):
            return str(explanation)
        error = cast("BaseException", error.__cause__ or error.__context__)
    return str(error.args[-1]) if isinstance(error, OSError) and error.args else str(error)


def _tls(where: Endpoint) -> Any:
    from docker.tls import TLSConfig

    files = dict(where.tls or {})
    pair = (files["cert"], files["key"]) if {"cert", "key"} <= set(files) else None
    return TLSConfig(client_cert=pair, ca_cert=files.get("ca"), verify=where.verify)


def _old_enough(description: dict[str, Any]) -> None:
    version = tuple(int(part) for part in description["api"].split(".")[:2])
    if version < OLDEST_API:
        oldest = ".".join(map(str, OLDEST_API))
        message = f"{description['name']} {description['version']} speaks API {description['api']}, this needs {oldest}"
        raise EngineError(message, "use Docker Engine 20.10 or newer, or Podman 4 or newer", code="old")


@contextmanager
def _opened(data: Path | IO[bytes] | Iterable[bytes]) -> Iterator[Any]:
    if isinstance(data, Path):
        with data.open("rb") as file:
            yield file
    else:
        yield data
