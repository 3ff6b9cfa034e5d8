"""A machine made of recorded answers, with the interface of `Machine`: what tests and trials stand on."""

from __future__ import annotations

import contextlib
import errno
import fnmatch
import os
from typing import TYPE_CHECKING, Any

from validate.machine import NOT_FOUND, Machine, Ran

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


class Replay(Machine):
    """Answer from tables; what no table has is absent, as on a bare machine.

    `runs` is keyed by a command line, joined with blanks, or its beginning; a value is its stdout, or a `Ran`.
    `probes` is keyed by a probe's name: what it would print. `opens` gives error numbers, 0 for a node that opens.
    """

    def __init__(
        self,
        *,
        files: Mapping[str, str | bytes] | None = None,
        runs: Mapping[str, str | Ran] | None = None,
        probes: Mapping[str, str | Ran] | None = None,
        opens: Mapping[str, int] | None = None,
        stats: Mapping[str, dict[str, Any]] | None = None,
        links: Mapping[str, str] | None = None,
        env: Mapping[str, str] | None = None,
        identity: dict[str, Any] | None = None,
        distributions: list[dict[str, str]] | None = None,
        release: str = "6.1.0",
        processors: int = 4,
    ) -> None:
        super().__init__()
        self.files = dict(files or {})
        self.runs = dict(runs or {})
        self.runs.update({f"python3 -m validate.probes.{name}": text for name, text in (probes or {}).items()})
        self.opens = dict(opens or {})
        self.stats = dict(stats or {})
        self.links = dict(links or {})
        self.variables = dict(env or {})
        self.me = identity or {"uid": 0, "groups": [0]}
        self.installed = distributions or []
        self.release = release
        self.cores = processors
        self.asked: list[tuple[str, ...]] = []

    @property
    def env(self) -> dict[str, str]:
        """The recorded environment."""
        return dict(self.variables)

    @property
    def python(self) -> str:
        """The name under which recorded probes are kept."""
        return "python3"

    def run(self, argv: Sequence[str], timeout_s: float = 30, env: dict[str, str] | None = None) -> Ran:  # noqa: ARG002
        """Return the recorded answer; a command that none was recorded for is not installed."""
        argv = tuple(argv)
        self.asked.append(argv)
        for length in range(len(argv), 0, -1):
            answer = self.runs.get(" ".join(argv[:length]))
            if answer is not None:
                break
        else:
            return Ran(argv, NOT_FOUND, "", os.strerror(errno.ENOENT), missing=True)
        return answer if isinstance(answer, Ran) else Ran(argv, 0, answer, "")

    def read_bytes(self, path: str) -> bytes | None:
        """Return a recorded file."""
        found = self.files.get(path)
        return found.encode() if isinstance(found, str) else found

    def open_errno(self, path: str, flags: int = os.O_RDWR) -> int:  # noqa: ARG002 - the interface
        """Return the recorded error number; a node that none was recorded for is absent."""
        return self.opens.get(path, errno.ENOENT)

    def glob(self, pattern: str) -> list[str]:
        """Match level by level, as the real one: `*` never crosses a slash."""
        paths = {*self.files, *self.stats, *self.links, *self.opens}
        folders = {path.rsplit("/", up)[0] for path in paths for up in range(1, path.count("/"))}
        wanted = pattern.split("/")
        return sorted(
            path
            for path in paths | folders
            if len(path.split("/")) == len(wanted)
            and all(fnmatch.fnmatchcase(part, want) for part, want in zip(path.split("/"), wanted))
        )

    def stat(self, path: str) -> dict[str, Any] | None:
        """Return the recorded mode and owner."""
        if path in self.stats:
            return self.stats[path]
        return {"mode": "0644", "uid": 0, "gid": 0, "kind": "file"} if path in self.files else None

    def realpath(self, path: str) -> str | None:
        """Follow a recorded link."""
        if path in self.links:
            return self.links[path]
        return path if self.stat(path) or self.glob(path) else None

    def identity(self) -> dict[str, Any]:
        """Return the recorded user and groups."""
        return dict(self.me)

    def kernel(self) -> dict[str, str]:
        """Return the recorded kernel."""
        return {"release": self.release, "architecture": "x86_64"}

    def processors(self) -> int:
        """Return the recorded count."""
        return self.cores

    def distributions(self) -> list[dict[str, str]]:
        """Return the recorded distributions."""
        return list(self.installed)

    @contextlib.contextmanager
    def scratch(self) -> Iterator[str]:
        """Lend a folder by name; files written to it are kept in `files`."""
        yield "/scratch"

    def write(self, path: str, content: str) -> None:
        """Keep the file in the table."""
        self.files[path] = content
