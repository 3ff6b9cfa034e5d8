"""What a lock or a pin must keep that its schema cannot say, asked once for all that is made of it."""

from __future__ import annotations

from typing import Any

from schema import canon, documents
from schema.errors import KitError

#: Folders beside those of the locks, where outputs go that are no lock's.
TAKEN = frozenset({"host", "rebuilt"})
#: Bytes of one variable, `NAME=value`: a line of a Dockerfile has 65,535 at most, and each may have to be escaped.
MAX_VARIABLE_BYTES = 32_000


def check(document: dict[str, Any], schema: str, where: str, hint: str) -> str:
    """Return the digest of a lock or pin; KitError, naming it, for what is wrong: `hint` is for what its maker wrote.

    It follows its schema, has a name that it can have, and variables that an image can be given.
    """
    try:
        documents.check(document, schema, where)
    except KitError as error:
        raise KitError(error.message, hint) from error
    try:
        digest = canon.digest(document)
    except KitError as error:
        raise KitError(f"{where}: {error.message[:200]}", "correct that value") from error
    name = document["name"]
    if name in TAKEN:
        raise KitError(f"{where}: {name} is no name for a lock: other outputs go there", "name it otherwise")
    for variable, value in document.get("environment", {}).items():
        _check_variable(variable, value, where)
    return digest


def _check_variable(name: str, value: str, where: str) -> None:
    """Refuse what no line of a Dockerfile can hold, whether one is written or not: a lock is good or it is not."""
    if any(char in value for char in "\n\r\0"):
        raise KitError(f"{where}: the variable {name} has a line break or a NUL in it", "take it out in the pin")
    if (size := len(f"{name}={value}".encode())) > MAX_VARIABLE_BYTES:
        raise KitError(
            f"{where}: the variable {name[:40]} has {size} bytes, more than {MAX_VARIABLE_BYTES}",
            "shorten it in the pin",
        )
