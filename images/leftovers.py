"""Forget no image that a build made on its way: one that breaks off leaves its steps in the engine.

What it makes has a name, and each step a label, so that they are found again even when the build was killed. The label
is no part of the image: `canonical` leaves it out.
"""

from __future__ import annotations

import hashlib
import platform
from http import HTTPStatus
from typing import TYPE_CHECKING

from images.configuration import STEP_LABEL
from images.endpoint import EngineError

if TYPE_CHECKING:
    from pathlib import Path

    from images.engine import Engine

REPOSITORY = "rocm-repro-kit"
LONG_OVER_S = 6 * 3600.0  # no build takes that long


def mark(out: Path) -> str:
    """Return the mark of builds for the folder `out`, where only one builds at a time: nobody else's are touched.

    Machines that share an engine may have the same paths, hence the machine's name.
    """
    return hashlib.sha256(f"{platform.node()}:{out.resolve()}".encode()).hexdigest()[:16]


def label(out: Path) -> str:
    """Return the label of what a build for `out` makes on its way."""
    return f"{STEP_LABEL}={mark(out)}"


def name(out: Path) -> str:
    """Return the name that what a build for `out` makes has meanwhile: it keeps off those who prune the engine."""
    return f"{REPOSITORY}:building-{mark(out)}"


def clear(engine: Engine, out: Path) -> None:
    """Remove what builds for `out` made, and builds for any folder that are long over.

    A step that is in flight when its build is broken off goes before the next build. So do all of them where somebody
    else is pruning: an engine prunes one at a time.
    """
    engine.remove(name(out), force=True)
    try:
        engine.prune(label(out))
        engine.prune(STEP_LABEL, older_s=LONG_OVER_S)
    except EngineError as error:
        if error.status != HTTPStatus.CONFLICT:
            raise
