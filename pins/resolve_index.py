"""Read what a package index has of one project: file names, their sha256, and that of their metadata."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html.parser import HTMLParser
from urllib.parse import unquote, urldefrag, urlsplit

from pins.web import Client, LaterError, RefusedError
from schema.errors import KitError

MAX_PAGE_BYTES = 64 << 20  # the longest pages, of projects with nightly builds, have some megabytes
MAX_NAMED = 12
METADATA = ("data-core-metadata", "data-dist-info-metadata")  # PEP 714, PEP 658: the hash is of METADATA alone
SHA256 = re.compile(r"sha256=([0-9a-f]{64})$")
ELSEWHERE = "correct the pin by what its publisher says; nothing is taken from another index"


@dataclass(frozen=True)
class File:
    """One file that an index offers; a hash is None where the page does not tell it."""

    name: str
    sha256: str | None
    metadata_sha256: str | None


def files(page: str, timeout_s: float = 30) -> list[File] | None:
    """Return the files that a page of an index (PEP 503) links; KitError for a refusal.

    None where nobody answers, and where the page is cut off: what it does not name might be in its rest.
    """
    client = Client(timeout_s)
    try:
        text = client.page(page, MAX_PAGE_BYTES).decode("utf-8", "replace")
    except LaterError:
        return None
    except RefusedError as error:
        raise KitError(f"the index refuses {page}: {error}", ELSEWHERE) from error
    finally:
        client.forget()
        client.close()
    reader = _Links()
    reader.feed(text)
    return reader.found


def confirmed(wheel: dict[str, object], page: str) -> dict[str, object]:
    """Return a recorded wheel as its index has it: its sha256 is filled in where the index tells one that was unknown.

    Unchanged where the index does not answer. KitError where it has no such file, or another hash for it.
    """
    offered = files(page)
    if offered is None:
        return wheel
    name, known = str(wheel["file"]), wheel["sha256"]
    file = next((file for file in offered if file.name == name), None)
    if file is None:
        raise KitError(f"{page} has no {name}; it has {_listed(offered)}", ELSEWHERE)
    if known and known == file.metadata_sha256:
        raise KitError(
            f"the sha256 recorded for {name} is that of its metadata, which the index tells beside the wheel's own",
            f"record the wheel's: {file.sha256}" if file.sha256 else ELSEWHERE,
        )
    if known and file.sha256 and known != file.sha256:
        raise KitError(f"the sha256 recorded for {name} is {known}, and {page} tells {file.sha256}", ELSEWHERE)
    if not file.sha256:
        return wheel
    return {key: value for key, value in wheel.items() if key not in {"status", "sources"}} | {"sha256": file.sha256}


class _Links(HTMLParser):
    """Collect the wheels that a page links."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[File] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take the links that lead to a wheel."""
        found = {name: value or "" for name, value in attrs}
        address, fragment = urldefrag(found.get("href", ""))
        name = unquote(urlsplit(address).path).rpartition("/")[2]
        if tag == "a" and name.endswith(".whl"):
            own = SHA256.match(fragment)
            metadata = next((match for key in METADATA if (match := SHA256.match(found.get(key, "")))), None)
            self.found.append(File(name, own and own[1], metadata and metadata[1]))


def _listed(offered: list[File]) -> str:
    names = [file.name for file in offered][-MAX_NAMED:]
    before = f"{len(offered) - MAX_NAMED} others, and last " if len(offered) > MAX_NAMED else ""
    return before + ", ".join(names) if names else "no wheel at all"
