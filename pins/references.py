"""Names of images: `[HOST/]REPOSITORY[:TAG][@DIGEST]`, as people write them and as registries are asked."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from schema.errors import KitError

HUB = "docker.io"
OCI = "oci://"  # before a repository, where a folder or web address could stand
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
REGISTRY = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:]+\])(?::[0-9]{1,5})?")
REPOSITORY = re.compile(r"(?:[a-z0-9]+(?:(?:[.]|__?|-+)[a-z0-9]+)*(?:/(?!$)|$))+")
#: This machine: asked without encryption, and never through a proxy.
LOOPBACK = re.compile(r"(?:localhost|127(?:\.[0-9]{1,3}){3}|\[::1\])(?::[0-9]+)?")
MAX_REPOSITORY = 255
FORM = "write [HOST/]REPOSITORY:TAG or [HOST/]REPOSITORY@sha256:..."


@dataclass(frozen=True)
class Reference:
    """An image, or where one is to go. `tag` and `digest` (`sha256:...`) are empty where none was named."""

    registry: str
    repository: str
    tag: str = ""
    digest: str = ""

    def __str__(self) -> str:
        tag, digest = f":{self.tag}" if self.tag else "", f"@{self.digest}" if self.digest else ""
        return f"{self.name}{tag}{digest}"

    @property
    def name(self) -> str:
        """Registry and repository."""
        return f"{self.registry}/{self.repository}"

    @property
    def wanted(self) -> str:
        """What a registry is asked for: the digest where there is one, since tags move; else the tag."""
        return self.digest or self.tag

    def at(self, digest: str) -> Reference:
        """Return the same repository at a digest alone."""
        return replace(self, tag="", digest=digest)

    def tagged(self, tag: str) -> Reference:
        """Return the same repository at a tag alone."""
        return replace(self, tag=tag, digest="")


def parse(text: str) -> Reference:
    """Return the reference in a text; KitError, with what is wrong with it, when it is none.

    As with `docker pull`, the first word is a host only when it has a dot or a port, or is `localhost`; without one it
    is Docker Hub, whose own images are in `library/`. No tag is made up: `latest` is what somebody wrote, or nothing.
    """
    rest, at, digest = text.partition("@")
    if at and not DIGEST.fullmatch(digest):
        raise KitError(f"{text[:300]} has no digest behind its @: sha256: and 64 hexadecimal digits", FORM)
    head, slash, tail = rest.partition("/")
    has_host = bool(slash) and (head == "localhost" or any(mark in head for mark in ".:[") or head != head.lower())
    registry, path = (head, tail) if has_host else (HUB, rest)
    repository, colon, tag = path.partition(":")
    if registry in {f"index.{HUB}", f"registry-1.{HUB}"}:
        registry = HUB
    if registry == HUB and repository and "/" not in repository:
        repository = f"library/{repository}"
    _check(text[:300], registry, repository)
    if colon and not TAG.fullmatch(tag):
        raise KitError(f"{text[:300]} has no tag behind its colon: at most 128 letters, digits and ._-", FORM)
    return Reference(registry, repository, tag, digest)


def repository(address: str) -> Reference:
    """Return the repository in an address `oci://HOST/REPOSITORY`; KitError for anything else."""
    found = parse(address.removeprefix(OCI))
    if found.wanted or not address.startswith(OCI):
        raise KitError(f"{address[:300]} is not the address of a repository", f"write {OCI}HOST/REPOSITORY")
    return found


def _check(text: str, registry: str, repository: str) -> None:
    if "://" in text:
        raise KitError(f"{text} is an address, and not the name of an image", FORM)
    if not REGISTRY.fullmatch(registry):
        raise KitError(f"{text} begins with {registry}, which is no host of a registry", FORM)
    if repository != repository.lower():
        raise KitError(f"{text} has capital letters, which no repository has", f"write {repository.lower()}")
    if not REPOSITORY.fullmatch(repository) or len(repository) > MAX_REPOSITORY:
        raise KitError(f"{text} names no repository: words of small letters and digits between slashes", FORM)
