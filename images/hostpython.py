"""Run the cargo with this host's own Python and torch: no image, no container, the same stream."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from images import output
from images.running import AGAIN, DOCUMENTS, Intake, conclude, nobody
from images.stderr import Stderr
from pins import process
from schema import sources
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def stream(
    module: str,
    argv: list[str],
    *,
    python: str,
    out_path: Path,
    deadline_s: float,
    on_record: Callable[[dict[str, Any]], None] | None = None,
    on_stderr: Callable[[str], None] = nobody,
) -> list[dict[str, Any]]:
    """Run `PYTHON -m MODULE ARGV` from this checkout; return its records and leave them in `out_path`.

    The stream is held to what a container's is held to, and kept like it when it is cut off.
    """
    sent = {
        "document": DOCUMENTS[module],
        "runtime": "host",
        "image_id": None,
        "lock_sha256": None,
        "cargo_sha256": sources.digest(),
    }
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONSAFEPATH"}
    quiet = ["--quiet"] if module == "validate" else []  # its findings are shown from its records
    command = [python, "-m", module, *argv, *quiet]
    with (
        Intake(out_path, sent, on_record) as intake,
        Stderr(on_stderr) as stderr,
        process.started(command, env=environment, cwd=sources.ROOT) as running,
    ):
        deadline = time.monotonic() + deadline_s
        late = output.read(
            running.frames(),
            deadline,
            running.kill,
            intake.take,
            on_stderr=lambda line: stderr.hear(line.decode("utf-8", "replace")),
        )
        if late:
            raise KitError(f"{module} was killed at its deadline of {deadline_s:g} s{stderr.last}", AGAIN)
        conclude(intake, stderr, module, running.wait())
    return intake.records
