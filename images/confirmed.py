"""Which of the digests that an engine names for an image do their registries have?

Podman gives a registry's digest to every image that it builds, and so does Docker's containerd store: it says nothing.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from pins.references import parse
from pins.registry import present
from pins.registry_client import Client
from pins.registry_errors import RegistryError
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Callable

TIMEOUT_S = 15.0
LOCAL = "localhost"  # without a port no registry, but Podman's name for what was built here


def confirmed(digests: list[str], tell: Callable[[str], None]) -> list[str]:
    """Return those of `repo@digest` that their registries have; what is left out, or stays unconfirmed, is told.

    One whose registry does not answer stays: what was pulled long ago is still from there.
    """
    return [text for text in digests if _stays(text, tell)]


def _stays(text: str, tell: Callable[[str], None]) -> bool:
    try:
        name = parse(text)
        if name.registry == LOCAL:
            return False
        client = Client(name.registry, timeout_s=TIMEOUT_S)
        try:
            present(name, client)
        finally:
            client.close()
    except KitError as error:
        status = error.status if isinstance(error, RegistryError) else HTTPStatus.NOT_FOUND
        refused = 400 <= status < 500 and status != HTTPStatus.TOO_MANY_REQUESTS
        tell(f"{text} is not confirmed{', and not taken' if refused else ''}: {error.message}")
        return not refused
    return True
