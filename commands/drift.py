"""What has become of a lock since it was made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pins.lock import Lock


def drift(lock: Lock) -> dict[str, Any]:
    """Ask for every input of a lock; return what `lock --check --json` promises to scripts."""
    from pins.drift import check
    from pins.lock import load_all
    from pins.store import Store

    return {"lock": lock.name, "lock_sha256": lock.sha256, "findings": check(lock, load_all(), Store())}
