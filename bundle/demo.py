"""Show in seconds, without engine or GPU, what a bundle is worth: it verifies, and one changed byte is caught."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from bundle import layout
from bundle.verify import verify

EXAMPLE = Path(__file__).resolve().parent.parent / "docs" / "example"


def demo(path: Path = EXAMPLE) -> dict[str, Any]:
    """Return {verdict, changed, caught, report}.

    `verdict` is that of the bundle, `caught` that of a copy in which one byte of the file `changed` is another: a digit
    of a figure, where the bundle has figures.
    """
    verdict = verify(path)
    with tempfile.TemporaryDirectory(prefix="kit-demo-") as folder:
        copy = Path(folder) / "bundle"
        shutil.copytree(path, copy)
        changed = next(name for name in (layout.SUMMARY, layout.REPORT) if (copy / name).exists())
        one_digit(copy / changed)
        caught = verify(copy)
    return {
        "verdict": verdict,
        "changed": changed,
        "caught": caught,
        "report": str(path / "report.html"),
    }


def one_digit(path: Path) -> None:
    """Change one digit in the middle of a file to another."""
    data = bytearray(path.read_bytes())
    place = next(index for index in range(len(data) // 2, len(data)) if chr(data[index]).isdigit())
    data[place] = ord("0") + (data[place] - ord("0") + 1) % 10
    path.write_bytes(data)
