"""Fetch one wheel with pip, which knows this host's indexes, proxies and credentials."""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from pins import process
from pins.store import file_sha256
from schema.errors import KitError

if TYPE_CHECKING:
    from pins.sources import Input
    from pins.store import Store

TIMEOUT_S = 3600
LABEL = re.compile(r"\+(?P<build>(?:rocm|cu)(?P<release>[0-9.]+)|cpu)$")


def download(item: Input, store: Store) -> list[str]:
    """Bring one wheel into the store; return why pip could not, or nothing.

    pip gets the exact version, the sha256 and the one index that the lock names, and takes no dependency: what another
    index of this host's configuration might offer under the same name has another hash.
    """
    part = store.part(item.sha256)
    with tempfile.TemporaryDirectory(dir=part.parent, prefix="pip-") as folder:
        wanted = Path(folder, "wanted.txt")
        wanted.write_text(f"{item.entry['name']}=={item.entry['version']} --hash=sha256:{item.sha256}\n")
        argv = [sys.executable, "-m", "pip", "download"]
        argv += ["--quiet", "--no-input", "--no-deps", "--require-hashes", "--only-binary=:all:", f"--dest={folder}"]
        argv += [*_index(item), *_tags(item.entry["file"]), f"--requirement={wanted}"]
        done = process.run(argv, timeout_s=TIMEOUT_S)
        if done.code:
            words = " ".join(line for line in done.stderr.splitlines() if line.startswith("ERROR"))
            return [f"pip: {words[:300] or 'gave no reason'}"]
        found = list(Path(folder).glob("*.whl"))
        if len(found) != 1 or file_sha256(found[0]) != item.sha256:
            return ["pip: brought another file"]
        found[0].replace(part)
    store.keep(item.sha256)
    return []


def _index(item: Input) -> list[str]:
    """Return pip's options for the index that the lock names; none for the everyday index, which pip knows itself."""
    index = item.entry["index"]
    if index == "pypi":
        return []
    label = LABEL.search(item.entry["version"])
    if not label:
        raise KitError(f"{item.name}: its version does not tell which index of {index} has it")
    if index == "pytorch":
        return [f"--index-url=https://download.pytorch.org/whl/{label['build']}"]
    return ["--no-index", f"--find-links=https://repo.radeon.com/rocm/manylinux/rocm-rel-{label['release']}/"]


def _tags(file: str) -> list[str]:
    """Return pip's options for another Python than the one that runs: those of the wheel's own name."""
    python, abi, platforms = file.removesuffix(".whl").split("-")[-3:]
    if (python, abi, platforms) == ("py3", "none", "any"):
        return []
    version = re.match(r"(?:cp|py)(\d)(\d*)", python)
    if not version:
        return []
    options = [f"--python-version={version[1]}.{version[2] or 0}", f"--abi={abi}"]
    options += ["--implementation=cp"] if python.startswith("cp") else []
    return options + [f"--platform={platform}" for platform in platforms.split(".")]
