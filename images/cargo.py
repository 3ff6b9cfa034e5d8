"""Pack what travels into a container: our sources, the lock, the context of the run."""

from __future__ import annotations

import io
import tarfile
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from schema import sources
from schema.canon import dumps
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def pack(
    lock: Mapping[str, Any] | None,
    context: Mapping[str, Any],
    extra: Mapping[str, bytes] | None = None,
    *,
    root: Path = sources.ROOT,
) -> tuple[bytes, str]:
    """Return the tar for /kit and K, the digest of the sources in it.

    `lock.json` and `context.json` are canonical JSON; `extra` files (a person's case) lie under `case/` and, like the
    lock, are no part of K: they have digests of their own. Equal input gives equal bytes, whatever machine packs.
    """
    files = {path: (root / path).read_bytes() for path in sources.files(root)}
    files["context.json"] = dumps(dict(context))
    if lock is not None:
        files["lock.json"] = dumps(dict(lock))
    for name, data in (extra or {}).items():
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or not path.parts:
            raise KitError(f"{name!r} cannot be packed: it leaves the case's folder", "give a plain file name")
        files[f"case/{path}"] = data
    return archive(files), sources.digest(root)


def archive(files: Mapping[str, bytes]) -> bytes:
    """Return a deterministic tar: sorted, owned by root, 0644 and 0755, at time 0.

    Root without capabilities cannot read others' 0600 files, hence the modes.
    """
    folders = {str(parent) for name in files for parent in PurePosixPath(name).parents} - {"."}
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name in sorted({*files, *folders}, key=str.encode):
            entry = tarfile.TarInfo(name)
            if name in folders:
                entry.type, entry.mode = tarfile.DIRTYPE, 0o755
                tar.addfile(entry)
            else:
                entry.mode, entry.size = 0o644, len(files[name])
                tar.addfile(entry, io.BytesIO(files[name]))
    return buffer.getvalue()
