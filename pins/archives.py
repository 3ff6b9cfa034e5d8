"""Find the Debian archives that this host's apt uses already, so that no host name is written in our files."""

from __future__ import annotations

import re
from pathlib import Path

from pins.paths import matching

DEBIAN, SECURITY = "debian", "debian-security"
CODENAMES = "bullseye|bookworm|trixie|forky|duke|sid"
ALIASES = "oldoldstable|oldstable|stable|testing|unstable"
SUITE = re.compile(rf"^({CODENAMES}|{ALIASES})(-updates|-backports|-proposed-updates|-security|/updates)?$")
REACHABLE = ("http://", "https://", "file:/")


def find(root: Path = Path("/")) -> dict[str, list[str]]:
    """Return URIs of Debian's archives by archive name, in apt's order, each ending in a slash; empty lists where none.

    Both of apt's formats are read, whatever release the host runs: the pool of an archive serves all its suites.
    Archives of other vendors, and of Ubuntu, do not hold Debian's packages and are left out.
    """
    etc = root / "etc/apt"
    found: dict[str, list[str]] = {DEBIAN: [], SECURITY: []}
    for path in [etc / "sources.list", *matching(etc / "sources.list.d", "*")]:
        for uri, suite in _entries(path):
            name = _archive(uri, suite)
            if name and uri.startswith(REACHABLE):
                found[name].append(uri.rstrip("/") + "/")
    return {name: list(dict.fromkeys(uris)) for name, uris in found.items()}


def _archive(uri: str, suite: str) -> str | None:
    last = uri.rstrip("/").rpartition("/")[2]
    if last in {DEBIAN, SECURITY}:
        return last
    if not SUITE.match(suite):
        return None
    return SECURITY if suite.endswith(("-security", "/updates")) else DEBIAN


def _entries(path: Path) -> list[tuple[str, str]]:
    """Return (URI, suite) of each enabled binary source in one file."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    if path.suffix == ".sources":
        return [entry for stanza in re.split(r"\n\s*\n", text) for entry in _stanza(stanza)]
    if path.suffix == ".list":
        return [entry for line in text.splitlines() for entry in _line(line)]
    return []


def _stanza(text: str) -> list[tuple[str, str]]:
    """Read one deb822 stanza; a continuation line begins with a blank, a comment may stand anywhere."""
    fields: dict[str, str] = {}
    key = ""
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        if line[:1].isspace():
            fields[key] = f"{fields.get(key, '')} {line.strip()}"
        elif ":" in line:
            key, _, value = line.partition(":")
            key = key.strip().lower()
            fields[key] = value.strip()
    if fields.get("enabled", "yes").lower() in {"no", "false", "0"} or "deb" not in fields.get("types", "").split():
        return []
    return [(uri, suite) for uri in fields.get("uris", "").split() for suite in fields.get("suites", "").split()]


def _line(text: str) -> list[tuple[str, str]]:
    """Read one line: `deb [options] uri suite component...`."""
    match = re.match(r"^deb\s+(?:\[[^\]]*\]\s+)?(\S+)\s+(\S+)", text.strip())
    return [(match[1], match[2])] if match else []
