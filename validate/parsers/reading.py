"""What a parser understood of a text: one form for all tools."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

MOST_WARNINGS = 50


@dataclass
class Reading:
    """A tool's text, understood as far as it goes. `form` names its shape; empty when nothing was understood.

    Devices, links and processes are dictionaries; the names of their values tell the base units (`_w`, `_j`, `_hz`,
    `_c`, `_s`, `_bytes`, `_v`; `_fraction` is a share of 1). What the text does not tell is absent. `raw` in a device
    keeps what the tool printed, keys that nobody knows among it.
    """

    form: str = ""
    devices: list[dict[str, Any]] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=dict)
    links: list[dict[str, Any]] = field(default_factory=list)
    processes: list[dict[str, Any]] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    @property
    def understood(self) -> bool:
        """Tell whether the text was one that its tool prints."""
        return bool(self.form)

    def warn(self, text: str) -> None:
        """Note what was odd, once; a text that is odd in every line does not fill a report."""
        if text not in self.warnings and len(self.warnings) < MOST_WARNINGS:
            self.warnings.append(text[:300])
