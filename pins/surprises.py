"""Refuse what YAML makes of a document unasked: aliases, dates, numbers where versions belong or beyond JSON's."""

from __future__ import annotations

from typing import Any

from schema.errors import KitError

VERSIONS = frozenset({"version", "rocm", "pytorch", "python", "lock_version", "pin_version"})
MAX_EXACT = 2**53 - 1  # JSON's numbers are doubles, which are not whole above that


def refuse(document: Any, where: str) -> None:
    """Walk the document; refuse aliases (a small file must not become a large one), types JSON lacks, bare versions."""
    seen: set[int] = set()
    below: list[tuple[str, str, Any]] = [("", "", document)]
    while below:
        parent, key, value = below.pop()
        if not isinstance(value, (dict, list)):
            _refuse_scalar(value, key, parent, where)
            continue
        if id(value) in seen:
            raise KitError(f"{where}: {key} is an alias of another field", "write it out")
        seen.add(id(value))
        if isinstance(value, list):
            below += [(parent, key, item) for item in value]
            continue
        for name in value:
            if not isinstance(name, str):
                _refuse_number(name, f"a key of {key or 'the document'}", where)
                raise KitError(f"{where}: the key {name!r} is not text", "put quotes around it")
        below += [(key, name, item) for name, item in value.items()]


def _refuse_scalar(value: Any, key: str, parent: str, where: str) -> None:
    _refuse_number(value, key, where)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if key in VERSIONS or parent == "components":
            raise KitError(
                f"{where}: {key} is the number {value}, and a version is text: YAML reads 5.10 as 5.1",
                f'put quotes around it: {key}: "..."',
            )
    elif value is not None and not isinstance(value, (str, bool)):
        raise KitError(f"{where}: {key} is a {type(value).__name__}, not text", "put quotes around it")


def _refuse_number(value: Any, what: str, where: str) -> None:
    """Refuse a number that canonical JSON, of which the digest is taken, cannot hold; Python may not even print it."""
    if isinstance(value, (int, float)) and not abs(value) <= MAX_EXACT:  # so not for NaN either
        raise KitError(f"{where}: {what} is a number beyond those of JSON", "correct that number")
