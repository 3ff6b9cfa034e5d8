"""The build context: one deterministic tar, streamed to the engine without being written down first."""

from __future__ import annotations

import io
import os
import re
from typing import TYPE_CHECKING

from images.tar import BLOCK, Member
from images.tarwriter import END, header
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from _typeshed import WriteableBuffer

PIECE_BYTES = 1 << 20
_FROM = re.compile(r"\s*FROM\s+(?:--\S+\s+)*(?P<image>\S+)(?:\s+AS\s+(?P<stage>\S+))?", re.IGNORECASE)
_DIGEST = re.compile(r"@sha256:[0-9a-f]{64}$")
_COPY = re.compile(r"\s*COPY\s.*--from=(?P<image>\S+)", re.IGNORECASE)
_ADD = re.compile(r"\s*ADD\s.*?(?P<place>(?:https?|ftp|git)://\S+|git@\S+)", re.IGNORECASE)


def dockerfile(text: str, epoch: int, environment: Mapping[str, str], label: str) -> str:
    """Return a Dockerfile in which every stage carries the label, the epoch and the lock's environment.

    Raises KitError when there is no FROM line, and for what the engine would fetch by a name that may mean something
    else tomorrow. (A RUN has no network, so it need not be read.) What a lock's values may be, `pins.rules` says.
    """
    lines = []
    stages, count = {"scratch"}, 0
    for line in text.splitlines():
        lines.append(line)
        _refuse_outside(line, stages)
        if match := _FROM.match(line):
            stages |= {str(count), (match["stage"] or "scratch").lower()}
            count += 1
            lines.append(f"LABEL {label}")
            lines.append(f"ARG SOURCE_DATE_EPOCH={epoch}")
            lines += [f"ENV {name}={_quoted(value)}" for name, value in sorted(environment.items())]
    if len(lines) == len(text.splitlines()):
        raise KitError("the Dockerfile has no FROM line", "begin with images/Dockerfile")
    return "\n".join(lines) + "\n"


def _refuse_outside(line: str, stages: set[str]) -> None:
    image = _FROM.match(line) or _COPY.match(line)
    if image and image["image"].lower() not in stages and not _DIGEST.search(image["image"]):
        raise KitError(
            f"the Dockerfile takes {image['image']} by a name that moves: {line.strip()[:200]}",
            "name it by digest: repository@sha256:..., or begin FROM scratch as images/Dockerfile does",
        )
    if place := _ADD.match(line):
        raise KitError(
            f"the Dockerfile fetches {place['place'][:200]}, whatever is there then",
            "put the file beside the lock's inputs: a package or a wheel, by sha256",
        )


def _quoted(value: str) -> str:
    return '"' + re.sub(r'(["\\$])', r"\\\1", value) + '"'


class Context(io.RawIOBase):
    """A tar of small texts and files on disk, read once from front to back.

    `entries` are (name, bytes or path). The same entries give the same bytes, whoever owns the files.
    """

    def __init__(self, entries: Sequence[tuple[str, bytes | Path]], epoch: int) -> None:
        super().__init__()
        # An empty piece would end the transfer: HTTP says so with a chunk of no bytes.
        self._pieces = filter(None, _pieces(entries, epoch))
        self._rest = b""

    def readable(self) -> bool:
        """Say that this can be read."""
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """Fill the buffer as far as one piece reaches; 0 at the end."""
        if not self._rest:
            self._rest = next(self._pieces, b"")
        view = memoryview(buffer).cast("B")
        part, self._rest = self._rest[: len(view)], self._rest[len(view) :]
        view[: len(part)] = part
        return len(part)

    def __iter__(self) -> Iterator[bytes]:
        """Yield pieces, where a file would give lines."""
        if self._rest:
            yield self._rest
        self._rest = b""
        yield from self._pieces


def _pieces(entries: Iterable[tuple[str, bytes | Path]], epoch: int) -> Iterator[bytes]:
    for name, content in entries:
        size = len(content) if isinstance(content, bytes) else content.stat().st_size
        yield header(Member(name.encode(), size=size, mtime=epoch))
        if isinstance(content, bytes):
            yield content
        else:
            yield from _file(content, size)
        yield bytes(-size % BLOCK)
    yield END


def _file(path: Path, size: int) -> Iterator[bytes]:
    """Yield exactly `size` bytes of a file."""
    with path.open("rb", buffering=0) as file:
        left = size
        while left:
            piece = os.read(file.fileno(), min(PIECE_BYTES, left))
            if not piece:
                raise KitError(f"{path.name} became shorter while it was read", "run the command again")
            left -= len(piece)
            yield piece
