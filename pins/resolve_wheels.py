"""Turn what a pin says of wheels into the wheels of a lock: file, index, sha256, size."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from pins import wheels
from pins.channels import BUILDS
from pins.choice import matches
from pins.resolve_index import confirmed
from pins.resolve_pip import solve
from pins.web import Client, LaterError, RefusedError
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pins.resolve_target import Target

NAME = re.compile(r"[a-z0-9-]+")
FIX = "correct `wheels` in the pin"


def resolve(pin: dict[str, Any], present: Mapping[str, str], target: Target) -> list[dict[str, Any]]:
    """Return the wheels of a pin, sorted by name, beside the Python distributions `present` (name to version).

    Names are resolved with what they need by the everyday index; recorded ones are held against the index they name,
    where it answers. None of them replaces what is present. KitError where an index has not what the pin says.
    """
    asked = [item for item in pin["wheels"] if isinstance(item, str)]
    recorded = [item for item in pin["wheels"] if isinstance(item, dict)]
    names = [NAME.match(item)[0] for item in asked] + [item["name"] for item in recorded]  # type: ignore[index] # the schema's
    if doubled := sorted({name for name in names if names.count(name) > 1 or name in present}):
        raise KitError(
            f"{pin['name']} has {', '.join(doubled)} twice: as a wheel, and as another wheel or in a Debian package",
            FIX,
        )
    for item in recorded:
        _check_file(item, target)
    found = [confirmed(item, wheels.page(item)) if item["index"] == "pytorch" else item for item in recorded]
    if asked:
        known = dict(present) | {item["name"]: item["version"] for item in recorded}
        with tempfile.TemporaryDirectory(prefix="kit-pip-") as folder:
            found += _sized(solve(asked, known, target, Path(folder)))
    _check_torch(pin, found)
    return sorted(found, key=lambda item: item["name"])


def public(version: str) -> str:
    """Return a version without its local label: 2.9.0+rocm6.3 is 2.9.0."""
    return version.partition("+")[0]


def _check_file(wheel: dict[str, Any], target: Target) -> None:
    """Refuse a file whose name says another project, version, Python or system than the lock is for."""
    name, version = wheel["file"].split("-")[:2]
    if (name.lower().replace("_", "-").replace(".", "-"), version) != (wheel["name"], wheel["version"]):
        raise KitError(f"{wheel['file']} is not {wheel['name']} {wheel['version']}", FIX)
    if not target.fits(wheel["file"]):
        raise KitError(
            f"{wheel['file']} does not run on CPython {target.release} on Linux x86-64 with glibc 2.{target.glibc}", FIX
        )


def _check_torch(pin: dict[str, Any], found: list[dict[str, Any]]) -> None:
    """Refuse a PyTorch that is not the one that the pin says, or is built for something else than its channel."""
    torch = next((item for item in found if item["name"] == "torch"), None)
    build = BUILDS[pin["channel"]]
    if torch is None:
        if pin["channel"] == "wheel" or (pin["channel"] == "cuda" and not pin.get("base")):
            raise KitError(f"{pin['name']} has no wheel of torch", "add it to `wheels`")
        return
    version, _, label = torch["version"].partition("+")
    made_for = "rocm" if label.startswith("rocm") else "cpu" if label == "cpu" else "cuda"
    if made_for != build or (build == "rocm" and not matches(label.removeprefix("rocm"), pin["rocm"])):
        wanted = f"+rocm{pin['rocm']}" if build == "rocm" else build
        raise KitError(f"torch {torch['version']} is for {label or 'CUDA'}, and {pin['name']} needs {wanted}", FIX)
    if not matches(version, pin["pytorch"]):
        raise KitError(f"{pin['name']} asks for PyTorch {pin['pytorch']}, and its wheel is torch {version}", FIX)


def _sized(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return entries with the size of each file, which pip does not tell; its server is asked."""
    client = Client()
    try:
        return [
            {key: value for key, value in item.items() if key != "url"} | {"size": _size(client, item["url"])}
            for item in found
        ]
    finally:
        client.close()


def _size(client: Client, url: str) -> int | None:
    if url.startswith("file:"):
        return Path(unquote(urlsplit(url).path)).stat().st_size
    try:
        return client.get(url).size
    except (LaterError, RefusedError) as error:
        raise KitError(f"the size of {url.rpartition('/')[2]} cannot be asked: {error}", "try again") from error
    finally:
        client.forget()  # the file itself is not wanted
