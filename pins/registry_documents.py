"""Read what registries send: indexes, manifests, descriptors. Nothing is asked for here."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pins.references import DIGEST
from schema import documents
from schema.errors import KitError

if TYPE_CHECKING:
    from pins.references import Reference

OCI_INDEX = "application/vnd.oci.image.index.v1+json"
OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
DOCKER_INDEX = "application/vnd.docker.distribution.manifest.list.v2+json"
DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
INDEXES, MANIFESTS = frozenset({OCI_INDEX, DOCKER_INDEX}), frozenset({OCI_MANIFEST, DOCKER_MANIFEST})
PLATFORM = ("linux", "amd64")
MAX_ENTRIES = 1000  # of an index, and of layers: engines stop at 127
ATTESTATION = "vnd.docker.reference.type"  # its entries describe others, and are for the platform unknown/unknown
NO_IMAGE = "name an image, not another kind of artifact"


@dataclass(frozen=True)
class Descriptor:
    """A blob by media type, digest (`sha256:...`) and size in bytes."""

    media_type: str
    digest: str
    size: int

    def document(self) -> dict[str, Any]:
        """Return it as it stands in manifests."""
        return {"mediaType": self.media_type, "digest": self.digest, "size": self.size}


def digest(data: bytes) -> str:
    """Return the digest of bytes, `sha256:...`."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def parsed(data: bytes, where: str) -> dict[str, Any]:
    """Return the JSON object in bytes; KitError, naming `where`, for anything else."""
    hint = "check that this is the address of a registry"
    try:
        found = documents.parse_json(data, where)
    except KitError as error:
        raise KitError(error.message, hint) from error
    if not isinstance(found, dict) or documents.depth(found) > documents.MAX_DEPTH:
        raise KitError(f"{where} is not a document as registries keep them", hint)
    return found


def described(data: bytes, where: str, said: str = "") -> tuple[Descriptor, dict[str, Any]]:
    """Return descriptor and document of a manifest or index; the media type it has in itself goes before `said`."""
    document = parsed(data, where)
    if document.get("schemaVersion") != 2:
        raise KitError(
            f"{where} has a manifest of schema {str(document.get('schemaVersion'))[:20]}, which no engine pulls today",
            "push the image again with a newer engine",
        )
    kind = document.get("mediaType") or (said if said in INDEXES | MANIFESTS else "")
    if not kind:
        kind = OCI_INDEX if "manifests" in document else OCI_MANIFEST
    return Descriptor(str(kind), digest(data), len(data)), document


def descriptor(value: Any, where: str) -> Descriptor:
    """Return the descriptor in a document; KitError unless it has a sha256 and a size."""
    if isinstance(value, dict):
        kind, name, size = (value.get(key) for key in ("mediaType", "digest", "size"))
        whole = type(size) is int and size >= 0
        if isinstance(kind, str) and isinstance(name, str) and DIGEST.fullmatch(name) and whole:
            return Descriptor(kind, name, int(size or 0))
    raise KitError(f"{where} has a part without media type, sha256 or size", NO_IMAGE)


def items(value: Any, where: str) -> list[Any]:
    """Return a list that is not longer than any real one; KitError otherwise."""
    if isinstance(value, list) and len(value) <= MAX_ENTRIES:
        return value
    raise KitError(f"{where} lacks a list that images have, or has one of more than {MAX_ENTRIES}", NO_IMAGE)


def for_platform(index: dict[str, Any], name: Reference) -> Descriptor:
    """Return the manifest for linux/amd64 in an index, its plainest variant; attestations are passed over.

    KitError, naming the platforms that there are, when there is none.
    """
    entries = [entry for entry in items(index.get("manifests"), f"the index of {name}") if isinstance(entry, dict)]
    images = [entry for entry in entries if not _is_attestation(entry)]
    fitting = [entry for entry in images if platform_of(entry.get("platform")) == PLATFORM]
    if not fitting:
        found = sorted({"/".join(platform_of(entry.get("platform"))) for entry in images})
        raise KitError(
            f"{name} is for {', '.join(found[:12]) or 'no platform at all'}, not for linux/amd64",
            "name an image for it",
        )
    fitting.sort(key=lambda entry: str(entry["platform"].get("variant", "")))  # sorted stably: the first of a kind
    return descriptor(fitting[0], f"the index of {name}")


def check_config(document: dict[str, Any], layers: int, name: Reference) -> None:
    """Raise KitError unless a configuration is that of an image for linux/amd64 with so many layers."""
    found, rootfs = platform_of(document), document.get("rootfs")
    if not isinstance(rootfs, dict):
        raise KitError(f"{name} is no image of a container", NO_IMAGE)
    if found != PLATFORM:
        raise KitError(f"{name} is for {'/'.join(found)}, not for linux/amd64", "name an image for it")
    diff_ids = items(rootfs.get("diff_ids"), f"the configuration of {name}")
    if len(diff_ids) != layers or not all(isinstance(one, str) and DIGEST.fullmatch(one) for one in diff_ids):
        raise KitError(f"{name} has {layers} layers, and its configuration knows {len(diff_ids)}", NO_IMAGE)


def platform_of(document: Any) -> tuple[str, str]:
    """Return system and architecture that a document names; `unknown` where it names none."""
    named = document if isinstance(document, dict) else {}
    return str(named.get("os") or "unknown")[:40], str(named.get("architecture") or "unknown")[:40]


def _is_attestation(entry: dict[str, Any]) -> bool:
    notes = entry.get("annotations")
    return (isinstance(notes, dict) and ATTESTATION in notes) or platform_of(entry.get("platform")) == (
        "unknown",
        "unknown",
    )
