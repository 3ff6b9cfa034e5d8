"""`conformance`: what the parsers understand of a folder of captured outputs, a line a file.

The folder has an INDEX.tsv whose columns `file` and `tool` say which file was printed by which tool.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from schema.errors import KitError
from validate.parsers.catalogue import PARSERS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from validate.parsers.reading import Reading

INDEX = "INDEX.tsv"
LARGEST = 64 << 20  # bytes; of a larger file the beginning is read
#: What a capture is asked for; the same value of many devices is shown once.
ASKED = ("gfx", "pci", "memory_bytes", "power_w", "power_cap_w", "temperature_c", "numa_node")
NEEDED = ("gfx", "pci", "memory_bytes", "power_w")
SHOWN = 12  # values of a kind; more are counted


def conformance(folder: Path) -> int:
    """Print a JSON line for each file and one that sums up; return 1 where a file was not understood."""
    files = [described(folder, row) for row in _index(folder)]
    for line in files:
        print(json.dumps(line))
    print(json.dumps({"summary": summary(files)}))
    return 0 if files and all(line["understood"] for line in files) else 1


def _index(folder: Path) -> Iterator[dict[str, str]]:
    """Yield the rows of the index. KitError where there is none to go by."""
    hint = f"name a folder whose {INDEX} has the columns file and tool, kept apart by tabs"
    if not folder.is_dir():
        raise KitError(f"there is no folder {folder}", hint)
    try:
        text = (folder / INDEX).read_text(encoding="utf-8", errors="replace")
    except OSError as problem:
        raise KitError(f"cannot read {folder / INDEX}: {problem.strerror}", hint) from None
    try:
        rows = list(csv.DictReader(io.StringIO(text.replace("\0", "")), delimiter="\t"))
    except csv.Error as problem:
        raise KitError(f"{folder / INDEX} is no table: {problem}", hint) from None
    if not rows or not {"file", "tool"} <= set(rows[0]):
        raise KitError(f"{folder / INDEX} has no file, or not the columns file and tool", hint)
    for row in rows:
        yield {name: str(row.get(name) or "") for name in ("file", "tool")}


def described(folder: Path, row: dict[str, str]) -> dict[str, Any]:
    """Return what its parser understood of a file, or why nothing."""
    line: dict[str, Any] = {"file": row["file"], "parser": row["tool"].lower(), "understood": False}
    parse = PARSERS.get(line["parser"])
    if parse is None:
        return {**line, "error": f"there is no parser of {row['tool']}: {', '.join(sorted(PARSERS))}"}
    path = folder / row["file"]
    if not path.resolve().is_relative_to(folder.resolve()):
        return {**line, "error": "the file lies outside the folder"}
    try:
        with path.open("rb") as stream:
            content = stream.read(LARGEST + 1)
    except (OSError, ValueError) as problem:
        return {**line, "error": f"cannot be read: {getattr(problem, 'strerror', None) or problem}"}
    try:
        reading = parse(content[:LARGEST].decode("utf-8", "replace"))
    except Exception as problem:  # noqa: BLE001 -- a parser that raises is a fault of ours, told beside the other files
        return {**line, "error": f"the parser failed, which is a fault of the kit: {problem!r}"}
    if len(content) > LARGEST:
        reading.warn(f"only the first {LARGEST} bytes were read")
    return {**line, "understood": reading.understood, **told(reading)}


def told(reading: Reading) -> dict[str, Any]:
    """Return what a reading tells, in short: counts, and the values that a capture is asked for."""
    values: dict[str, list[Any]] = {}
    for name in ASKED:
        found = list(dict.fromkeys(device[name] for device in reading.devices if name in device))
        if found:
            values[name] = found if len(found) <= SHOWN else [*found[:SHOWN], f"and {len(found) - SHOWN} more"]
    counts = {"links": len(reading.links), "processes": len(reading.processes)}
    facts = {name: _short(value) for name, value in reading.facts.items()}
    return {
        "form": reading.form,
        "devices": len(reading.devices),
        **values,
        **({"versions": reading.versions} if reading.versions else {}),
        **{name: count for name, count in counts.items() if count},
        **({"facts": facts} if facts else {}),
        "warnings": reading.warnings,
    }


def _short(value: Any) -> Any:
    """Return a fact, or how many there are of it."""
    if isinstance(value, (dict, list)):
        return len(value)
    return value[:200] if isinstance(value, str) else value


def summary(files: list[dict[str, Any]]) -> dict[str, Any]:
    """Return counts, which files were not understood, and how many with devices do not tell what is needed."""
    with_devices = [line for line in files if line.get("devices")]
    return {
        "files": len(files),
        "understood": sum(line["understood"] for line in files),
        "not_understood": [line["file"] for line in files if not line["understood"]],
        "with_warnings": sum(bool(line.get("warnings")) for line in files),
        "by_parser": dict(sorted(Counter(line["parser"] for line in files).items())),
        "with_devices": len(with_devices),
        "devices": sum(line["devices"] for line in with_devices),
        "not_told": {name: sum(name not in line for line in with_devices) for name in NEEDED},
    }
