"""Canonical JSON (RFC 8785), the only form in which we hash documents. Host only."""

from __future__ import annotations

import hashlib
from typing import Any

import rfc8785

from schema.errors import KitError


def dumps(document: Any) -> bytes:
    """Return the canonical bytes of a JSON document; KitError for what JSON cannot say (NaN, huge integers)."""
    try:
        return rfc8785.dumps(document)
    except (rfc8785.CanonicalizationError, RecursionError) as error:
        raise KitError(f"this cannot be written as canonical JSON: {error}") from error


def digest(document: Any) -> str:
    """Return sha256, in hex, of the canonical bytes."""
    return hashlib.sha256(dumps(document)).hexdigest()
