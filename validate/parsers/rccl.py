"""Read rccl-tests' results, RCCL's log (`NCCL_DEBUG=INFO`), and its topology file (`NCCL_TOPO_DUMP_FILE`)."""

from __future__ import annotations

import re
from typing import Any

from validate.parsers import xml_tags
from validate.parsers.reading import Reading
from validate.parsers.values import (
    device_id,
    gfx,
    known,
    lines,
    number,
    pci,
    pci_of_number,
    plain,
    quantity,
    whole,
    words,
)

RANK = re.compile(
    r"#\s{1,8}Rank\s{1,8}(\d{1,6})\s.{0,400}?device\s{1,8}(\d{1,4})\s{1,8}\[(?:0x)?([0-9a-fA-F:.]{1,16})\]\s{0,8}(.{0,200})"
)
COLUMNS = re.compile(r"#\s{1,80}size\s{1,80}count\s")
TOTAL = re.compile(r"#\s{0,8}(Avg bus bandwidth|Out of bounds values)\s{0,20}:\s{0,20}([-\d.eE+]{1,30})")
VERSION = re.compile(
    r"(RCCL version|HIP version|ROCm version|rccl-tests: Version|NCCL version)\s{0,8}:?\s{0,8}(\S{1,80})"
)
NAMES = {"RCCL version": "rccl", "NCCL version": "rccl", "HIP version": "hip", "ROCm version": "rocm",
         "rccl-tests: Version": "rccl_tests"}  # fmt: skip
CHANNEL = re.compile(
    r"Channel (\d{1,3})(?:/\d{1,3})? : (\d{1,6})\[([0-9a-f]{1,12})\] -> (\d{1,6})\[([0-9a-f]{1,12})\]"
    r"(?: \[\w{1,8}\])? via (\S{1,60})"
)
COMM = re.compile(
    r"rank (\d{1,6}) nranks (\d{1,6}).{0,40}? (?:cudaDev|nvmlDev|hipDev) (\d{1,4}).{0,40}? busId ([0-9a-f]{1,12})"
)
TREES = re.compile(r"NCCL INFO Trees \[0\] [-\d/]{1,60}->(\d{1,6})->.{0,2000}? nRanks (\d{1,6}) busId ([0-9a-f]{1,12})")
SET = re.compile(r"NCCL INFO ((?:NCCL|RCCL)_\w{1,60}) set by environment to (\S{1,100}?)\.?$")
WARN = re.compile(r"(?:NCCL|RCCL) WARN (.{1,300})")
ROW = re.compile(r"\s{0,40}\d{1,20}\s")
SIDES = ("out_of_place", "in_place")


def read(text: str) -> Reading:
    """Return ranks' devices, `facts["results"]` (bytes, s, bytes/s), links or channels, settings, versions.

    Names of hosts, which stand in every line, are not kept. A result has no `wrong` where it was not checked.
    """
    reading, text = Reading(), plain(text)
    if "<system version=" in text:
        _topology(reading, text)
        return reading
    results: list[dict[str, Any]] = []
    channels: dict[tuple[int, int], dict[str, Any]] = {}
    found = _Log(reading)
    header = False
    for line in lines(text):
        rank = RANK.match(line)
        if COLUMNS.match(line):
            header = True
        elif rank:
            address = pci(rank[3]) if ":" in rank[3] else None  # "[0x05]" is a bus alone
            card = {"index": int(rank[2]), "rank": int(rank[1]), "pci": address, "name": words(rank[4])}
            reading.devices.append({**known(card), "raw": {"bus": rank[3]}})
            reading.form = "rccl-tests"
        elif header and ROW.match(line):
            results += _result(line.split())
        else:
            found.line(line, channels)
    if results or header:
        reading.form = "rccl-tests"
        reading.facts["results"] = results
    reading.links += channels.values()
    return reading


def _result(cells: list[str]) -> list[dict[str, Any]]:
    """Read a row: size, count, type, reduction, root, then time, two rates and errors, out of place and in place."""
    size, count = whole(cells[0]), whole(cells[1] if len(cells) > 1 else None)
    start = next((at for at in range(2, min(len(cells), 6)) if "." in cells[at]), None)
    if size is None or count is None or start is None:
        return []
    found: dict[str, Any] = {"size_bytes": size, "count": count}
    found.update(zip(("type", "reduction", "root"), cells[2:start]))
    for at, side in zip(range(start, len(cells), 4), SIDES):
        values = (*cells[at : at + 4], "", "", "")
        found[side] = known({
            "time_s": quantity(values[0], "us"), "algorithm_bytes_per_s": quantity(values[1], "GB/s"),
            "bus_bytes_per_s": quantity(values[2], "GB/s"), "wrong": number(values[3]),
        })  # fmt: skip
    return [found]


class _Log:
    """What stands between the results, or alone: RCCL's own lines."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.seen: set[int] = set()

    def line(self, line: str, channels: dict[tuple[int, int], dict[str, Any]]) -> None:
        version, total, warning = VERSION.search(line), TOTAL.match(line), WARN.search(line)
        if version and "NCCL INFO" not in line[:40]:
            self.reading.versions.setdefault(NAMES[version[1]], version[2])
            self.reading.form = self.reading.form or "log"
        if total:
            self._total(total[1], total[2])
        if warning:
            self.reading.warn(f"RCCL: {warning[1]}")
        if "NCCL" in line:
            self.reading.form = self.reading.form or "log"
            self._information(line, channels)

    def _total(self, name: str, text: str) -> None:
        value = number(text)
        if value is not None and name.startswith("Avg"):
            self.reading.facts["bus_bytes_per_s"] = value * 1e9
        elif value is not None:
            self.reading.facts["wrong"] = value

    def _information(self, line: str, channels: dict[tuple[int, int], dict[str, Any]]) -> None:
        channel, setting = CHANNEL.search(line), SET.search(line)
        if channel:
            ends = (int(channel[2]), int(channel[4]))
            link = channels.setdefault(ends, {"from": ends[0], "to": ends[1], "type": channel[6], "channels": 0})
            link["channels"] += 1
            for rank, address in ((ends[0], channel[3]), (ends[1], channel[5])):
                self._rank(rank, address)
        if setting:
            self.reading.facts.setdefault("settings", {})[setting[1]] = setting[2]
        comm, trees = COMM.search(line), TREES.search(line)
        if comm:
            self.reading.facts["ranks"] = int(comm[2])
            self._rank(int(comm[1]), comm[4])
        if trees:
            self.reading.facts["ranks"] = int(trees[2])
            self._rank(int(trees[1]), trees[3])

    def _rank(self, rank: int, address: str) -> None:
        """Note a rank's device. Newer releases print its number in place of the address, which is then too short."""
        told = pci_of_number(int(address, 16)) if len(address) > 3 else None
        if rank not in self.seen:
            self.seen.add(rank)
            self.reading.devices.append({**known({"rank": rank, "pci": told}), "raw": {"bus": address}})


def _topology(reading: Reading, text: str) -> None:
    """Read the topology file: GPUs within PCI devices within processors; only one half of the links is kept."""
    reading.form = "topology"
    addresses: dict[str, int] = {}
    gpus: list[tuple[str | None, xml_tags.Tag]] = []
    for processor in xml_tags.read(text).all("cpu"):
        numa = whole(processor.attributes.get("numaid"))
        for holder in processor.all("pci"):
            for tag in (child for child in holder.children if child.name == "gpu"):
                address = pci(holder.attributes.get("busid"))
                index = whole(tag.attributes.get("dev"))
                gpus.append((address, tag))
                if address and index is not None:
                    addresses[address] = index
                reading.devices.append({**_gpu(tag, holder, address, index, numa), "raw": tag.attributes})
    for address, tag in gpus:
        for link in tag.all("xgmi"):
            there = pci(link.attributes.get("target"))
            if address and there and address < there:
                reading.links.append(known({
                    "from": address, "to": there, "type": "XGMI", "count": whole(link.attributes.get("count")),
                }))  # fmt: skip


def _gpu(
    tag: xml_tags.Tag, holder: xml_tags.Tag, address: str | None, index: int | None, numa: int | None
) -> dict[str, Any]:
    code = tag.attributes.get("gcn", "")
    return known({
        "index": index, "pci": address, "rank": whole(tag.attributes.get("rank")), "numa_node": numa,
        "gfx": gfx({"910": "gfx90a"}.get(code) or (code if code.startswith("gfx") else f"gfx{code}")),
        "compute_units": whole(tag.attributes.get("sm")), "device_id": device_id(holder.attributes.get("device")),
        "link_width": whole(holder.attributes.get("link_width")),
        "link_transfers_per_s": quantity(" ".join(holder.attributes.get("link_speed", "").split()[:2])),
    })  # fmt: skip
