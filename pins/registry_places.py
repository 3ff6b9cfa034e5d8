"""Where an image that is named by its digest can be had: the registry that KIT_SOURCE names, then its own."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pins.references import OCI, Reference, repository
from pins.registry_client import Client
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Iterator


def mirrored(reference: Reference) -> Reference | None:
    """Return where a mirror would have this digest; None where none is set, and for tags, which mirrors do not have."""
    given = os.environ.get("KIT_SOURCE", "").strip()
    return repository(given).at(reference.digest) if given.startswith(OCI) and reference.digest else None


def places(reference: Reference) -> list[Reference]:
    """Return where to ask for an image, best first."""
    mirror = mirrored(reference)
    return [mirror, reference] if mirror else [reference]


class Origin:
    """The registries that may have the blobs of an image; each blob comes from the first that has it."""

    def __init__(self, reference: Reference) -> None:
        self.found = [(Client(place.registry), place.repository) for place in places(reference)]

    def close(self) -> None:
        """Close the connections."""
        for client, _ in self.found:
            client.close()

    def beside(self, registry: str) -> str:
        """Return the repository from which `registry` can mount; empty where that is none of ours."""
        return next((name for client, name in self.found if client.registry == registry), "")

    def blob(self, digest: str, start: int = 0) -> Iterator[bytes]:
        """Yield a blob's bytes from `start` on; KitError of the last registry when none has it."""
        *others, (last, name) = self.found
        for client, name_there in others:
            try:
                there = client.size(name_there, digest) is not None
            except KitError:  # it does not answer: the next one may
                there = False
            if there:
                yield from client.blob(name_there, digest, start)
                return
        yield from last.blob(name, digest, start)
