"""Where the bytes of a lock may come from, in the order in which to ask."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from pins import archives
from pins.paths import is_folder
from pins.references import OCI, repository
from pins.web import without_login
from schema.errors import KitError

if TYPE_CHECKING:
    from pins.lock import Lock

GIVEN = "KIT_SOURCE"  # the user's own source, and what it is called where sources are named
SNAPSHOT = "https://snapshot.debian.org/archive"  # $KIT_SNAPSHOT overrides; empty: never ask it
SNAPSHOT_TIME = "%Y%m%dT%H%M%SZ"


@dataclass(frozen=True)
class Input:
    """One file that a lock needs. `path` is where a mirror has it; `entry` is the lock's own. `size` in bytes."""

    kind: str
    sha256: str
    size: int | None
    path: str
    entry: dict[str, Any] = field(compare=False, repr=False)

    @property
    def name(self) -> str:
        """File name, for people."""
        return self.path.rpartition("/")[2]


@dataclass(frozen=True)
class Place:
    """One address of one file: a URL, or a path. `source` names who is asked, so that a dead one is asked once."""

    source: str
    address: str


def inputs(lock: Lock) -> list[Input]:
    """Return the files that a lock needs, in its order; KitError when a hash is not known."""
    found = [Input("deb", deb["sha256"], deb["size"], deb["path"], deb) for deb in lock.debs]
    found += [Input("wheel", wheel["sha256"], wheel["size"], f"wheels/{wheel['file']}", wheel) for wheel in lock.wheels]
    unresolved = [item.name for item in found if item.sha256 is None]
    if unresolved:
        raise KitError(
            f"{lock.name} has no sha256 for {', '.join(unresolved[:5])}: nothing is fetched without one",
            "find the published hash and put it into the lock",
        )
    return found


class Sources:
    """The places to ask on this host: KIT_SOURCE, the archives of its apt, Debian's snapshot service."""

    def __init__(self, root: Path = Path("/")) -> None:
        self.given = os.environ.get(GIVEN, "").strip()
        self.snapshot = os.environ.get("KIT_SNAPSHOT", SNAPSHOT).rstrip("/")
        self.archives = archives.find(root)
        if self.given.startswith(OCI):
            repository(self.given)
        elif self.given and not _is_web(self.given) and not is_folder(Path(self.given)):
            raise KitError(
                f"KIT_SOURCE={without_login(self.given)} is neither a folder nor a web address nor {OCI}...",
                "correct or unset it",
            )

    def places(self, item: Input) -> list[Place]:
        """Return where to ask for one file, best first. A wheel's indexes are pip's business: see `pins.wheels`."""
        found = []
        if self.given.startswith(OCI):
            found = [Place(GIVEN, f"{OCI}{repository(self.given).at(f'sha256:{item.sha256}')}")]
        elif self.given:
            found = [Place(GIVEN, _join(self.given, item.path))]
        if item.kind == "deb":
            archive = item.entry["archive"]
            found += [Place(without_login(uri), _join(uri, item.path)) for uri in self.archives[archive]]
            if self.snapshot:
                found += [
                    Place(without_login(self.snapshot), _join(f"{self.snapshot}/{archive}/{time}", item.path))
                    for time in _times(item.entry["snapshot"])
                ]
        return found


def _times(recorded: str) -> list[str]:
    """Return the times to ask the snapshot service for.

    The recorded one is the date of a signed index; the service, which takes the archive some times a day, may have
    taken that state only after it.
    """
    try:
        time = datetime.strptime(recorded, SNAPSHOT_TIME).replace(tzinfo=timezone.utc)
    except ValueError as error:  # the schema lets the 31st of February by
        raise KitError(f"the lock has a snapshot of {recorded}, which never was", "correct it") from error
    return [recorded, (time + timedelta(days=1)).strftime(SNAPSHOT_TIME)]


def _is_web(address: str) -> bool:
    return address.startswith(("http://", "https://"))


def _join(base: str, path: str) -> str:
    if _is_web(base):
        return f"{base.rstrip('/')}/{quote(path, safe='/+~')}"
    if base.startswith("file:"):
        base = base.removeprefix("file:").removeprefix("//")
    return str(Path(base) / path)
