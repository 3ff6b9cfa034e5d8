"""Write a bundle, folder and archive, so that nothing half-written is ever found, and nobody's files are lost.

Only what the kit itself wrote is replaced. Where anything else lies, nothing is written, and it is named.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from bundle import archive, layout, reading
from schema import documents
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

FOLDER, ARCHIVE = "bundle", "bundle.tar"
NEW, OLD, PART = ".bundle.new", ".bundle.old", ".bundle.tar.part"
HINT = "move it away, or choose another place with --out"


def refuse_to_overwrite(out: Path) -> None:
    """Raise KitError where something in `out` lies in a bundle's way that the kit did not write: it is somebody's."""
    try:
        for name in (FOLDER, NEW, OLD):
            _of_a_bundle(out / name)
        for name in (ARCHIVE, PART):
            _an_archive(out / name)
    except OSError as error:
        raise KitError(f"cannot write the bundle into {out}: {error.strerror}", HINT) from error


def write(files: Mapping[str, bytes], out: Path) -> Path:
    """Write folder and archive so that whoever looks sees the old bundle or the new one, whole; return the folder.

    A folder cannot be replaced in one step: the old one is set aside first, and put back by the next call if we die
    between the two renames.
    """
    new, old, folder = out / NEW, out / OLD, out / FOLDER
    refuse_to_overwrite(out)
    try:
        out.mkdir(parents=True, exist_ok=True)
        if old.exists() and not folder.exists():
            old.rename(folder)
        for rest in (new, old):
            _clear(rest)
        _write_folder(files, new)
        _write_archive(files, out / ARCHIVE)
        if folder.exists():
            folder.rename(old)
        new.rename(folder)
        _sync(out)
        _clear(old)
    except OSError as error:
        _clear(new)
        raise KitError(
            f"cannot write the bundle into {out}: {error.strerror}", "free space or choose another folder"
        ) from error
    return folder


def _entries(folder: Path) -> Iterator[tuple[str, int]]:
    """Yield everything below a folder: its path in there, and its mode; nothing is followed."""
    pending = [""]
    while pending:
        prefix = pending.pop()
        for name in sorted(os.listdir(folder / prefix)):  # noqa: PTH208 - names alone: a Path would be taken apart again
            mode = (folder / prefix / name).lstat().st_mode
            yield prefix + name, mode
            if stat.S_ISDIR(mode):
                pending.append(f"{prefix}{name}/")


def _of_a_bundle(folder: Path) -> list[tuple[str, int]]:
    """Return what is in a folder that the kit wrote, nothing where there is none; KitError naming what is not ours.

    Ours is what the manifest there lists; where that is damaged, what the kit itself names.
    """
    if not os.path.lexists(folder):
        return []
    if folder.is_symlink() or not folder.is_dir():
        raise KitError(f"{folder} is not a folder", HINT)
    ours, found = _listed(folder / layout.MANIFEST), list(_entries(folder))
    folders = {path.rpartition("/")[0] for path in ours | {layout.CASE_FOLDER}}
    for path, mode in found:
        if not (path in folders if stat.S_ISDIR(mode) else stat.S_ISREG(mode) and path in ours):
            raise KitError(f"{folder / path} is not of a bundle of the kit", HINT)
    return found


def _listed(manifest: Path) -> set[str]:
    """Return the paths that a bundle's files may have by its manifest."""
    try:
        document = documents.parse_json(reading.content(manifest, layout.MAX_MANIFEST_BYTES), layout.MANIFEST)
        documents.check(document, "bundle-1", layout.MANIFEST)
    except (OSError, KitError):
        return set(layout.NAMES)
    return {layout.MANIFEST, *(item["path"] for item in document["files"])}


def _an_archive(path: Path) -> None:
    """Raise KitError unless there is nothing, or an archive that begins as ours do."""
    if not os.path.lexists(path):
        return
    if stat.S_ISREG(path.lstat().st_mode):
        with reading.regular(path) as stream:
            if archive.begins(stream.read(archive.BLOCK)):
                return
    raise KitError(f"{path} is not an archive that the kit wrote", HINT)


def _clear(folder: Path) -> None:
    """Take away what the kit wrote into a folder, its manifest last: until then it says what is ours. Best effort."""
    try:
        found = _of_a_bundle(folder)
        for path in sorted((path for path, mode in found if not stat.S_ISDIR(mode)), key=layout.MANIFEST.__eq__):
            (folder / path).unlink()
        for path in sorted((path for path, mode in found if stat.S_ISDIR(mode)), reverse=True):
            (folder / path).rmdir()
        if folder.is_dir():
            folder.rmdir()
    except (OSError, KitError):
        return


def _write_folder(files: Mapping[str, bytes], folder: Path) -> None:
    """Write each file to disk, the manifest first: should we die, it says which of them are ours."""
    for path, data in sorted(files.items(), key=lambda item: item[0] != layout.MANIFEST):
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("xb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
    for place in {target.parent for target in folder.rglob("*")}:
        _sync(place)


def _write_archive(files: Mapping[str, bytes], path: Path) -> None:
    part = path.with_name(PART)
    part.unlink(missing_ok=True)  # `refuse_to_overwrite` has seen that it is ours
    try:
        with part.open("xb") as stream:  # no link is followed so
            archive.write(dict(files), stream)
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
