"""Write a bundle, folder and archive, so that nothing half-written is ever found, and nobody's files are lost."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from bundle import archive, layout
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FOLDER, ARCHIVE = "bundle", "bundle.tar"


def refuse_to_overwrite(folder: Path) -> None:
    """Raise KitError where the bundle's place is taken by what is not a bundle: that is somebody's, and is not lost."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise KitError(f"{folder} is not a folder", "move it away, or choose another place with --out")
    ours = (layout.MANIFEST, layout.REPORT, layout.SAMPLES)  # a damaged bundle is ours, too
    if folder.is_dir() and any(folder.iterdir()) and not any((folder / path).is_file() for path in ours):
        raise KitError(f"{folder} holds files and is no bundle", "move it away, or choose another place with --out")


def write(files: Mapping[str, bytes], out: Path) -> Path:
    """Write folder and archive so that whoever looks sees the old bundle or the new one, whole; return the folder.

    A folder cannot be replaced in one step: the old one is set aside first, and put back by the next call if we die
    between the two renames.
    """
    new, old, folder = out / ".bundle.new", out / ".bundle.old", out / FOLDER
    try:
        out.mkdir(parents=True, exist_ok=True)
        if old.exists() and not folder.exists():
            old.rename(folder)
        for rest in (new, old):
            shutil.rmtree(rest, ignore_errors=True)
        _write_folder(files, new)
        _write_archive(files, out / ARCHIVE)
        if folder.exists():
            folder.rename(old)
        new.rename(folder)
        _sync(out)
        shutil.rmtree(old, ignore_errors=True)
    except OSError as error:
        shutil.rmtree(new, ignore_errors=True)
        raise KitError(
            f"cannot write the bundle into {out}: {error.strerror}", "free space or choose another folder"
        ) from error
    return folder


def _write_folder(files: Mapping[str, bytes], folder: Path) -> None:
    for path, data in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("xb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
    for place in {target.parent for target in folder.rglob("*")}:
        _sync(place)


def _write_archive(files: Mapping[str, bytes], path: Path) -> None:
    part = path.with_name(f".{path.name}.part")
    try:
        with part.open("wb") as stream:
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
