"""What an engine tells of an image without starting it: identity, platform, environment, labels, what made its layers.

All of it may be a stranger's text: whoever shows it makes it safe for a terminal.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from images.endpoint import EngineError
from schema.errors import KitError

if TYPE_CHECKING:
    from images.engine import Engine

PLATFORM = "linux/amd64"
#: Labels in which builders name the image that they began with.
BASE_NAME, BASE_DIGEST = "org.opencontainers.image.base.name", "org.opencontainers.image.base.digest"
FROM = re.compile(r"^FROM (\S+)$")  # Buildah leaves it as the comment of its first layer
#: What tags of published images say of their content: rocm6.4.1_ubuntu24.04_py3.12_pytorch_release_2.6.0.
CLAIMS = {
    "rocm": re.compile(r"rocm[-_]?(\d+(?:\.\d+)+)"),
    "python": re.compile(r"py(?:thon)?[-_]?(3\.\d+)"),
    "torch": re.compile(r"torch(?:_release)?[-_]?(\d+(?:\.\d+)+)"),
}
PULL = "`docker pull NAME@sha256:...`, or `docker load` an archive of it"


@dataclass(frozen=True)
class Layer:
    """One line of the history: bytes that it added, and what made it in the builder's words."""

    size_bytes: int
    created_by: str
    comment: str = ""


@dataclass(frozen=True)
class Looked:
    """An image in an engine. `id` is the engine's own; `digests` are `repo@sha256:...` of registries it knows of."""

    reference: str
    id: str
    tags: list[str]
    digests: list[str]
    platform: str
    created: str
    size_bytes: int
    environment: dict[str, str] = field(repr=False)
    labels: dict[str, str] = field(repr=False)
    layers: list[Layer] = field(repr=False)

    @property
    def runs(self) -> bool:
        """Whether a container of it can be started here."""
        return self.platform == PLATFORM


def look(engine: Engine, reference: str) -> Looked | None:
    """Return what the engine tells of an image (name, tag, digest or id); None where it has none such."""
    try:
        with engine.door(f"look at image {reference}"):
            found = engine.api.inspect_image(reference)
            history = engine.api.history(found["Id"])
            config = found.get("Config") or {}
            return Looked(
                reference=reference,
                id=str(found["Id"]),
                tags=sorted(found.get("RepoTags") or []),
                digests=sorted(found.get("RepoDigests") or []),
                platform=f"{found.get('Os') or '?'}/{found.get('Architecture') or '?'}",
                created=str(found.get("Created") or ""),
                size_bytes=int(found.get("Size") or 0),
                environment=_environment(config.get("Env") or []),
                labels={str(key): str(value) for key, value in (config.get("Labels") or {}).items()},
                layers=[_layer(row) for row in reversed(history or [])],
            )
    except EngineError as error:
        if error.status == 404:
            return None
        raise


def require(engine: Engine, reference: str) -> Looked:
    """Return `look(...)`; KitError where the engine has no such image."""
    found = look(engine, reference)
    if found is None:
        raise KitError(f"the engine has no image {reference}", PULL)
    return found


def _environment(lines: list[Any]) -> dict[str, str]:
    pairs = (str(line).partition("=") for line in lines)
    return {name: value for name, _, value in pairs}


def _layer(row: dict[str, Any]) -> Layer:
    return Layer(int(row.get("Size") or 0), str(row.get("CreatedBy") or ""), str(row.get("Comment") or ""))


def base_of(image: Looked) -> tuple[str, str]:
    """Return name and digest of the image that this one was made from; empty where nothing tells.

    `FROM` itself leaves no trace in an image. Some builders leave labels, and Buildah a comment in the history.
    """
    comments = (FROM.match(layer.comment) for layer in image.layers)
    name = image.labels.get(BASE_NAME, "") or next((found[1] for found in comments if found), "")
    name, _, named = name.partition("@")
    return name, image.labels.get(BASE_DIGEST, "") or named


def claims(name: str) -> dict[str, str]:
    """Return the versions that an image's name claims: of rocm, python and torch, as far as it does."""
    found = {part: pattern.search(name.lower()) for part, pattern in CLAIMS.items()}
    return {part: match[1] for part, match in found.items() if match}
