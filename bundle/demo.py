"""Show in seconds, without engine or GPU, what a bundle is worth: it verifies, and one changed byte is caught."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bundle import layout, reading
from bundle.verify import judge

EXAMPLE = Path(__file__).resolve().parent.parent / "docs" / "example"


def demo(path: Path = EXAMPLE) -> dict[str, Any]:
    """Return {verdict, changed, caught, report}.

    `verdict` is that of the bundle, `caught` that of a copy in which one byte of the file `changed` is another: a digit
    of a figure, where the bundle has figures.
    """
    files = reading.read(path)
    changed = next(name for name in (layout.SUMMARY, layout.REPORT) if name in files)
    return {
        "verdict": judge(files),
        "changed": changed,
        "caught": judge(files | {changed: one_digit(files[changed])}),
        "report": str(path / "report.html"),
    }


def one_digit(content: bytes) -> bytes:
    """Return a file's content with one digit in the middle changed to another."""
    data = bytearray(content)
    place = next(index for index in range(len(data) // 2, len(data)) if chr(data[index]).isdigit())
    data[place] = ord("0") + (data[place] - ord("0") + 1) % 10
    return bytes(data)
