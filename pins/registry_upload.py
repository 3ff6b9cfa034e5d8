"""Write into a repository of a registry: blobs sent, mounted from a neighbour or found there, then manifests.

A blob that is there is never sent again, so that a push which was cut off goes on when it is repeated. A part of a
blob whose answer was lost is not sent twice: the registry is asked how much of it it has.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any, final
from urllib.parse import urlencode

from pins import registry_client
from pins.registry import MAX_MANIFEST_BYTES, SPOILT
from pins.registry_client import LATER, TRIES, Client
from pins.registry_documents import Descriptor, digest
from pins.registry_errors import RegistryError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pins.references import Reference

    #: Yields a blob's bytes from an offset on, as often as it is asked.
    Source = Callable[[int], Iterator[bytes]]

PART_BYTES = 16 << 20
OCTETS = {"Content-Type": "application/octet-stream"}
SHORT = "run it again: what is there already is not sent again"


@final
class Repository:
    """Where blobs and manifests go. `sent_bytes` counts what went over the network from here."""

    def __init__(self, reference: Reference, *, advance: Callable[[float], None] = lambda _: None) -> None:
        self.reference, self.name, self.advance = reference, reference.repository, advance
        self.client = Client(reference.registry)
        self.sent_bytes = 0

    def __enter__(self) -> Repository:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()

    def size(self, wanted: str) -> int | None:
        """Return the size in bytes of a blob, None when it is not there."""
        return self.client.size(self.name, wanted)

    def put(self, blob: Descriptor, source: Source, *, mount: str = "") -> str:
        """Have a blob in the repository; return how: "there", "mounted" (from `mount`, a repository beside), "sent".

        RegistryError when it cannot be sent, or what is sent is not what its digest says: the registry compares.
        """
        if self.size(blob.digest) == blob.size:
            self.advance(blob.size)
            return "there"
        place = self._begin(blob, mount)
        if place is None:
            self.advance(blob.size)
            return "mounted"
        self._send(place, blob, source)
        return "sent"

    def put_manifest(self, data: bytes, media_type: str, name: str) -> None:
        """Write a manifest under a tag or its digest; RegistryError when the registry calls it by another digest."""
        what = f"write the manifest {name} of {self.reference.name}"
        headers = {"Content-Type": media_type}
        path = f"{self.name}/manifests/{name}"
        with self.client.ask("PUT", path, what=what, headers=headers, data=data, good=frozenset({201})) as answer:
            said = answer.headers.get("Docker-Content-Digest", digest(data))
        if said != digest(data):
            raise RegistryError(f"cannot {what}: the registry calls {said} what is {digest(data)}", SHORT)

    def read_back(self, data: bytes, media_type: str, name: str, blobs: list[Descriptor]) -> None:
        """Hold what is there now against what was written; RegistryError when the registry has anything else."""
        for wanted in dict.fromkeys((digest(data), name)):
            what = f"read back {self.reference.name} {wanted}"
            answer = self.client.ask(
                "GET", f"{self.name}/manifests/{wanted}", what=what, headers={"Accept": media_type}
            )
            if self.client.document(answer, MAX_MANIFEST_BYTES, what) != data:
                raise RegistryError(f"{self.reference.name} {wanted} is not the manifest that was written", SHORT)
        for blob in blobs:
            if (size := self.size(blob.digest)) != blob.size:
                found = "nothing" if size is None else f"{size} bytes"
                raise RegistryError(f"{self.reference.name} has {found} under {blob.digest}, not {blob.size}", SHORT)

    def _begin(self, blob: Descriptor, mount: str) -> str | None:
        """Return the address to which a blob is to be sent; None where the registry mounted it instead."""
        query = f"?{urlencode({'mount': blob.digest, 'from': mount})}" if mount and mount != self.name else ""
        what, path = f"send {blob.digest} to {self.reference.name}", f"{self.name}/blobs/uploads/{query}"
        with self.client.ask("POST", path, what=what, data=b"", good=frozenset({201, 202})) as answer:
            return None if answer.status_code == 201 else self._place(answer, what)

    def _send(self, place: str, blob: Descriptor, source: Source) -> None:
        """Send a blob in parts, the last of them with the digest; go on after what went wrong, where that may help."""
        done, wait_s = 0, registry_client.BACK_OFF_S
        for left in reversed(range(TRIES)):
            try:
                for part in _parts(source(done)):
                    if done + len(part) > blob.size:
                        raise RegistryError(f"{blob.digest} is longer than {blob.size} bytes", SHORT, status=400)
                    place = self._patch(place, blob, part, done)
                    done += len(part)
                    self.sent_bytes += len(part)
                    self.advance(len(part))
                if done == blob.size:
                    self._finish(place, blob)
                    return
                raise RegistryError(f"{blob.digest} ended after {done} of {blob.size} bytes", SHORT)
            except RegistryError as error:
                if not left or (error.status and error.status not in LATER):
                    raise
            time.sleep(wait_s)
            wait_s *= 2
            place, had = self._had(place, blob)
            self.advance(had - done)
            done = had

    def _patch(self, place: str, blob: Descriptor, part: bytes, start: int) -> str:
        what = f"send {blob.digest} to {self.reference.name}"
        headers = OCTETS | {"Content-Range": f"{start}-{start + len(part) - 1}"}
        good = frozenset({202, 204})  # 204: some registries'
        with self.client.ask("PATCH", place, what=what, headers=headers, data=part, good=good, tries=1) as answer:
            return self._place(answer, what)

    def _finish(self, place: str, blob: Descriptor) -> None:
        what = f"finish {blob.digest} in {self.reference.name}"
        address = f"{place}{'&' if '?' in place else '?'}{urlencode({'digest': blob.digest})}"
        try:
            self.client.ask("PUT", address, what=what, headers=OCTETS, data=b"", good=frozenset({201, 204})).close()
        except RegistryError as error:
            if "DIGEST_INVALID" not in error.codes:
                raise
            raise RegistryError(f"what was sent as {blob.digest} is something else", SPOILT, status=400) from error

    def _had(self, place: str, blob: Descriptor) -> tuple[str, int]:
        """Return where to go on with a blob, and after how many bytes."""
        what = f"go on sending {blob.digest} to {self.reference.name}"
        with self.client.ask("GET", place, what=what, good=frozenset({204, 200, 404})) as answer:
            last = re.fullmatch(r"(?:bytes=)?0-([1-9][0-9]{0,14})", answer.headers.get("Range", ""))
            if answer.status_code != 404 and last:
                return self._place(answer, what, place), int(last[1]) + 1
        # It has given up, or has nothing, or one byte: both are 0-0.
        return self._begin(blob, "") or place, 0

    def _place(self, answer: Any, what: str, default: str = "") -> str:
        """Return the address in an answer: absolute, or below the one that was asked."""
        location = answer.headers.get("Location", default)
        if not location:
            raise RegistryError(f"cannot {what}: the registry does not say where to", "check that it is a registry")
        return self.client.joined(answer.url, location, what)


def of_bytes(data: bytes) -> Source:
    """Return bytes as what a blob can be sent from."""
    return lambda start: iter((data[start:],))


def _parts(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the same bytes in parts of one size: each is an answer to wait for."""
    held = bytearray()
    for piece in pieces:
        held += piece
        while len(held) >= PART_BYTES:
            yield bytes(held[:PART_BYTES])
            del held[:PART_BYTES]
    if held:
        yield bytes(held)
