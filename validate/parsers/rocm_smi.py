"""Read `rocm-smi ... --json`: one entry a card, in base units, by PCI address where the tool gives it."""

from __future__ import annotations

from typing import Any

from validate.parsers.amd_json import documents, first


def parse(text: str) -> list[dict[str, Any]]:
    """Return the cards; a value that the tool did not give is absent. All its values are texts, `N/A` among them.

    The second die of an MI200 answers `N/A (Secondary die)` for power: absent, because the first carries both.
    """
    cards = []
    for document in documents(text):
        for key, entry in document.items() if isinstance(document, dict) else ():
            if str(key).startswith("card") and isinstance(entry, dict):
                cards.append(_card(entry))
    return cards


def _card(entry: dict[str, Any]) -> dict[str, Any]:
    lower = {str(key).lower(): value for key, value in entry.items()}
    bus = str(lower.get("pci bus", "")).lower()
    clock = first(entry, "sclk clock speed:", "sclk clock speed")
    values: dict[str, Any] = {
        "pci": bus if bus.count(":") == 2 else None,
        "power_w": first(entry, "Current Socket Graphics Package Power (W)", "Average Graphics Package Power (W)"),
        "power_cap_w": first(entry, "Max Graphics Package Power (W)"),
        "temperature_c": first(
            entry, "Temperature (Sensor junction) (C)", "Temperature (Sensor edge) (C)", "Temperature (Sensor edge) (c)"
        ),
        "clock_hz": None if clock is None else clock * 1e6,
        "memory_used_bytes": first(entry, "VRAM Total Used Memory (B)"),
        "memory_bytes": first(entry, "VRAM Total Memory (B)"),
    }
    return {name: value for name, value in values.items() if value is not None}
