"""Read rocm-smi's texts: `GPU[n] : key: value` lines, and the tables whose columns change with the release."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Callable

from validate.parsers.tables import columns
from validate.parsers.values import device_id, gfx, known, pci, quantity, whole, words

if TYPE_CHECKING:
    from validate.parsers.reading import Reading

Device = Callable[[dict[str, Any]], dict[str, Any]]
NOISE = re.compile(
    r"\s{0,8}(WARNING|ERROR|Expected integer value|get_\w{1,80}, Not supported|Unable to|Exception|Traceback)"
)
VALUE = re.compile(r"GPU\[(\d{1,4})\]\s{0,40}:\s{0,40}(.*)")
VERSION = re.compile(r"(ROCM-SMI|ROCM-SMI-LIB|Driver) version:\s{0,20}(\S{1,100})")
LABEL = re.compile(r"GPU(\d{1,4})")
ROW = re.compile(r"\d{1,4}\s")
TIGHT = re.compile(r"(\[\w{1,12}) : (\w{1,12}\])")
COMMA = re.compile(r",\s+")
TITLES = {"weight between two gpus": "weight", "hops between two gpus": "hops", "link type between two gpus": "type"}
#: The table of 6.2 and later, for rows whose header was cut off.
LATEST = (
    "device", "node", "ids", "temp", "power", "partitions", "sclk", "mclk", "fan", "perf", "pwrcap", "vram%", "gpu%",
)  # fmt: skip


def read(reading: Reading, lines: list[str], device: Device) -> None:
    """Add what the lines tell to a reading. Sections about the same card are put together by its number."""
    _Text(reading).read(lines)
    for found in reading.devices:
        raw = found["raw"]
        for name, value in device(raw).items():
            found.setdefault(name, value)
        if "power_w" in found:
            found.pop("power_unknown", None)


def process(number: int, name: str | None, values: list[str]) -> dict[str, Any]:
    """Return a process: memory in bytes; `gpus` is how many it uses, not which."""
    gpus, memory, sdma, units = (whole(value) for value in (*values, "", "", "", "")[:4])
    used = None if memory is None else float(memory)
    shares = {"gpus": gpus, "memory_used_bytes": used, "sdma": sdma, "compute_units": units}
    return known({"pid": number, "name": words(name), **shares})


class _Text:
    """What is being read: the table that the present line belongs to, if any."""

    def __init__(self, reading: Reading) -> None:
        self.reading, self.cards = reading, {int(card["index"]): card for card in reading.devices}
        self.links: dict[tuple[int, int], dict[str, Any]] = {}
        self.header: list[str] = []
        self.what = ""
        self.last: dict[str, Any] | None = None

    def read(self, lines: list[str]) -> None:
        for line in lines:
            text = line.strip()
            if not text.strip("=- "):
                continue
            self._line(line, text)
        self.reading.links += [known(link) for link in self.links.values()]

    def _line(self, line: str, text: str) -> None:
        value, version = VALUE.match(text), VERSION.match(text)
        parts = columns(text)
        if value:
            self._value(int(value[1]), value[2].strip())
        elif version:
            self.reading.form = self.reading.form or "versions"
            self.reading.versions[version[1].lower().replace("-", "_")] = version[2]
        elif text.startswith("==") and text.endswith("="):
            self.what, self.header, self.last = text.strip("= ").lower(), [], None
            self.reading.form = self.reading.form or "text"
        elif parts[0] in {"GPU", "Device"} and len(parts) > 3:
            self.header = [part.lower() for part in parts]
            self.reading.form = "table"
        elif parts[0] == "PID" and "PROCESS NAME" in text:
            self.what, self.header = "processes", parts
            self.reading.form = self.reading.form or "text"
        elif self.what in TITLES and all(LABEL.fullmatch(part) for part in parts):
            self.header = parts
            for part in parts:
                self._of(int(part[3:]))
        else:
            self._row(line, text)

    def _row(self, line: str, text: str) -> None:
        if self.what == "processes":
            self._process(text.split())
        elif self.what in TITLES and self.header:
            self._matrix(text.split())
        elif ROW.match(text) and (self.header or re.match(r"\d{1,4}\s+\d{1,4}\s+0x\w{1,8},\s", text)):
            self._card(self.header or list(LATEST), TIGHT.sub(r"\1:\2", COMMA.sub(",", text)).split())
        elif self.last is not None and line.startswith("     ") and text[0] not in "([":
            self.last.setdefault("name", text)  # 6.0 and 6.1: the second line of a card
            self.last = None

    def _of(self, index: int) -> dict[str, Any]:
        if index not in self.cards:
            self.cards[index] = {"index": index, "raw": {}}
            self.reading.devices.append(self.cards[index])
        return self.cards[index]

    def _value(self, index: int, text: str) -> None:
        """Read one value of a card. A clock's level and speed stand together: `sclk clock level: 1: (141Mhz)`."""
        raw = self._of(index)["raw"]
        self.reading.form = self.reading.form if self.reading.form == "table" else "text"
        key, colon, value = text.partition(":")
        if colon and key.endswith("clock level") and "(" in value:
            raw.setdefault(key.replace("level", "speed"), value[value.index("(") :])
        if colon and key.strip():
            raw.setdefault(key.strip(), value.strip())

    def _process(self, tokens: list[str]) -> None:
        if len(tokens) > 5 and tokens[0].isascii() and tokens[0].isdigit() and len(tokens[0]) < 11:
            self.reading.processes.append(process(int(tokens[0]), " ".join(tokens[1:-4]), tokens[-4:]))

    def _matrix(self, tokens: list[str]) -> None:
        """Read a row of a table between GPUs; only one half is kept, the other is its mirror."""
        row = LABEL.fullmatch(tokens[0])
        for name, cell in zip(self.header, tokens[1:]) if row else ():
            column = LABEL.fullmatch(name)
            if row and column and int(row[1]) < int(column[1]):
                ends = (int(row[1]), int(column[1]))
                link = self.links.setdefault(ends, {"from": ends[0], "to": ends[1]})
                kind = TITLES[self.what]
                number = whole(cell)
                if number is not None:
                    link[kind] = number
                elif words(cell.strip("X")):  # XXXX: there is none, or none is known
                    link["type"] = cell

    def _card(self, header: list[str], tokens: list[str]) -> None:
        """Read a row of a table; its columns are told by their names, whichever there are."""
        card, raw = self._of(int(tokens[0])), dict(zip(header, tokens))
        self.reading.form = "table"
        self.last = card
        ids = raw.get("ids", raw.get("[model : revision]", "")).strip("[]").replace(":", ",").split(",")
        partitions = raw.get("partitions", "").split(",")
        heat = next((raw[name] for name in header if name.startswith("temp") and name in raw), None)
        memory, compute = (words(part) for part in (*partitions, "", "")[:2])
        values = {
            "node": whole(raw.get("node")),
            "device_id": device_id(ids[0] or raw.get("did")),
            "pci": pci(raw.get("bus")),
            "gfx": gfx(raw.get("gfx ver")),
            "vbios": words(raw.get("vbios")),
            "power_w": quantity(raw.get("power", raw.get("avgpwr")), "W"),
            "power_cap_w": quantity(raw.get("pwrcap"), "W"),
            "temperature_c": quantity(heat, "C"),
            "clock_hz": quantity(raw.get("sclk"), "MHz"),
            "memory_clock_hz": quantity(raw.get("mclk"), "MHz"),
            "memory_used_fraction": quantity(raw.get("vram%"), "%"),
            "busy_fraction": quantity(raw.get("gpu%"), "%"),
            "performance_level": words(raw.get("perf")),
            "memory_partition": memory,
            "compute_partition": compute,
            "partition": whole(partitions[2]) if len(partitions) > 2 else whole(raw.get("partition id")),
        }
        card.update(known(values))
        card["raw"].update(raw)
