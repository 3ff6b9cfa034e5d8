"""Ask an image about itself: the kit's own checks gather facts in a container of it, with nothing but a processor."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from images.access import access
from images.cargo import pack
from images.endpoint import EngineError
from images.inspect import PLATFORM
from images.running import AGAIN, Intake, conclude
from images.stderr import Stderr
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from images.engine import Engine
    from images.inspect import Looked
    from pins.lock import Lock

CHECKS = ("versions", "torch_build", "torch_family", "inventory")
DEADLINE_S = 600
MOST_RECORDS = 100  # of a handful of checks; more is not our code that speaks
PYTHON = "the kit asks an image through its own python3, 3.9 or newer: add one to it, in order and on its PATH"
NO_PYTHON = re.compile(r"cannot run this command|executable file not found")
KEPT = re.compile(r"\nthe \d+ records that came are kept in .*")


def read(engine: Engine, image: Looked, lock: Lock | None = None) -> list[dict[str, Any]]:
    """Return the records of `CHECKS` in a container of the image, whose entrypoint is not used.

    Facts are theirs; findings are of a run without any GPU and without its environment's check, so judge them again.
    KitError for another platform, without a Python that can run the checks, and when what comes is not their stream.
    """
    if not image.runs:
        raise KitError(f"{image.reference} is for {image.platform}", f"take the image for {PLATFORM}")
    context = {
        "runtime": "container",
        "backend": "cpu",
        "image_id": image.id,
        "lock_sha256": lock.sha256 if lock else None,
    }
    cargo, sources_sha256 = pack(lock.document if lock else None, context)
    sent = {"document": "report-1", "cargo_sha256": sources_sha256, **context}
    argv = ["python3", "-m", "validate", *(word for name in CHECKS for word in ("--only", name))]
    try:
        with (
            tempfile.TemporaryDirectory(prefix="kit-inspect-") as folder,
            Intake(Path(folder) / "report.jsonl", sent, _counted()) as intake,
            Stderr(lambda _: None) as stderr,
        ):
            code = engine.run(
                image.id,
                cargo,
                argv,
                access("cpu", engine.about()),
                deadline_s=DEADLINE_S,
                on_line=intake.take,
                on_stderr=stderr.hear,
            )
            conclude(intake, stderr, "validate", code)
    except EngineError as error:
        if error.code == "start" and NO_PYTHON.search(error.message):
            raise KitError(f"{image.reference} has no python3 that starts ({error.message})", PYTHON) from error
        raise
    except KitError as error:
        hint = PYTHON if error.hint in {"", AGAIN} else error.hint
        raise KitError(f"{image.reference}: {KEPT.sub('', error.message)}", hint) from error
    return understood(intake.records, image.reference)


def _counted() -> Any:
    seen: list[str] = []

    def count(record: dict[str, Any]) -> None:
        seen.append(record["kind"])
        if len(seen) > MOST_RECORDS:
            raise KitError(f"what calls itself the kit's checks says more than {MOST_RECORDS} things", PYTHON)

    return count


def understood(records: list[dict[str, Any]], reference: str) -> list[dict[str, Any]]:
    """Return the records; KitError unless they have the facts that are read from them: an image may say anything."""
    found = facts(records)
    for check in CHECKS:
        if stopped := found.get(check, {}).get("gather_error"):
            raise KitError(f"{reference}: the check {check} stopped inside: {stopped}", PYTHON)
    try:
        rows = [row for rows in found["versions"]["sources"].values() for row in rows]
        seen = found["inventory"]
        packages = [seen[kind] for kind in ("debs", "rpms") if seen[kind] is not None]
        whole = [len(row) == 2 and _texts(row) for row in rows]
        whole += [_texts(kind.values()) for kind in packages]
        whole += [_texts([item["name"], item["version"]]) for item in seen["wheels"]]
    except (KeyError, TypeError, AttributeError):
        whole = [False]
    if not all(whole):
        raise KitError(f"{reference}: what it tells of itself is not what the kit's checks tell", PYTHON)
    return records


def _texts(values: Iterable[Any]) -> bool:
    return all(isinstance(value, str) for value in values)


def facts(records: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the facts of each check by its name."""
    return {record["check"]: record["facts"] for record in records if record["kind"] == "facts"}
