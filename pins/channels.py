"""What the channels are: what a pin of each needs, and what its PyTorch computes on."""

from __future__ import annotations

from typing import Any

#: What PyTorch of a channel computes on. An adopted image is read, not resolved: it may have any.
BUILDS = {"debian": "cpu", "amd": "rocm", "wheel": "rocm", "cuda": "cuda"}
PACKAGES, IMAGE = ("suite", "packages"), ("base",)
#: Beside what every pin needs: the fields of any one of these.
NEEDS = {
    "debian": (PACKAGES,),
    "amd": (IMAGE,),
    "adopted": (IMAGE,),
    "wheel": (("wheels", *PACKAGES), ("wheels", *IMAGE)),
    "cuda": (("wheels", *PACKAGES), ("wheels", *IMAGE), IMAGE),
}


def lacking(pin: dict[str, Any]) -> str:
    """Return in words what a pin of its channel needs and this one lacks; empty where it has it."""
    ways = NEEDS[pin["channel"]]
    if any(all(pin.get(field) for field in way) for way in ways):
        return ""
    return ", or ".join(" and ".join(f"`{field}`" for field in way) for way in ways)
