"""The whole chain: build, validate, benchmark, seal, verify; what is there and still true is kept, and said."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from commands.chosen import Chosen, or_error
from commands.image import built
from commands.program import say
from commands.runs import RECORDS, Records, run, statuses, summarized
from schema.records import exit_code

if TYPE_CHECKING:
    from pathlib import Path

    from images.access import Access
    from images.device import Device
    from images.engine import Engine


class Reproduced(NamedTuple):
    """The answer of the chain (its JSON document), and the exit code."""

    answer: dict[str, Any]
    code: int


def reproduce(chosen: Chosen, engine: Engine, suite: str, device: Device) -> Reproduced:
    """Run the chain as far as it holds: nothing is measured before it is proved correct."""
    from images.access import access
    from images.record import exit_code as unexpected

    granted = access(chosen.backend, engine.about(), device)
    image = built(chosen, engine)
    report = kept_records(chosen, image, granted) or run(chosen, image, engine, "validate", [], granted)
    findings = [record for record in report if record["kind"] == "finding"]
    answer = {"image_id": image["image_id"], "manifest_digest": image["manifest_digest"], "findings": findings}
    if code := exit_code(statuses(report)):
        return Reproduced(answer, code)
    argv = ["--suite", suite]
    results = kept_records(chosen, image, granted, chosen.out / RECORDS["benchmarks"], suite)
    results = results or run(chosen, image, engine, "benchmarks", argv, granted)
    answer["summary"] = summarized(results, chosen.out)
    answer["bundle"], verdict = _sealed_and_verified(chosen, image)
    answer["verdict"] = verdict
    codes = exit_code(statuses(results)), unexpected(image), int(verdict["verdict"] != "CONFIRMED")
    return Reproduced(answer, max(codes))


def kept_records(
    chosen: Chosen, image: dict[str, Any], granted: Access, results: Path | None = None, suite: str = ""
) -> Records | None:
    """Return the records of an earlier validation if all that they stand on is still the same, and say when that was.

    With `results`, a file, those of a benchmark of this suite, which stand on the validation, too.
    """
    from bundle.kept import kept
    from schema.sources import digest

    module = "benchmarks" if results else "validate"
    expected = {
        "image_id": image["image_id"],
        "lock_sha256": chosen.lock.sha256,
        "cargo_sha256": digest(),
        "backend": chosen.backend,
        "host": {"kernel": os.uname().release},
    }
    records = kept(
        chosen.out / RECORDS["validate"],
        results,
        image=image,
        lock=chosen.lock.document,
        expected=expected,
        suite=suite,
        gpus=granted.devices.addresses,
        tell=lambda reason: say(f"{module}: made again: {reason}"),
    )
    if records:
        say(f"{module}: kept (from {records[0]['started_at']})")
    return records


def _sealed_and_verified(chosen: Chosen, image: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the bundle's path and verdict; the bundle that is there is kept if it verifies and holds these records."""
    from bundle.kept import holds
    from bundle.seal import seal
    from bundle.verify import verify
    from images.record import unexpected

    path, records = chosen.out / "bundle", [chosen.out / name for name in RECORDS.values()]
    verdict = or_error(lambda: verify(path, unexpected=unexpected)) if path.exists() else None
    if isinstance(verdict, dict) and verdict["verdict"] == "CONFIRMED" and holds(path, *records, image=image):
        say("bundle: kept (verified again)")
        return str(path), verdict
    sealed = seal(*records, image=image, lock=chosen.lock.document, out=chosen.out)
    return sealed["path"], verify(path, unexpected=unexpected)
