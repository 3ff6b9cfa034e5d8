"""Seal a report and results, with the image and the lock they stand on, into a folder and a `.tar` of the same."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from typing import TYPE_CHECKING, Any

from bundle import archive, identity, layout, redaction, streams
from bundle import story as tell
from bundle.evidence import Evidence, Report, Results, attempt, parse
from bundle.verify import judge
from bundle.views import summary, views
from schema import VERSION, canon
from schema.errors import KitError
from schema.stream import now

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FOLDER, ARCHIVE = "bundle", "bundle.tar"


def seal(
    report_path: Path | None,
    results_path: Path | None,
    *,
    image: dict[str, Any] | None,
    lock: dict[str, Any] | None,
    out: Path,
    case: Path | None = None,
    created_at: str = "",
    names: Mapping[bytes, str] | None = None,
) -> dict[str, str]:
    """Write `out/bundle/` and `out/bundle.tar`; return {path, tar, bundle_hash, content_hash}.

    Raises KitError, and writes nothing, unless all of it names the same image, lock (L) and sources (K), holds nothing
    that names a machine or a person (`names`; by default this machine's own), and verifies.
    """
    files = gather(report_path, results_path, image=image, lock=lock, case=case)
    refuse_to_overwrite(out / FOLDER)
    try:
        manifest, files = assemble(files, created_at=created_at or now(), names=names)
    except KitError as error:  # the user knows these records by the names of their files
        message = error.message.replace(layout.REPORT, str(report_path)).replace(layout.SAMPLES, str(results_path))
        raise KitError(message, error.hint or "take the file whole, as the run wrote it, or run it again") from error
    path = write(files, out)
    return {
        "path": str(path),
        "tar": str(path.with_name(ARCHIVE)),
        "bundle_hash": manifest["bundle_hash"],
        "content_hash": manifest["content_hash"],
    }


def gather(
    report_path: Path | None,
    results_path: Path | None,
    *,
    image: dict[str, Any] | None,
    lock: dict[str, Any] | None,
    case: Path | None,
) -> dict[str, bytes]:
    """Return the evidence as it will lie in the bundle, but for what has to be derived from it."""
    files: dict[str, bytes] = {}
    if report_path:
        files[layout.REPORT] = _read(report_path)
    if results_path:
        files[layout.SAMPLES] = _read(results_path)
    if image:
        files[layout.IMAGE] = canon.dumps(image)
    if lock:
        files[layout.LOCK] = canon.dumps(lock)
    if case:
        name = re.sub(r"[^A-Za-z0-9_.-]", "_", case.name).lstrip(".-") or "case.py"
        files[layout.CASE_FOLDER + name] = _read(case)
    return files


def assemble(
    raw: dict[str, bytes], *, created_at: str, names: Mapping[bytes, str] | None = None
) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return the manifest and every file of the bundle made from this evidence; KitError when it cannot be sealed."""
    files = dict(raw)
    redaction.refuse(files, dict(redaction.names() if names is None else names), raw.get(layout.LOCK, b""))
    if layout.SAMPLES in files:
        files[layout.SAMPLES] = streams.pack(files[layout.SAMPLES])
    evidence = understood(files)
    one_origin(evidence)
    if evidence.results:
        files[layout.PROTOCOL] = canon.dumps(evidence.results.protocol)
    figures = summary(evidence)
    files |= attempt("writing the reports", lambda: views(evidence, figures))
    manifest = describe(files, evidence, figures, created_at)
    files[layout.MANIFEST] = canon.dumps(manifest) + b"\n"
    verdict = judge(files)
    if verdict["verdict"] != "CONFIRMED":
        wrong = verdict["contradicted"][0]
        raise KitError(f"this would not verify: {wrong['what']}: {wrong['seen']}", f"expected: {wrong['expected']}")
    return manifest, files


def understood(files: Mapping[str, bytes]) -> Evidence:
    """Return the evidence, parsed and held against its schemas."""
    found = {path: parse(path, data) for path, data in files.items() if path in layout.EVIDENCE}
    report: Report | None = found.get(layout.REPORT)
    results: Results | None = found.get(layout.SAMPLES)
    if report is None and results is None:
        raise KitError("there is nothing to seal: neither a report nor results", "validate and measure first")
    cases = {path: data for path, data in files.items() if path.startswith(layout.CASE_FOLDER)}
    return Evidence(found.get(layout.LOCK), found.get(layout.IMAGE), report, results, cases)


def one_origin(evidence: Evidence) -> None:
    """Raise KitError unless report, results, image and lock belong together."""
    from bundle.agreement import disagreements

    found = disagreements(evidence)
    if found:
        what, seen, expected = found[0]
        raise KitError(f"{what}: {seen}, not {expected}", "these do not belong together: validate and measure again")


def describe(
    files: Mapping[str, bytes], evidence: Evidence, figures: dict[str, Any] | None, created_at: str
) -> dict[str, Any]:
    """Return the manifest."""
    manifest = {
        "schema": "bundle-1",
        "kit_version": VERSION,
        "renderer_sha256": identity.renderer(),
        "created_at": created_at,
        "title": tell.title(evidence),
        "gpu_result": evidence.gpu,
        "notice": tell.notice(evidence, figures),
        "chain": identity.chain(evidence),
        "files": [
            {
                "path": path,
                "sha256": hashlib.sha256(data).hexdigest(),
                "size_bytes": len(data),
                "role": layout.role(path),
            }
            for path, data in sorted(files.items())
        ],
        "content_hash": identity.content_hash(evidence),
    }
    return {**manifest, "bundle_hash": identity.bundle_hash(manifest)}


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


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise KitError(f"cannot read {path}: {error.strerror}", "run validate and benchmark first") from error
