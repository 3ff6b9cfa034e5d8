"""Write an image into a folder as an OCI layout, which Apptainer, Podman and skopeo read without any registry."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, final

from pins.paths import is_folder, opened, there
from pins.registry import MAX_MANIFEST_BYTES, SPOILT
from pins.registry_documents import OCI_INDEX, Descriptor, digest, items, parsed
from pins.store import file_sha256, replacing
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pins.registry_upload import Source

MARK = b'{"imageLayoutVersion":"1.0.0"}'
NAME = "org.opencontainers.image.ref.name"


@final
class Layout:
    """A folder that is, or becomes, an OCI layout; it may hold several images. `sent_bytes` are those written now."""

    def __init__(self, folder: Path, *, advance: Callable[[float], None] = lambda _: None) -> None:
        self.folder, self.advance = folder, advance
        self.sent_bytes = 0
        if there(folder / "oci-layout"):
            return
        if there(folder) and (not is_folder(folder) or any(folder.iterdir())):
            raise KitError(f"{folder} is there, and is no OCI layout", "name a folder that is not there yet")

    def __enter__(self) -> Layout:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def size(self, wanted: str) -> int | None:
        """Return the size in bytes of a blob that is there and right, None otherwise."""
        path = self._path(wanted)
        if not path.is_file() or file_sha256(path) != path.name:
            return None
        return path.stat().st_size

    def put(self, blob: Descriptor, source: Source, *, mount: str = "") -> str:
        """Have a blob in the folder; return "there" or "sent". KitError when it is not what its digest says."""
        del mount
        if self.size(blob.digest) == blob.size:
            self.advance(blob.size)
            return "there"
        total, path = hashlib.sha256(), self._path(blob.digest)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(path) as file:
                for piece in source(0):
                    total.update(piece)
                    if file.tell() + len(piece) > blob.size:
                        raise KitError(f"what came as {blob.digest} is longer than its {blob.size} bytes", SPOILT)
                    file.write(piece)
                    self.sent_bytes += len(piece)
                    self.advance(len(piece))
                if total.hexdigest() != path.name:
                    raise KitError(f"what came as {blob.digest} is sha256:{total.hexdigest()}", SPOILT)
        except OSError as error:
            raise self._broken(error) from error
        return "sent"

    def put_manifest(self, data: bytes, media_type: str, name: str) -> None:
        """Write a manifest, and into the table of contents under a name, where it takes the place of another."""
        blob = Descriptor(media_type, digest(data), len(data))
        self.put(blob, lambda start: iter((data[start:],)))
        path = self.folder / "index.json"
        entries = [entry for entry in self._entries() if _name(entry) != name]
        entries.append(blob.document() | {"annotations": {NAME: name}})
        index = {"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": entries}
        try:
            for place, text in ((path, json.dumps(index, indent=2).encode()), (self.folder / "oci-layout", MARK)):
                with replacing(place) as file:
                    file.write(text)
        except OSError as error:
            raise self._broken(error) from error

    def read_back(self, data: bytes, media_type: str, name: str, blobs: list[Descriptor]) -> None:
        """Hold what is there now against what was written; KitError when anything else is there."""
        manifest = Descriptor(media_type, digest(data), len(data))
        named = [entry.get("digest") for entry in self._entries() if _name(entry) == name]
        wrong = [blob.digest for blob in (manifest, *blobs) if self.size(blob.digest) != blob.size]
        if wrong or named != [manifest.digest]:
            raise KitError(f"{self.folder} has not kept what was written: {', '.join(wrong) or name}", SPOILT)

    def _entries(self) -> list[Any]:
        """Return the images that the folder's table of contents has."""
        path = self.folder / "index.json"
        try:
            with opened(path) as file:
                index = parsed(file.read(MAX_MANIFEST_BYTES), str(path))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise self._broken(error) from error
        return items(index.get("manifests"), str(path))

    def _path(self, wanted: str) -> Path:
        return self.folder / "blobs" / "sha256" / wanted.removeprefix("sha256:")

    def _broken(self, error: OSError) -> KitError:
        return KitError(f"cannot write {self.folder}: {error.strerror}", "make room there, or name another folder")


def _name(entry: Any) -> Any:
    notes = entry.get("annotations") if isinstance(entry, dict) else None
    return notes.get(NAME) if isinstance(notes, dict) else None
