"""Read the kernel's KFD topology: one node's properties, or a dump of `/sys/class/kfd/kfd/topology`."""

from __future__ import annotations

import re
from typing import Any

from validate.parsers import dump
from validate.parsers.reading import Reading
from validate.parsers.values import MEGA, known, lines, whole

CPU = 0  # gfx_target_version and simd_count of a processor's node
PROPERTY = re.compile(r"-?\d{1,20}")
NODE = re.compile(r"nodes/(\d{1,6})/properties")
INSIDE = re.compile(r"nodes/(\d{1,6})/(mem_banks|io_links|p2p_links)/\d{1,6}/(properties|used_memory)")
FIRMWARE = re.compile(r"(\w[\w ]{0,30}) feature version: (\S{1,20}), firmware version: (\S{1,20})")
LINKS = {2: "PCIE", 11: "XGMI"}
OWN_MEMORY = (1, 2)  # heap types of frame buffer memory, public and private


def parse(text: str) -> dict[str, int]:
    """Return the `name number` lines; what is no such line is left out."""
    found = {}
    for line in lines(text):
        parts = line.split()
        if len(parts) == 2 and PROPERTY.fullmatch(parts[1]) and parts[1].isascii():
            found[parts[0]] = int(parts[1])
    return found


def gpu(properties: dict[str, int]) -> bool:
    """Tell whether a node is a GPU: processors have no SIMDs."""
    return properties.get("simd_count", CPU) > 0


def gfx(target_version: int) -> str | None:
    """Return the target's name: major * 10000 + minor * 100 + stepping, minor and stepping as hex digits.

    90402 is gfx942, 90010 is gfx90a, 110001 is gfx1101; 0 is a processor.
    """
    if target_version <= CPU:
        return None
    major, rest = divmod(target_version, 10000)
    minor, stepping = divmod(rest, 100)
    return f"gfx{major}{minor:x}{stepping:x}"


def pci(properties: dict[str, int]) -> str | None:
    """Return domain:bus:device.0 of a node; a partition's number, kept in the function bits, is no PCI function."""
    location = properties.get("location_id")
    if location is None or not gpu(properties):
        return None
    return f"{properties.get('domain', 0):04x}:{(location >> 8) & 0xFF:02x}:{(location >> 3) & 0x1F:02x}.0"


def describe(number: int, properties: dict[str, int]) -> dict[str, Any]:
    """Return what checks ask of a GPU's node."""
    minor = properties.get("drm_render_minor", -1)
    return {
        "node": number,
        "gfx": gfx(properties.get("gfx_target_version", CPU)),
        "pci": pci(properties),
        "render": f"/dev/dri/renderD{minor}" if minor > 0 else None,
        "simds": properties.get("simd_count"),
    }


def read(text: str) -> Reading:
    """Return the GPUs of a dump (memory in bytes, clocks in Hz) and the links of nodes (bandwidths in bytes/s).

    Links: `from` and `to` are KFD's node numbers. `unique_id` and `hive_id` are identities: publish their hashes.
    A partition's number is in the address's function bits: several devices may have one `pci`.
    """
    reading = Reading()
    files = dump.files(text)
    files = dump.paths_from(files, "nodes/") or files
    properties = {int(match[1]): parse(files[path]) for path in files for match in [NODE.fullmatch(path)] if match}
    if not files:
        _alone(reading, text)
        return reading
    memory: dict[int, dict[str, int]] = {}
    for path, content in files.items():
        inside = INSIDE.fullmatch(path)
        if inside and inside[2] == "mem_banks":
            _bank(memory.setdefault(int(inside[1]), {}), inside[3], content)
        elif inside and inside[3] == "properties":
            reading.links += _link(parse(content), direct=inside[2] == "io_links")
    for number in sorted(properties):
        if gpu(properties[number]):
            reading.devices.append(_device(number, properties[number], memory.get(number, {})))
    if properties or reading.links or memory:
        reading.form = "topology"
        reading.facts["processors"] = sum(not gpu(node) for node in properties.values())
    if reading.links and not properties:
        reading.warn("there are links, and no node's properties: the dump is not whole")
    return reading


def _alone(reading: Reading, text: str) -> None:
    """Read a text that is no dump: one node's properties, or the list of firmware in debugfs."""
    properties = parse(text)
    firmware = {match[1]: match[3] for line in lines(text) for match in [FIRMWARE.match(line)] if match}
    if "simd_count" in properties:
        reading.form = "properties"
        reading.devices += [_device(0, properties, {})] if gpu(properties) else []
        for device in reading.devices:
            del device["node"]  # its number is in the path, and there is none
    elif firmware:
        reading.form, reading.versions = "firmware", firmware


def _bank(memory: dict[str, int], name: str, content: str) -> None:
    if name == "used_memory":
        memory["used"] = memory.get("used", 0) + (whole(content.strip()) or 0)
    else:
        bank = parse(content)
        if bank.get("heap_type") in OWN_MEMORY:
            memory["size"] = memory.get("size", 0) + bank.get("size_in_bytes", 0)


def _device(number: int, properties: dict[str, int], memory: dict[str, int]) -> dict[str, Any]:
    simds, per_unit = properties.get("simd_count", 0), properties.get("simd_per_cu", 0)
    size = memory.get("size") or properties.get("local_mem_size") or None
    names = ("max_engine_clk_fcompute", "device_id", "location_id")
    clock, device, location = (properties.get(name, 0) for name in names)
    return known({
        **describe(number, properties),
        "device_id": f"0x{device:04x}" if device else None,
        "compute_units": simds // per_unit if per_unit > 0 else None,
        "memory_bytes": None if size is None else float(size),
        "memory_used_bytes": float(memory["used"]) if "used" in memory else None,
        "clock_max_hz": float(clock * MEGA) if clock > 0 else None,
        "partition": location & 7 if properties.get("num_xcc") else None,
        "unique_id": str(properties["unique_id"]) if properties.get("unique_id") else None,
        "raw": dict(properties),
    })  # fmt: skip


def _link(link: dict[str, int], *, direct: bool) -> list[dict[str, Any]]:
    if "node_from" not in link or "node_to" not in link:
        return []
    kind, rate = link.get("type", -1), link.get("max_bandwidth", 0)
    return [
        known({
            "from": link["node_from"], "to": link["node_to"], "weight": link.get("weight"),
            "type": LINKS.get(kind, f"type {kind}"), "direct": direct,
            "bandwidth_max_bytes_per_s": float(rate) * MEGA if rate > 0 else None,
        })
    ]  # fmt: skip
