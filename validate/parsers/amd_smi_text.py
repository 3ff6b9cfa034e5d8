"""Read amd-smi's texts: indented blocks, the tables of 7.0 and later, tables between GPUs, and lines of versions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from validate.parsers.indented import tree
from validate.parsers.tables import columns
from validate.parsers.values import known, lines, pci, quantity, whole, words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from validate.parsers.reading import Reading

NOISE = re.compile(r"\s{0,8}('CTRL' \+ 'C'|WARNING|ERROR|AMDSMI_STATUS|Unable to|.{0,80}[Mm]issing .{0,40}group|"
                   r".{0,40}User is missing|Traceback)")  # fmt: skip
PROMPT = re.compile(r"\s{0,8}(\S{0,80}[$#>~]\s|\.\.\.|-{3,}|\[output)")
BLOCK = re.compile(r"\s{0,20}(GPU|CPU): \d{1,4}")
NAMES = {
    "AMDSMI Tool": "amd_smi", "AMD-SMI": "amd_smi", "AMDSMI Library version": "amd_smi_library",
    "ROCm version": "rocm", "amdgpu version": "driver", "amd_hsmp version": "hsmp",
}  # fmt: skip
VERSION = re.compile(rf"({'|'.join(NAMES)}):?\s+(\S{{1,80}})")
TABLES = {"HOPS TABLE": "hops", "WEIGHT TABLE": "weight", "LINK TYPE TABLE": "type"}
PROFILE = re.compile(r"\b(SPX|DPX|TPX|QPX|CPX)(\*?)")


def read(reading: Reading, text: str) -> Iterator[dict[str, Any]]:
    """Add versions, links and facts to a reading; yield an entry for each block of a GPU, as `--json` has them."""
    rows = lines(text)
    versions(reading, rows)
    if _summary(reading, rows):
        return
    _between(reading, rows)
    blocks = [row for row in rows if not PROMPT.match(row) and not NOISE.match(row)]
    processors = 0
    for node in tree(blocks):
        if node.key == "GPU" and whole(node.value) is not None:
            reading.form = "text"
            yield {"gpu": whole(node.value), **_lower(node.entries())}
        elif node.key == "CPU" and node.children:
            reading.form = reading.form or "text"
            processors += 1
    if processors:
        reading.facts["processors"] = processors
    if not reading.form:
        _profiles(reading, rows)


def versions(reading: Reading, rows: list[str]) -> None:
    """Add the versions that a line tells, in the table's head or of `amd-smi version`."""
    for row in rows:
        if "version" in row or "AMD-SMI" in row:
            for name, value in VERSION.findall(row):
                if words(value):
                    reading.versions.setdefault(NAMES[name], value)
    if reading.versions:
        reading.form = "versions"


def _lower(value: Any) -> Any:
    """Return a block with keys as `--json` has them; what is printed in brackets is a list."""
    if isinstance(value, dict):
        return {key.lower().replace(" ", "_"): _lower(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_lower(item) for item in value]
    if isinstance(value, str) and value.startswith("[") and value.endswith("]"):
        return [part.strip() for part in value[1:-1].split(",")]
    return value


def _summary(reading: Reading, rows: list[str]) -> bool:
    """Read the tables that amd-smi prints without arguments since 7.0: two lines a GPU, then its processes."""
    for row in rows:
        cells = row.strip().strip("|").split("|") if row.lstrip().startswith("|") else []
        left = columns(cells[0]) if cells else []
        if len(cells) == 2 and left and pci(left[0]):
            reading.devices.append(known({"pci": pci(left[0]), "name": words(left[-1]), **_first(cells[1]), "raw": {}}))
        elif len(cells) == 2 and len(left) == 4 and left[0].isdigit() and reading.devices:
            numbers = {"index": whole(left[0]), "hip_index": whole(left[1])}
            reading.devices[-1].update(known({**numbers, **_second(left[3], cells[1])}))
        elif len(cells) == 1 and len(left) > 4 and whole(left[0]) is not None and whole(left[1]) is not None:
            memory = quantity(left[4])
            reading.processes.append(known({
                "gpu": whole(left[0]), "pid": whole(left[1]), "name": words(left[2]), "memory_used_bytes": memory,
            }))  # fmt: skip
        if left and reading.devices:
            reading.devices[-1]["raw"].setdefault("rows", []).append(row.strip())
    reading.form = "table" if reading.devices else reading.form
    return bool(reading.devices)


def _first(text: str) -> dict[str, Any]:
    """Read `13 %     60 °C   0           734/750 W`: memory's use, temperature, errors, power and its cap."""
    parts = columns(text) or [""]
    power, _, cap = parts[-1].rstrip("W ").partition("/")
    return {
        "memory_busy_fraction": quantity(parts[0]),
        "temperature_c": next((quantity(part) for part in parts if part.endswith("C")), None),
        "power_w": quantity(power, "W"),
        "power_cap_w": quantity(cap, "W"),
    }


def _second(partitions: str, text: str) -> dict[str, Any]:
    """Read `SPX/NPS1 | 98 %       N/A          4976/196592 MB`: partitions, use, fan, memory."""
    compute, _, memory = partitions.partition("/")
    parts = columns(text) or [""]
    used, _, size = parts[-1].rstrip("MB ").partition("/")
    return {
        "compute_partition": words(compute),
        "memory_partition": words(memory),
        "busy_fraction": quantity(parts[0]),
        "memory_used_bytes": quantity(used, "MB"),
        "memory_bytes": quantity(size, "MB"),
    }


def _between(reading: Reading, rows: list[str]) -> None:
    """Read the tables between GPUs, whose rows and columns are PCI addresses; only one half is kept."""
    links: dict[tuple[str, str], dict[str, Any]] = {}
    names: list[str | None] = []
    what, seen = None, set()
    for row in rows:
        text = row.strip()
        cells = text.split()
        if text.endswith("TABLE:"):
            what, names = TABLES.get(text[:-1].strip()), []
        elif cells and pci(cells[0]) and len(cells) > 1 and pci(cells[1]) and not names:
            names = [pci(cell) for cell in cells]
            seen.update(names)
        elif what and names and cells and pci(cells[0]):
            here = str(pci(cells[0]))
            for there, cell in zip(names, cells[1:]):
                if there and here < there:
                    link = links.setdefault((here, there), {"from": here, "to": there})
                    link[what] = words(cell) if what == "type" else whole(cell)
    if seen:
        reading.form = "topology"
        reading.devices = [{"pci": address, "raw": {}} for address in sorted(filter(None, seen))]
        reading.links += [known(link) for link in links.values()]


def _profiles(reading: Reading, rows: list[str]) -> None:
    """Read the table of partition profiles; the present one has a star."""
    found = [match for row in rows for match in PROFILE.findall(row)]
    if found:
        reading.form = "partitions"
        reading.facts["profiles"] = list(dict.fromkeys(name for name, _ in found))
        present = [name for name, star in found if star]
        if present:
            reading.facts["compute_partition"] = present[0]
