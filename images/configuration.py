"""An image's configuration, which is what identifies it: rebuilt from a white list, with what a lock sets."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: Keys of an image's configuration that are kept where they say something; others (Hostname, Image) differ per engine.
KEPT_CONFIG = (
    "Cmd", "Entrypoint", "Env", "ExposedPorts", "Labels", "StopSignal", "User", "Volumes", "WorkingDir",
)  # fmt: skip
DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"  # where an image sets none
STEP_LABEL = "rocm-repro-kit.building"  # marks what a build makes on its way
DROPPED_LABELS = frozenset({STEP_LABEL, "io.buildah.version"})


def changed(config: dict[str, Any], variables: Mapping[str, str], venv: str = "") -> dict[str, Any]:
    """Return an image's configuration with variables: in place where they are set already, else behind.

    An environment of Python's, the folder `venv`, comes first in PATH.
    """
    settings = config.get("config") or {}
    there = dict(variable.partition("=")[::2] for variable in settings.get("Env") or [])
    there |= dict(sorted(variables.items()))
    if venv:
        there |= {"PATH": f"{venv}/bin:{there.get('PATH') or DEFAULT_PATH}", "VIRTUAL_ENV": venv}
    return config | {"config": settings | {"Env": [f"{name}={value}" for name, value in there.items()]}}


def configuration(config: dict[str, Any], diff_ids: Sequence[str], epoch: int) -> dict[str, Any]:
    """Return the image's configuration: platform, what a container needs, the layers, and times fixed by the epoch."""
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch))
    settings = config.get("config") or {}
    kept = {key: settings[key] for key in KEPT_CONFIG if settings.get(key)}
    if kept.get("WorkingDir") == "/":  # newer engines write the default down
        del kept["WorkingDir"]
    labels = {key: value for key, value in kept.pop("Labels", {}).items() if key not in DROPPED_LABELS}
    if labels:
        kept["Labels"] = labels
    return {
        "architecture": config.get("architecture", "amd64"),
        "config": kept,
        "created": created,
        "history": [{"created": created, "created_by": "rocm-repro-kit"} for _ in diff_ids],
        "os": config.get("os", "linux"),
        "rootfs": {"type": "layers", "diff_ids": list(diff_ids)},
    }
