"""Learn what NVIDIA's management library says about each card."""

from __future__ import annotations

from typing import Any

from validate.nvml import Nvml
from validate.probes import answer


def learn() -> dict[str, Any]:
    """Return driver and, by PCI address, card, sensors and processes; `error` says why there is nothing."""
    try:
        nvml = Nvml()
    except OSError as error:
        return {"error": f"NVML: {error}"}
    cards = {
        pci: {"card": nvml.card(pci), "sensors": nvml.sensors(pci), "processes": nvml.processes(pci)}
        for pci in nvml.handles
    }
    return {"driver": nvml.driver(), "cards": cards}


if __name__ == "__main__":
    answer(learn)
