"""The one door to the container engine, and the only importer of `docker` (lazily: it costs 0.4 s).

Everything that can go wrong behind this door comes out as an EngineError (a KitError) with one next step. Docker and
Podman's compatible socket are used alike; what differs between them is said in `about()`.
"""

from __future__ import annotations

import os
import time
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, Any, cast

from images import about, containers, endpoint, streams, workshop
from images.endpoint import EngineError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from images.access import Access
    from images.endpoint import Endpoint
    from images.workshop import Bounds

    Log = Callable[[str], None]

CHUNK_BYTES = 4 << 20
PATIENCE_S = 120  # an engine that is busy loading gigabytes answers a question only after a while


class Engine:
    """A container engine: images in and out, one command run in one container."""

    def __init__(self, api: Any, slow: Any, description: dict[str, Any]) -> None:
        """`api` answers questions within `PATIENCE_S`; `slow` is a second connection for work without a time limit."""
        self.api = api
        self.slow = slow
        self.description = description
        self.door = door  # for `containers`, which this module imports

    def close(self) -> None:
        """Close the connections."""
        self.api.close()
        self.slow.close()

    def about(self) -> dict[str, Any]:
        """Return what the engine says of itself; the first three keys are those of an image record's `engine`."""
        return dict(self.description)

    def image(self, reference: str) -> dict[str, Any] | None:
        """Return {id, diff_ids, size, tags, platform, config} of an image, or None when the engine has no such one.

        `id` is the engine's own: the config digest, or the manifest digest with the containerd image store.
        """
        try:
            with door(f"look at image {reference}"):
                found = self.api.inspect_image(reference)
                return {
                    "id": found["Id"],
                    "diff_ids": list(found["RootFS"].get("Layers") or []),
                    "size": found["Size"],
                    "tags": list(found.get("RepoTags") or []),
                    "platform": f"{found.get('Os')}/{found.get('Architecture')}",
                    "config": dict(found.get("Config") or {}),
                }
        except EngineError as error:
            if error.status == 404:
                return None
            raise

    def require(self, reference: str) -> dict[str, Any]:
        """Return `image(reference)`; EngineError when it is absent."""
        found = self.image(reference)
        if found is None:
            raise EngineError(f"the engine has no image {reference}", "./kit build", code="absent", status=404)
        return found

    def build(self, context: IO[bytes], *, tag: str = "", nocache: bool = False, on_log: Log | None = None) -> str:
        """Build a context (a tar) without network and return the engine's id of the image.

        EngineError, with the last lines of the log, when a step fails.
        """
        with door("build the image"), streams.hung_up(self.slow):
            answer = self.slow.build(
                fileobj=context,
                custom_context=True,
                tag=tag or None,
                nocache=nocache,
                network_mode="none",
                rm=True,
                forcerm=True,
                pull=False,
                decode=True,
                use_config_proxy=False,  # a person's proxy settings are no part of a reproducible image
            )
            return streams.built(answer, on_log)

    def work(
        self,
        image: str,
        argv: list[str],
        inputs: IO[bytes],
        answer: IO[bytes],
        *,
        bounds: Bounds,
        folder: str,
        label: str,
        on_log: Log,
    ) -> None:
        """Lay `inputs` into a container of `image`, run `argv` in its `folder`, write `folder/out` to `answer`.

        Both are tars. What `workshop.work` raises, this raises.
        """
        workshop.work(self, image, argv, inputs, answer, bounds=bounds, folder=folder, label=label, on_log=on_log)

    def save(self, reference: str) -> Iterator[bytes]:
        """Yield the image's archive in pieces."""
        with door(f"save image {reference}"), streams.hung_up(self.slow):
            yield from self.slow.get_image(reference, chunk_size=CHUNK_BYTES)

    def load(self, archive: Iterator[bytes], reference: str) -> dict[str, Any]:
        """Load an archive, in pieces, and return the image that it calls `reference`.

        A failure comes inside a successful answer, and the containerd store keeps a tag whose layers did not unpack:
        the stream is read to its end, then the image is looked at.
        """
        with door("load the image"), streams.hung_up(self.slow):
            streams.loaded(self.slow.load_image(archive))
        return self.require(reference)

    def pull(self, reference: str, *, on_progress: Callable[[int, int], None] | None = None) -> dict[str, Any]:
        """Pull `repo@sha256:...` and return the image; a tag is refused, since tags move.

        `on_progress` gets bytes done and bytes known of so far. EngineError, naming the digest, when nobody answers.
        """
        if "@sha256:" not in reference:
            raise EngineError(f"{reference} is not a digest: tags move", "pull repo@sha256:...")
        try:
            with door(f"pull {reference}"), streams.hung_up(self.slow):
                answer = self.slow.pull(reference, stream=True, decode=True, platform="linux/amd64")
                streams.pulled(answer, on_progress)
        except EngineError as error:
            hint = (
                "reach the registry from this engine (proxy, mirror, login), or `docker load` an archive of the image"
            )
            message = error.message if reference in error.message else f"cannot pull {reference}: {error.message}"
            raise EngineError(message, endpoint.remedy(message, hint), status=error.status) from error
        return self.require(reference)

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

    def prune(self, label: str, *, older_s: float = 0) -> None:
        """Remove the containers, running or not, and the nameless images that carry `label`.

        With `older_s` only what is older than so many seconds, of images then those with a name, too.
        """
        ours = {"label": [label]}
        with door("remove what a build left behind"):
            until = time.time() - older_s
            for item in self.slow.containers(all=True, filters=ours):
                if not older_s or item["Created"] < until:
                    with suppress(EngineError), door("remove a step's container"):  # the engine may be at it, too
                        self.slow.remove_container(item["Id"], v=True, force=True)
            if not older_s:
                self.slow.prune_images(filters=ours | {"dangling": ["true"]})
                return
            for item in self.slow.images(filters=ours):  # whose own steps go with them
                if item["Created"] < until:
                    self.remove(item["Id"], force=True)

    def sweep(self) -> int:
        """Remove the containers of runs whose kit was killed; return how many there were."""
        return containers.sweep(self)

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


def connect(environ: Mapping[str, str] = os.environ, *, timeout_s: int = 10, engine: str = "") -> Engine:
    """Return the engine that this environment means; EngineError with one remedy when there is none to use.

    `engine`, docker or podman, is the one that was asked for; empty where any will do.
    """
    where = endpoint.find(environ, engine=engine)
    try:
        endpoint.reach(where)
        return _opened(where, environ, timeout_s, engine)
    except EngineError as error:
        raise endpoint.advised(error, where, environ) from error


def _opened(where: Endpoint, environ: Mapping[str, str], timeout_s: int, engine: str) -> Engine:
    try:
        import docker
        from docker.utils import kwargs_from_env
    except ImportError as error:
        hint = "run through ./kit, which makes .venv from the locked requirements"
        raise EngineError("the Docker SDK for Python is not installed", hint, code="sdk") from error
    hint = "start it, or point DOCKER_HOST or `docker context use` at one that runs"
    opened: list[Any] = []
    try:
        with door(f"use the engine at {where.url[:200]} ({where.source})", hint, code="silent"):
            settings: dict[str, Any] = {"base_url": where.url, "use_ssh_client": where.url.startswith("ssh://")}
            if where.source == "DOCKER_HOST":
                settings |= kwargs_from_env(environment=cast("dict[str, str]", dict(environ)))
            elif where.tls:
                settings["tls"] = _tls(where.tls, verify=where.verify)
            opened.append(docker.APIClient(version="auto", timeout=timeout_s, **settings))
            description = about.describe(opened[0].version(), opened[0].info(), where)
            about.require_new(description)
            about.require_asked(description, where, engine)
            opened.append(docker.APIClient(version=opened[0].api_version, timeout=timeout_s, **settings))
    except BaseException:
        for api in opened:
            api.close()
        raise
    api, slow = opened
    api.timeout = PATIENCE_S
    slow.timeout = None  # requests' way of saying "as long as it takes"
    return Engine(api, slow, description)


@contextmanager
def door(what: str, hint: str = "", *, code: str = "refused") -> Iterator[None]:
    """Turn what the SDK, requests and sockets raise into EngineError: no foreign exception passes."""
    import requests
    import urllib3
    from docker.errors import DockerException, InvalidVersion

    refusals = (DockerException, requests.exceptions.RequestException, urllib3.exceptions.HTTPError, OSError)
    try:
        yield
    except InvalidVersion as error:
        raise EngineError(f"cannot {what}: {error}", about.NEWER, code="old") from error
    except (*refusals, *endpoint.NONSENSE) as error:
        raise endpoint.refusal(what, error, hint, code) from error


def _tls(files: Mapping[str, str], *, verify: bool) -> Any:
    from docker.tls import TLSConfig

    pair = (files["cert"], files["key"]) if {"cert", "key"} <= set(files) else None
    return TLSConfig(client_cert=pair, ca_cert=files.get("ca"), verify=verify)
