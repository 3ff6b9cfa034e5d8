"""Which source files travel into a container, and the digest K over them."""

from __future__ import annotations

import hashlib
from pathlib import Path

PACKAGES = ("schema", "validate", "benchmarks")
HOST_ONLY = frozenset({"schema/canon.py", "schema/documents.py"})
ROOT = Path(__file__).resolve().parent.parent


def files(root: Path = ROOT) -> list[str]:
    """Return the paths of the cargo, relative to `root`, sorted by their bytes: Python sources and facts."""
    found = [
        path.relative_to(root).as_posix()
        for package in PACKAGES
        for pattern in ("*.py", "facts/*.json")
        for path in (root / package).rglob(pattern)
        if path.is_file() and "__pycache__" not in path.parts
    ]
    return sorted(set(found) - HOST_ONLY, key=str.encode)


def digest(root: Path = ROOT) -> str:
    """Return K: sha256, in hex, over `path NUL sha256-hex newline` of each file."""
    total = hashlib.sha256()
    for path in files(root):
        content = hashlib.sha256((root / path).read_bytes()).hexdigest()
        total.update(f"{path}\0{content}\n".encode())
    return total.hexdigest()
