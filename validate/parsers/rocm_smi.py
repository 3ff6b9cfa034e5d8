"""Read rocm-smi of 2.x to 7.x: `--json`, `--csv`, and its texts.

The names of its keys change with every release, also in case; all its values are texts, `N/A` among them.
"""

from __future__ import annotations

import re
from typing import Any

from validate.parsers import amd_json, rocm_smi_text
from validate.parsers.reading import Reading
from validate.parsers.tables import csv_rows, records
from validate.parsers.values import absent, device_id, gfx, known, lines, pci, plain, quantity, whole, words

CARD = re.compile(r"card(\d{1,4})")
BETWEEN = re.compile(r"\(topology\) (weight|hops|link type) between drm devices (\d{1,4}) and (\d{1,4})")
PROCESS = re.compile(r"pid(\d{1,10})")
OLD = (
    "pci", "power_w", "power_cap_w", "temperature_c", "clock_hz", "memory_used_bytes", "memory_bytes",
)  # fmt: skip
POWER = ("current socket graphics package power (w)", "average graphics package power (w)")
#: What holds each value: the keys of all releases, the first that holds something counts, and the unit they mean.
QUANTITIES: dict[str, tuple[tuple[str, ...], str]] = {
    "power_w": (POWER, "W"),
    "power_cap_w": (("max graphics package power (w)",), "W"),
    "temperature_c": (("temperature (sensor junction) (c)", "temperature (sensor edge) (c)"), "C"),
    "temperature_edge_c": (("temperature (sensor edge) (c)",), "C"),
    "temperature_memory_c": (("temperature (sensor memory) (c)",), "C"),
    "clock_hz": (("sclk clock speed",), "MHz"),
    "memory_clock_hz": (("mclk clock speed",), "MHz"),
    "memory_bytes": (("vram total memory (b)",), "B"),
    "memory_used_bytes": (("vram total used memory (b)",), "B"),
    "energy_j": (("accumulated energy (uj)",), "uJ"),
    "busy_fraction": (("gpu use (%)",), "%"),
    "voltage_v": (("voltage (mv)",), "mV"),
    "fan_rpm": (("current_fan_speed (rpm)", "fan rpm"), ""),
}
NAMES = ("card series", "device name", "card model")
TEXTS = {
    "vbios": "vbios version",
    "unique_id": "unique id",
    "performance_level": "performance level",
    "compute_partition": "compute partition",
    "memory_partition": "memory partition",
}


def parse(text: str) -> list[dict[str, Any]]:
    """Return the cards of `--json`; a value that the tool did not give is absent. Base units: W, C, Hz, bytes.

    The second die of an MI200 answers `N/A (Secondary die)` for power: absent, because the first carries both.
    """
    return [
        {name: card[name] for name in OLD if name in card}
        for document in amd_json.documents(text)
        for _, entry in _cards(document)
        for card in [device(entry)]
    ]


def read(text: str) -> Reading:
    """Return the cards in base units, links, processes, versions. `index` is the tool's own number, no HIP index.

    Links: `from` and `to` are such numbers. Memory of a partition is the whole board's: never sum, group by `pci`.
    """
    reading = Reading()
    text = plain(text)
    documents, warnings = amd_json.found(text)
    cards = [(document, list(_cards(document))) for document in documents]
    if any(found or "system" in document for document, found in cards if isinstance(document, dict)):
        _json(reading, cards, warnings)
    elif text.lstrip()[:7].lower() == "device,":
        _csv(reading, text)
    else:
        rocm_smi_text.read(reading, lines(text), device)
    for line in text[:200_000].split("\n"):
        if rocm_smi_text.NOISE.match(line):
            reading.warn(line.strip())
            reading.form = reading.form or "messages"
    return reading


def _cards(document: Any) -> list[tuple[int, dict[str, Any]]]:
    """Return the cards of a document with their numbers, in that order: rocm-smi sorts them in none."""
    if not isinstance(document, dict):
        return []
    found = [(CARD.fullmatch(key), entry) for key, entry in document.items() if isinstance(entry, dict)]
    return sorted(((int(match[1]), entry) for match, entry in found if match), key=lambda pair: pair[0])


def _json(reading: Reading, cards: list[tuple[Any, list[tuple[int, dict[str, Any]]]]], warnings: list[str]) -> None:
    reading.form = "json"
    reading.warnings += warnings
    for document, found in cards:
        reading.devices += [{"index": index, **device(entry), "raw": entry} for index, entry in found]
        if isinstance(document, dict) and isinstance(document.get("system"), dict):
            _system(reading, document["system"])


def _system(reading: Reading, entry: dict[str, Any]) -> None:
    """Read what stands beside the cards: the driver's version, a link's facts in three keys, processes."""
    links: dict[tuple[int, int], dict[str, Any]] = {}
    for key, value in entry.items():
        name = key[:200].lower().rstrip(":")
        between, process = BETWEEN.fullmatch(name), PROCESS.fullmatch(name)
        if between:
            ends = (int(between[2]), int(between[3]))
            link = links.setdefault(ends, {"from": ends[0], "to": ends[1]})
            if between[1] == "link type":
                link["type"] = words(value)
            else:
                link[between[1]] = whole(value)
        elif process:
            reading.processes.append(_process(int(process[1]), value))
        elif name == "driver version" and words(value):
            reading.versions["driver"] = str(words(value))
        else:
            reading.facts.setdefault("system", {})[key] = value
    reading.links += [known(link) for link in links.values()]


def _process(number: int, value: Any) -> dict[str, Any]:
    """Read `name, GPUs, VRAM, SDMA, CUs`; the second is how many GPUs there are, not which."""
    parts = [part.strip() for part in str(value)[:4096].rsplit(",", 4)]
    if len(parts) < 5:
        return {"pid": number, "raw": value}
    return rocm_smi_text.process(number, parts[0], parts[1:])


def _csv(reading: Reading, text: str) -> None:
    rows, warnings = csv_rows(text)
    reading.form, reading.warnings = "csv", [*reading.warnings, *warnings]
    for row in records(rows[0], rows[1:]):
        match = CARD.fullmatch(row.pop(rows[0][0], ""))
        if match:
            reading.devices.append({"index": int(match[1]), **device(row), "raw": row})


def device(entry: dict[str, Any]) -> dict[str, Any]:
    """Return one card's values in base units; keys are compared without case and without the colon that some end in."""
    lower = {str(key)[:200].lower().rstrip(":").strip(): value for key, value in entry.items()}
    values: dict[str, Any] = {
        name: next((value for value in (quantity(lower.get(key), unit) for key in keys) if value is not None), None)
        for name, (keys, unit) in QUANTITIES.items()
    }
    values.update({name: words(lower.get(key)) for name, key in TEXTS.items()})
    numa = whole(lower.get("(topology) numa node"))
    notes = [str(lower[key]) for key in POWER if key in lower and absent(lower[key])]
    return known({
        "pci": pci(lower.get("pci bus")),
        "gfx": gfx(lower.get("gfx version")),
        "name": next(filter(None, (_name(lower.get(key)) for key in NAMES)), None),
        "device_id": device_id(lower.get("device id", lower.get("gpu id"))),
        "node": whole(lower.get("node id")),
        "numa_node": numa if numa is not None and 0 <= numa < 1 << 31 else None,  # -1, also as 4294967295: not known
        "power_unknown": notes[0] if notes and values["power_w"] is None else None,
        **values,
    })  # fmt: skip


def _name(value: Any) -> str | None:
    """Return a name that is one; where the tool has no list of names it prints an identifier."""
    text = words(value)
    return text if text and whole(text) is None else None
