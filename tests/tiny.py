"""A small image with a Python: the committed lock's minimal system and what `python3` needs, 74 packages of 32 MB."""

from pins.fetch import fetch
from pins.lock import PINS, from_document, load
from pins.store import Store

NAME = "kit-test-tiny"
PYTHON = (
    "libexpat1", "libffi8", "libncursesw6", "libpython3-stdlib", "libpython3.13-minimal", "libpython3.13-stdlib",
    "libreadline8t64", "media-types", "netbase", "python3", "python3-minimal", "python3.13", "python3.13-minimal",
    "readline-common", "tzdata",
)  # fmt: skip


def document():
    """Return its lock."""
    whole = load(PINS / "debian13-hip5.7-torch2.6cpu.lock.yaml")
    debs = [item for item in whole.debs if item["bootstrap"] or item["name"] in PYTHON]
    return whole.document | {"name": NAME, "debs": debs}


def fetched():
    """Return its lock with all packages in this machine's store; KitError where they cannot be had."""
    lock = from_document(document())
    fetch(lock, Store(), progress=False)
    return lock
