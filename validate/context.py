"""What the host handed over beside the cargo: `context.json` and `lock.json`, in a container only."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schema.errors import KitError

if TYPE_CHECKING:
    from validate.machine import Machine

ROOT = Path(__file__).resolve().parent.parent


def load(machine: Machine) -> dict[str, Any]:
    """Return `runtime`, and in a container `backend`, `image_id` and `lock_sha256`; on a host only the runtime.

    Raises KitError when the file is there but is not a JSON object.
    """
    return machine.once("context", lambda: _load(machine))  # type: ignore[no-any-return]


def _load(machine: Machine) -> dict[str, Any]:
    text = machine.read(str(ROOT / "context.json"))
    if text is None:
        return {"runtime": "host"}
    try:
        found = json.loads(text)
    except ValueError as error:
        raise KitError(
            "context.json beside the cargo is not JSON", "let `./kit validate` start the container"
        ) from error
    if not isinstance(found, dict):
        raise KitError("context.json beside the cargo is not an object", "let `./kit validate` start the container")
    return {**found, "runtime": found.get("runtime", "container")}


def read_lock(machine: Machine, path: str = "") -> dict[str, Any] | None:
    """Return the lock from `path` (JSON), else the one beside the cargo, else None. KitError when it cannot be read."""
    found = machine.stat(path) if path else None
    if found and found["kind"] != "file":
        raise KitError(f"the lock {path} is no regular file", "give a lock as JSON: --lock FILE.json")
    text = machine.read(path or str(ROOT / "lock.json"))
    if text is None:
        if path:
            raise KitError(f"cannot read the lock {path}", "give a lock as JSON: --lock FILE.json")
        return None
    try:
        found = json.loads(text)
    except ValueError as error:
        raise KitError(
            f"the lock {path or 'lock.json'} is not JSON", "give a lock as JSON: --lock FILE.json"
        ) from error
    if not isinstance(found, dict) or "lock_version" not in found:
        raise KitError(f"{path or 'lock.json'} is not a lock", "give a lock as JSON: --lock FILE.json")
    return found


def lock_digest(lock: dict[str, Any]) -> str:
    """Return L. For a lock, which holds no fractions and plain keys only, this is RFC 8785's canonical form."""
    text = json.dumps(lock, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()
