"""Read the kernel's KFD topology (`/sys/class/kfd/kfd/topology/nodes/N/properties`)."""

from __future__ import annotations

from typing import Any

CPU = 0  # gfx_target_version and simd_count of a processor's node


def parse(text: str) -> dict[str, int]:
    """Return the `name number` lines; what is no such line is left out."""
    found = {}
    for line in text.splitlines():
        parts = line.split()
        if len(parts) == 2 and parts[1].lstrip("-").isascii() and parts[1].lstrip("-").isdigit():
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
