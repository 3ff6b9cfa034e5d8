"""Find an image in a registry: tag or index -> manifest of linux/amd64 -> configuration, each verified by its digest.

`image` is the door. Manifest and configuration are kept in the store, so that a digest that was asked for once is
found again without a network. Nothing of an image's layers is read here.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from pins.file_lock import alone
from pins.paths import opened
from pins.references import DIGEST, Reference, parse
from pins.registry_client import Client
from pins.registry_documents import (
    DOCKER_INDEX,
    DOCKER_MANIFEST,
    INDEXES,
    MANIFESTS,
    NO_IMAGE,
    OCI_INDEX,
    OCI_MANIFEST,
    Descriptor,
    check_config,
    described,
    descriptor,
    digest,
    for_platform,
    items,
    parsed,
)
from pins.registry_errors import RegistryError
from pins.registry_places import mirrored
from pins.store import Store
from schema.errors import KitError

ACCEPT = {"Accept": f"{OCI_INDEX}, {OCI_MANIFEST}, {DOCKER_INDEX}, {DOCKER_MANIFEST}"}
MAX_MANIFEST_BYTES = 4 << 20  # registries take no larger ones
MAX_CONFIG_BYTES = 16 << 20
SPOILT = "ask again; when it stays so, what stands between here and the registry (a proxy, a mirror) spoils it"


@dataclass(frozen=True)
class RemoteImage:
    """An image of linux/amd64 in a registry. `index` is what chose its manifest, None where the manifest was named."""

    reference: Reference
    index: Descriptor | None
    manifest: Descriptor
    config: Descriptor
    layers: list[Descriptor]
    manifest_document: dict[str, Any] = field(repr=False)
    config_document: dict[str, Any] = field(repr=False)

    @property
    def diff_ids(self) -> list[str]:
        """Digests of the layers as plain tars, lowest first."""
        return list(self.config_document["rootfs"]["diff_ids"])


def image(reference: Reference | str, *, store: Store | None = None, client: Client | None = None) -> RemoteImage:
    """Return the image of a reference; by digest from the store alone where that has it.

    KitError for a reference without tag and digest and for the tag `latest`, which moves with every release: the
    message names the digest that it has today. RegistryError and KitError, with one remedy, for what goes wrong.
    """
    name = parse(reference) if isinstance(reference, str) else reference
    if not name.wanted:
        raise KitError(f"{name} names neither a tag nor a digest", f"name one: {name}:TAG or {name}@sha256:...")
    mirror, kept = mirrored(name), store or Store()
    if mirror is None:
        return _read(_Reader(name, kept, client), name)
    try:
        return _read(_Reader(mirror, kept, None, mirror=True), name)
    except KitError as first:  # what it does not have, or cannot give, the image's own registry may
        try:
            return _read(_Reader(name, kept, client), name)
        except KitError as error:
            error.message += f"; nor, with KIT_SOURCE: {first.message}"
            raise


def _read(reader: _Reader, name: Reference) -> RemoteImage:
    """Return the image under the name that it was asked for by, wherever it was found."""
    held = reader.held
    try:
        return replace(reader.image(), reference=name)
    finally:
        if held is None:
            reader.close()


def present(reference: Reference, client: Client) -> Descriptor:
    """Return what a tag or digest names in the registry now; the store is not asked. RegistryError when it is gone."""
    data, kind = _Reader(reference, Store(), client).from_registry(reference.wanted)
    return described(data, str(reference), kind)[0]


def leads_to(reference: Reference, client: Client) -> tuple[str, ...]:
    """Return the digests to which a tag leads now: its own, and that of linux/amd64 where it is an index."""
    reader = _Reader(reference, Store(), client)
    data, kind = reader.from_registry(reference.wanted)
    top, document = described(data, str(reference), kind)
    return (top.digest, for_platform(document, reference).digest) if top.media_type in INDEXES else (top.digest,)


class _Reader:
    """Look one reference up, in the store where it can be, else in its registry."""

    def __init__(self, name: Reference, store: Store, client: Client | None, *, mirror: bool = False) -> None:
        """A `mirror` has an index as a blob: it does not have all the images that are in it."""
        self.name, self.store, self.held, self.mirror = name, store, client, mirror

    @property
    def client(self) -> Client:
        """The connection; made only when the store does not do."""
        if self.held is None:
            self.held = Client(self.name.registry)
        return self.held

    def close(self) -> None:
        """Close the connection, if there is one."""
        if self.held:
            self.held.close()

    def image(self) -> RemoteImage:
        """Return the image."""
        index = None
        manifest, document = self._manifest(self.name.wanted)
        if self.name.tag == "latest" and not self.name.digest:
            raise KitError(
                f"{self.name} is another image after every release",
                f"name what it is today: {self.name.at(manifest.digest)}",
            )
        if manifest.media_type in INDEXES:
            index, chosen = manifest, for_platform(document, self.name)
            manifest, document = self._manifest(chosen.digest, chosen.size)
        if manifest.media_type not in MANIFESTS:
            raise KitError(f"{self.name} holds an index in an index", NO_IMAGE)
        where = f"the manifest of {self.name}"
        config = descriptor(document.get("config"), where)
        layers = [descriptor(layer, where) for layer in items(document.get("layers"), where)]
        return RemoteImage(self.name, index, manifest, config, layers, document, self._config(config, len(layers)))

    def _manifest(self, wanted: str, size: int | None = None) -> tuple[Descriptor, dict[str, Any]]:
        """Return a manifest or index, by digest or tag."""
        by_digest = DIGEST.fullmatch(wanted) is not None
        data, kind = (self._kept(wanted) if by_digest else None), ""
        if data is None:
            data, kind = self.from_registry(wanted)
        if size is not None and len(data) != size:
            raise KitError(f"the manifest {wanted} of {self.name.name} has {len(data)} bytes, not {size}", SPOILT)
        found, document = described(data, str(self.name), kind)
        self._keep(found.digest, data)
        return found, document

    def from_registry(self, wanted: str) -> tuple[bytes, str]:
        """Return the bytes of a manifest, which are what their digest says, and the type that the answer gave."""
        path, what = f"{self.name.repository}/manifests/{wanted}", f"read {self.name}"
        try:
            response = self.client.ask("GET", path, what=what, headers=ACCEPT)
        except RegistryError as error:
            if error.status != 404:
                raise
            if self.mirror:
                return self._blob(wanted, MAX_MANIFEST_BYTES), ""
            raise self._missing(error, wanted) from error
        said, kind = response.headers.get("Docker-Content-Digest", ""), response.headers.get("Content-Type", "")
        data = self.client.document(response, MAX_MANIFEST_BYTES, what)
        expected = wanted if DIGEST.fullmatch(wanted) else said
        if DIGEST.fullmatch(expected) and digest(data) != expected:
            raise KitError(f"{self.name}: the registry calls {expected} what is {digest(data)}", SPOILT)
        return data, kind.partition(";")[0].strip()

    def _missing(self, error: RegistryError, wanted: str) -> RegistryError:
        """Return the error for a 404: is it the tag, the digest, or the whole repository that is not there?"""
        tags: list[Any] = []
        try:
            answer = self.client.ask("GET", f"{self.name.repository}/tags/list?n=1000", what="list tags")
            listed = parsed(self.client.document(answer, MAX_MANIFEST_BYTES, "list tags"), "the list of tags")
            tags = items(listed.get("tags"), "the list of tags")
        except RegistryError as second:
            if second.status == 404:
                words = f"{self.name.registry} has no repository {self.name.repository}"
                return RegistryError(words, "check its name", status=404, codes=("NAME_UNKNOWN",))
        except KitError:  # a page that is no list of tags tells nothing
            pass
        kind = "manifest" if DIGEST.fullmatch(wanted) else "tag"
        there = ", ".join(sorted(str(tag)[:128] for tag in tags if isinstance(tag, str))[:8])
        hint = f"name one of its tags, such as {there}" if there and kind == "tag" else "check it; it may be deleted"
        return RegistryError(f"{self.name.name} has no {kind} {wanted}", hint, status=404, codes=error.codes)

    def _config(self, config: Descriptor, layers: int) -> dict[str, Any]:
        """Return the configuration of an image of our platform."""
        data = self._kept(config.digest)
        if data is None:
            data = self._blob(config.digest, MAX_CONFIG_BYTES)
            self._keep(config.digest, data)
        document = parsed(data, f"the configuration of {self.name}")
        check_config(document, layers, self.name)
        return document

    def _blob(self, wanted: str, limit: int) -> bytes:
        """Return a small blob, which is what its digest says."""
        what = f"read {wanted} of {self.name.name}"
        answer = self.client.ask("GET", f"{self.name.repository}/blobs/{wanted}", what=what)
        data = self.client.document(answer, limit, what)
        if digest(data) != wanted:
            raise KitError(f"{self.name}: the registry calls {wanted} what is {digest(data)}", SPOILT)
        return data

    def _kept(self, wanted: str) -> bytes | None:
        """Return a document from the store, None where it has none."""
        sha256 = wanted.removeprefix("sha256:")
        if not self.store.has(sha256):
            return None
        with opened(self.store.path(sha256)) as file:
            data = file.read(MAX_CONFIG_BYTES + 1)
        return data if digest(data) == wanted else None

    def _keep(self, wanted: str, data: bytes) -> None:
        """Keep a document, whose digest was checked, in the store."""
        sha256 = wanted.removeprefix("sha256:")
        if self.store.has(sha256):
            return
        try:
            with alone(self.store.part(sha256)) as part:
                part.truncate(0)
                part.write(data)
                part.flush()
                self.store.keep(sha256)
        except OSError as error:
            raise self.store.broken(error) from error
