"""How devices reach a container, with the least privilege that works: a table of backends."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Access:
    """What a container may use. Filled in by `access()`."""

    backend: str
    host_config: Mapping[str, Any] = field(default_factory=dict)
    user: str = "65532:65532"
    environment: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
