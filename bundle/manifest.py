"""Hold `bundle.json` against its form, the files that it lists, and the evidence that it speaks of."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from bundle import again, identity, kin, layout, rows, timing
from bundle import story as tell
from bundle.format import count
from schema import VERSION, canon, documents
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bundle.evidence import Evidence
    from bundle.ledger import Ledger


def read(data: bytes, ledger: Ledger) -> dict[str, Any] | None:
    """Step 2. None when the manifest cannot be used at all; what is wrong beside that is in the ledger."""
    try:
        if len(data) > layout.MAX_MANIFEST_BYTES:
            raise KitError(f"larger than {layout.MAX_MANIFEST_BYTES} bytes")
        manifest: dict[str, Any] = documents.parse_json(data, layout.MANIFEST)
        documents.check(manifest, "bundle-1", layout.MANIFEST)
        canonical = canon.dumps(manifest) + b"\n"
        own = identity.bundle_hash(manifest)
    except KitError as error:
        ledger.contradict(layout.MANIFEST, error, "a manifest that follows schema bundle-1")
        return None
    whole = ledger.equal(layout.MANIFEST, "other bytes" if data != canonical else "", "")
    if ledger.equal(f"{layout.MANIFEST}: bundle_hash", manifest["bundle_hash"], own) and whole:
        ledger.confirmed.append(f"{layout.MANIFEST} is canonical, and its hash is its own")
    return manifest


def files(found: Mapping[str, bytes], manifest: dict[str, Any], ledger: Ledger) -> set[str]:
    """Step 3. Return the paths that are as sealed."""
    listed = {item["path"]: item for item in manifest["files"]}
    sound: set[str] = set()
    if [item["path"] for item in manifest["files"]] != sorted(listed) or layout.MANIFEST in listed:
        ledger.contradict(f"{layout.MANIFEST}: files", "a path twice or out of order", "each path once, sorted")
        return sound
    for path in sorted(listed.keys() - found.keys()):
        ledger.contradict(path, "missing", "a file")
    for path in sorted(found.keys() - listed.keys() - {layout.MANIFEST}):
        ledger.contradict(
            path, "an empty folder" if path.endswith("/") else "a file", "nothing: the manifest does not list it"
        )
    for path in sorted(path for path in listed if not layout.fits(path)):
        ledger.contradict(path, "a path", "one that may stand in a bundle")
    for path in sorted(listed.keys() & found.keys()):
        item, data = listed[path], found[path]
        if (
            ledger.equal(path, f"{len(data)} bytes", f"{item['size_bytes']} bytes")
            and ledger.equal(path, f"sha256 {hashlib.sha256(data).hexdigest()}", f"sha256 {item['sha256']}")
            and ledger.equal(f"{path}: role", item["role"], layout.role(path))
        ):
            sound.add(path)
    if not ledger.contradicted:
        ledger.confirmed.append(f"{count(len(sound) + 1, 'file')} and no other, each with its size and digest")
    return sound


def follows(sealed: again.Sealed, evidence: Evidence, figures: dict[str, Any] | None, ledger: Ledger) -> None:
    """Compare what the manifest says about its evidence with the evidence."""
    manifest = sealed.manifest
    for key, seen in identity.chain(evidence).items():
        ledger.equal(f"{layout.MANIFEST}: chain.{key}", manifest["chain"][key], seen)
    if manifest["chain"] == identity.chain(evidence):
        ledger.confirmed.append("the chain holds: lock, image, kit, protocol")
    if sealed.ours:
        ledger.equal(f"{layout.MANIFEST}: kit_version", manifest["kit_version"], VERSION)
    ledger.equal(f"{layout.MANIFEST}: gpu_result", manifest["gpu_result"], evidence.gpu)
    ledger.equal(
        f"{layout.MANIFEST}: content_hash",
        manifest["content_hash"],
        identity.content_hash(evidence),
        "the content hash is that of the evidence",
    )
    _dated(manifest["created_at"], evidence, ledger)
    if not kin.same(evidence):
        ledger.skip(layout.AT_ITS_WORD, f"{kin.AT_ITS_WORD}; K {manifest['chain']['cargo_sha256']}")
    if over := tell.above_peak(figures):
        ledger.notes.append(f"above the datasheet's peak, so doubtful: {', '.join(over)}")
    if figures and (caution := rows.caution(figures["cases"])):
        ledger.notes.append(caution)


def _dated(created_at: str, evidence: Evidence, ledger: Ledger) -> None:
    """A bundle is sealed after what is in it; elsewhere, perhaps, where clocks are set otherwise."""
    sealed, stream = timing.moment(created_at), evidence.results or evidence.report
    finished = timing.moment(stream.end["finished_at"]) if stream else None
    if sealed is None or (finished and sealed < finished - timing.OTHER_CLOCKS):
        ledger.contradict(
            f"{layout.MANIFEST}: created_at", created_at, f"a date, not before the end of what it holds, {finished}"
        )
