"""Download one file into the store: resumed, verified, from the first place that has it."""

from __future__ import annotations

import http.client
import os
import threading
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

from pins.file_lock import alone, is_at
from pins.paths import opened
from pins.references import OCI, parse
from pins.registry_client import LATER, Clients
from pins.registry_errors import RegistryError
from pins.store import CHUNK, file_sha256
from pins.web import Client, LaterError, RangeError, RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pins.sources import Input, Place
    from pins.store import Store

TRIES = 4
BACK_OFF_S = 0.5  # doubled after each try
BLOCK = 1 << 16
SLOWEST_B_S = 20_000  # an answer slower than this, after a minute's grace, is given up
GRACE_S = 60.0


class StoppedError(Exception):
    """The whole fetch is ending, because of another file or of a person; what is on disk is gone on with next time."""


class Part:
    """The unfinished file of one input, held by one process at a time. Every change of its length goes to `advance`."""

    def __init__(self, file: IO[bytes], path: Path, advance: Callable[[float], None]) -> None:
        self.file, self.path, self.advance = file, path, advance
        self.size = file.seek(0, os.SEEK_END)
        self.advance(self.size)

    def append(self, block: bytes) -> None:
        """Add bytes at the end."""
        self.file.write(block)
        self.size += len(block)
        self.advance(len(block))

    def empty(self) -> None:
        """Throw away what is there."""
        self.file.truncate(0)
        self.file.seek(0)
        self.advance(-self.size)
        self.size = 0

    def sync(self) -> None:
        """Make what was written last."""
        self.file.flush()
        os.fsync(self.file.fileno())


class Downloader:
    """Download from any number of threads. `advance` is told of bytes that came, negative when they are thrown away."""

    def __init__(
        self,
        store: Store,
        *,
        advance: Callable[[float], None] = lambda _: None,
        tell: Callable[[str], None] = lambda _: None,
        timeout_s: float = 30,
    ) -> None:
        self.store, self.advance, self.tell = store, advance, tell
        self.client = Client(timeout_s)
        self.registries = Clients(timeout_s)
        self.stop = threading.Event()
        self.dead: dict[str, str] = {}
        self.lock = threading.Lock()
        self.downloaded_bytes = 0
        self.delivered: Counter[str] = Counter()  # files, by the source that had them

    def close(self) -> None:
        """Close the connections, which no thread may use any more."""
        self.client.close()
        self.registries.close()

    def get(self, item: Input, places: list[Place]) -> list[str]:
        """Bring one file into the store; return why no place had it, or nothing when one did.

        Raises KitError when the store cannot be written, StoppedError when `stop` is set.
        """
        reasons: list[str] = []
        with self._part(item) as part:
            if self.store.has(item.sha256):  # another process had it in hand
                self.advance((item.size or 0) - part.size)
                return []
            for place in places:
                try:
                    self._from(place, item, part)
                except RefusedError as error:
                    reasons.append(f"{place.source}: {error}")
                    continue
                except OSError as error:
                    raise self.store.broken(error) from error
                self.store.keep(item.sha256)
                with self.lock:
                    self.delivered[place.source] += 1
                return []
        return list(dict.fromkeys(reasons)) or ["no source is known for it"]

    def _from(self, place: Place, item: Input, part: Part) -> None:
        """Complete the part from one place; ask again while that may help. RefusedError when the place is of no use."""
        wait_s, words = BACK_OFF_S, ""
        for attempt in range(1, TRIES + 1):
            if self.stop.is_set():
                raise StoppedError
            if place.source in self.dead:
                raise RefusedError(self.dead[place.source])
            start = part.size
            try:
                self._append(place, item, part)
            except LaterError as error:
                words = str(error)
                if attempt == TRIES and error.unreachable:
                    self._bury(place.source, words)
                elif attempt < TRIES:
                    self.stop.wait(max(wait_s, error.after_s))
                    wait_s *= 2
                continue
            part.sync()
            if file_sha256(part.path) == item.sha256:
                return
            part.empty()
            words = "its bytes have another sha256"
            self.tell(f"{item.name} from {place.source} was thrown away: {words}")
            if not start:  # all of it came from here: asking again would only give the same
                break
        raise RefusedError(words)

    def _append(self, place: Place, item: Input, part: Part) -> None:
        """Ask once, from where the part ends. RefusedError, LaterError; OSError comes from the store alone."""
        if item.size is not None and part.size > item.size:
            part.empty()
        if part.size and part.size == item.size:
            return
        if place.address.startswith(("http://", "https://")):
            try:
                self._append_from_web(place.address, item, part)
            except BaseException:
                self.client.forget()
                raise
        elif place.address.startswith(OCI):
            for block in self._watched(self._registry_blocks(place.address, part.size), item):
                self._take(block, item, part)
        else:
            part.empty()
            for block in _local_blocks(Path(place.address)):
                self._take(block, item, part)
        if item.size is not None and part.size < item.size:
            raise LaterError(f"ended after {part.size} of {item.size} bytes")

    def _append_from_web(self, url: str, item: Input, part: Part) -> None:
        try:
            answer = self.client.get(url, part.size)
        except RangeError:
            part.empty()
            raise
        if answer.start != part.size:
            part.empty()
        if None not in {answer.size, item.size} and answer.size != item.size:
            part.empty()
            raise RefusedError(f"has another length, {answer.size} bytes instead of {item.size}")
        for block in self._watched(_web_blocks(answer.response), item):
            self._take(block, item, part)

    def _take(self, block: bytes, item: Input, part: Part) -> None:
        if item.size is not None and part.size + len(block) > item.size:
            part.empty()
            raise RefusedError(f"is longer than {item.size} bytes")
        part.append(block)

    def _watched(self, blocks: Iterator[bytes], item: Input) -> Iterator[bytes]:
        """Yield what comes over a network, until `stop` is set; one slower than `SLOWEST_B_S` becomes LaterError."""
        deadline = time.monotonic() + GRACE_S + (item.size or 1 << 32) / SLOWEST_B_S
        for block in blocks:
            with self.lock:
                self.downloaded_bytes += len(block)
            yield block
            if self.stop.is_set():
                raise StoppedError
            if time.monotonic() > deadline:
                raise LaterError(f"is slower than {SLOWEST_B_S} bytes a second")

    def _registry_blocks(self, address: str, start: int) -> Iterator[bytes]:
        """Yield a blob of a registry from `start` on; what goes wrong is LaterError or RefusedError."""
        place = parse(address.removeprefix(OCI))
        came = False
        try:
            for block in self.registries.of(place.registry).blob(place.repository, place.digest, start, tries=1):
                came = True
                yield block
        except RegistryError as error:
            if error.status and error.status not in LATER:
                raise RefusedError(error.message) from error
            raise LaterError(error.message, unreachable=not (error.status or came)) from error

    def _bury(self, source: str, words: str) -> None:
        with self.lock:
            first = source not in self.dead
            self.dead[source] = words
        if first:
            self.tell(f"{source} does not answer ({words}); it is not asked again")

    @contextmanager
    def _part(self, item: Input) -> Iterator[Part]:
        """Open the part for this process alone; wait while another one has it."""
        path = self.store.part(item.sha256)
        try:
            with alone(path) as file:
                yield Part(file, path, self.advance)
                if is_at(file, path) and not path.stat().st_size:
                    path.unlink()  # nothing to go on with
        except OSError as error:
            raise self.store.broken(error) from error


def _web_blocks(response: http.client.HTTPResponse) -> Iterator[bytes]:
    """Yield the body of an answer; network faults become LaterError."""
    while True:
        try:
            block = response.read1(BLOCK)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise LaterError(f"was cut off: {str(error) or type(error).__name__}") from error
        if not block:
            if response.length:  # read1 does not complain of a connection that ended early
                raise LaterError(f"was cut off {response.length} bytes before its end")
            response.close()  # read1 leaves it open at its end, and the connection with it unusable
            return
        yield block


def _local_blocks(path: Path) -> Iterator[bytes]:
    """Yield a local file's bytes; RefusedError when it cannot be read, which is not the store's fault."""
    try:
        with opened(path) as source:
            while block := source.read(CHUNK):
                yield block
    except OSError as error:
        raise RefusedError(f"{error.strerror}") from error
