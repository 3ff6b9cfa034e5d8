"""Fetch one wheel with pip, which knows this host's indexes, proxies and credentials."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pins import process
from pins.store import file_sha256
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pins.sources import Input
    from pins.store import Store

TIMEOUT_S = 3600
PREFIX = "pip-"  # of folders that are here while pip runs; one that is older than it may run is a dead one's
BAD = "make the lock again: ./kit lock --pin NAME"
# pip reads options in a requirements file, too: what goes there is a name, `==` and a version, and nothing besides.
REQUIREMENT = re.compile(r"[a-z0-9][a-z0-9-]*==[A-Za-z0-9][A-Za-z0-9.+!_-]*")
# Where this machine's packages are and how to get there; other PIP_ variables could ask pip for more than one wheel.
FROM_HOST = re.compile(
    r"PIP_(CONFIG_FILE|(EXTRA_)?INDEX_URL|FIND_LINKS|NO_INDEX|TRUSTED_HOST|(CLIENT_)?CERT|PROXY|KEYRING_PROVIDER)"
)
PYTORCH = "https://download.pytorch.org/whl"
AMD = "https://repo.radeon.com/rocm/manylinux"
LABEL = re.compile(r"\+(?P<build>(?:rocm|cu)(?P<release>[0-9.]+)|cpu)$")


def download(item: Input, store: Store) -> list[str]:
    """Bring one wheel into the store; return why pip could not, or nothing.

    pip gets the exact version, the sha256 and the one index that the lock names, takes no dependency, and builds
    nothing: a source package would run code. What another index of this host's configuration might offer under the
    same name has another hash. KitError when the lock's words are not a name, a version and an index.
    """
    requirement = f"{item.entry['name']}=={item.entry['version']}"
    if not REQUIREMENT.fullmatch(requirement):
        raise KitError(f"{item.name}: {requirement!r} is not a name and a version that pip can be given", BAD)
    part = store.part(item.sha256)
    for dead in part.parent.glob(f"{PREFIX}*"):
        if dead.stat().st_mtime < time.time() - 2 * TIMEOUT_S:
            shutil.rmtree(dead, ignore_errors=True)
    try:
        with tempfile.TemporaryDirectory(dir=part.parent, prefix=PREFIX) as folder:
            wheel, reason = _from_pip(item, requirement, Path(folder))
            if not wheel:
                return [reason]
            wheel.replace(part)
    except OSError as error:
        raise store.broken(error) from error
    store.keep(item.sha256)
    return []


def _from_pip(item: Input, requirement: str, folder: Path) -> tuple[Path | None, str]:
    """Return the wheel that pip brought into `folder`, or why there is none."""
    wanted = folder / "wanted.txt"
    wanted.write_text(f"{requirement} --hash=sha256:{item.sha256}\n")
    argv = [sys.executable, "-m", "pip", "download", "--disable-pip-version-check"]
    argv += ["--quiet", "--no-input", "--no-deps", "--require-hashes", "--only-binary=:all:", f"--dest={folder}"]
    # Which Python a wheel wants was asked when the lock was made; it is neither this one nor the oldest of its name.
    argv += ["--ignore-requires-python", *_index(item), *_tags(item.entry["file"]), f"--requirement={wanted}"]
    # In a folder of our own: `python -m pip` would first look for a pip.py where the user happens to stand.
    done = process.run(argv, timeout_s=TIMEOUT_S, env=_environment(), cwd=folder)
    if done.code:
        words = " ".join(line for line in done.stderr.splitlines() if line.startswith("ERROR"))
        return None, f"pip: {words[:300] or 'gave no reason'}"
    found = list(folder.glob("*.whl"))
    if len(found) != 1 or file_sha256(found[0]) != item.sha256:
        return None, "pip: brought another file"
    return found[0], ""


def _environment() -> dict[str, str]:
    """Return the environment for pip: of its own variables only those of `FROM_HOST`."""
    return {
        name: value for name, value in os.environ.items() if not name.startswith("PIP_") or FROM_HOST.fullmatch(name)
    }


def _index(item: Input) -> list[str]:
    """Return pip's options for the index that the lock names, and no other; none for the everyday index.

    That one stands in this machine's configuration of pip, which is left aside (`--isolated`) for the others.
    """
    if item.entry["index"] == "pypi":
        return []
    address = _address(item.entry)
    if item.entry["index"] == "pytorch":
        return ["--isolated", f"--index-url={address}"]
    return ["--isolated", "--no-index", f"--find-links={address}/"]


def page(entry: Mapping[str, Any]) -> str:
    """Return the address of the page on which PyTorch's index lists the wheels of an entry's project."""
    return f"{_address(entry)}/{entry['name']}/"


def _address(entry: Mapping[str, Any]) -> str:
    """Return the address of PyTorch's index, or AMD's folder, that has a wheel; KitError where no version tells."""
    index, label = entry["index"], LABEL.search(entry["version"])
    if index == "pytorch":  # Triton's versions have no label; the index of all builds has it
        return f"{PYTORCH}/{label['build']}" if label else PYTORCH
    if not label:
        raise KitError(f"{entry['file']}: its version does not tell which index of {index} has it", BAD)
    return f"{AMD}/rocm-rel-{label['release']}"


def _tags(file: str) -> list[str]:
    """Return pip's options for another Python than the one that runs: those of the wheel's own name.

    Of several (`py2.py3`) the newest Python's.
    """
    pythons, abi, platforms = file.removesuffix(".whl").split("-")[-3:]
    tags = [match for tag in pythons.split(".") if (match := re.fullmatch(r"(cp|py)(\d)(\d*)", tag))]
    if not tags or ((abi, platforms) == ("none", "any") and "py3" in pythons.split(".")):
        return []
    tag = max(tags, key=lambda match: (int(match[2]), int(match[3] or 0)))
    options = [f"--python-version={tag[2]}.{tag[3] or 0}", f"--abi={abi}"]
    options += ["--implementation=cp"] if tag[1] == "cp" else []
    return options + [f"--platform={platform}" for platform in platforms.split(".")]
