"""See which Python distributions Debian packages bring, by the metadata in the packages themselves."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

from pins import process
from pins.fetch import fetch
from pins.lock import from_document
from pins.resolve_pip import normal
from pins.store import Store
from schema.errors import KitError

METADATA = ("*.dist-info/METADATA", "*.egg-info/PKG-INFO", "*.egg-info")
UNPACK_S = 300


def distributions(document: dict[str, Any], *, shown: bool) -> dict[str, str]:
    """Return name and version of each Python distribution in the packages of a lock; its python3 packages are fetched.

    A package's name does not tell: python3-pil is Pillow, python3-yaml PyYAML. KitError when they cannot be had.
    """
    debs = [deb for deb in document["debs"] if deb["name"].startswith("python3-")]
    lock, store = from_document(document | {"debs": debs, "wheels": []}), Store()
    fetch(lock, store, progress=shown)
    return dict(sorted(pair for deb in lock.debs for pair in _of_package(store.path(deb["sha256"]))))


def _of_package(path: Path) -> list[tuple[str, str]]:
    with tempfile.TemporaryDirectory(prefix="kit-deb-") as folder:
        done = process.run(["dpkg-deb", "--extract", str(path), folder], timeout_s=UNPACK_S)
        if done.code:
            raise KitError(f"dpkg-deb cannot unpack {path}: {done.stderr[:300]}", "make room for temporary files")
        places = [place for pattern in METADATA for place in Path(folder).glob(f"usr/lib/python3*/**/{pattern}")]
        return [_name_and_version(place) for place in places if place.is_file()]


def _name_and_version(path: Path) -> tuple[str, str]:
    text = path.read_text(encoding="utf-8", errors="replace")
    found = {key: re.search(rf"^{key}: *(\S+)", text, re.MULTILINE) for key in ("Name", "Version")}
    name, version = found["Name"], found["Version"]
    if not name or not version:
        raise KitError(f"{path.name} has no name and version", "report this package to its distribution")
    return normal(name[1]), version[1]
