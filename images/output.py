"""Read a container's two output streams as lines, until they end or a deadline ends them."""

from __future__ import annotations

import queue
import signal
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from images.endpoint import EngineError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

MAX_LINE_BYTES = 64 << 20
GRACE_S = 3.0  # for faulthandler to write the stacks, between SIGABRT and SIGKILL
SILENT_S = 30.0  # how long a killed container's output may still take to end


def read(
    frames: Iterator[tuple[bytes | None, bytes | None]],
    deadline: float,
    kill: Callable[[signal.Signals], None],
    on_line: Callable[[bytes], None],
    *,
    on_stderr: Callable[[bytes], None],
) -> bool:
    """Hand out lines until the streams end; say whether the deadline (CLOCK_MONOTONIC) had to end them.

    Frames are not lines: most end in the middle of one. A hung GPU leaves the streams silent, so that reading happens
    in a thread and waiting here, where a deadline and Ctrl-C can be served.
    """
    arrived: queue.Queue[Any] = queue.Queue(maxsize=256)
    stop = threading.Event()
    threading.Thread(target=_pump, args=(frames, arrived, stop), daemon=True).start()
    out, err, late = _Lines(on_line), _Lines(on_stderr), False
    signals = [signal.SIGABRT, signal.SIGKILL]
    try:
        while True:
            left = deadline - time.monotonic()
            try:
                if left <= 0:  # a container that never stops talking has its deadline too
                    raise queue.Empty
                item = arrived.get(timeout=left)
            except queue.Empty:
                late = True
                if not signals:
                    raise EngineError(
                        "the engine does not end the killed container", "./kit doctor", code="silent"
                    ) from None
                kill(signals[0])
                deadline = time.monotonic() + (GRACE_S if signals.pop(0) == signal.SIGABRT else SILENT_S)
                continue
            if item is None:
                err.finish()
                return late
            if isinstance(item, BaseException):
                raise item
            if item[0]:
                out.feed(item[0])
            if item[1]:
                err.feed(item[1])
    finally:
        stop.set()


def _pump(frames: Iterable[Any], arrived: queue.Queue[Any], stop: threading.Event) -> None:
    """Move frames into the queue, then None, or what went wrong; give up when nobody reads any more."""

    def put(item: Any) -> None:
        while not stop.is_set():
            with suppress(queue.Full):
                arrived.put(item, timeout=0.5)
                return

    try:
        for frame in frames:
            put(frame)
            if stop.is_set():
                return
    except ValueError as error:  # bytes that are no frames: an error text in place of the streams
        put(EngineError(f"the engine's output stream is garbled: {error}", "./kit doctor", code="silent"))
    except Exception as error:  # noqa: BLE001 -- it is raised where the run is, not lost in this thread
        failure = EngineError(f"the engine stopped sending the output: {error}", "./kit doctor", code="silent")
        failure.__cause__ = error
        put(failure)
    put(None)


class _Lines:
    """Join pieces, split on newlines."""

    def __init__(self, take: Callable[[bytes], None]) -> None:
        self.take = take
        self.pieces: list[bytes] = []
        self.size = 0

    def feed(self, data: bytes) -> None:
        head, newline, rest = data.partition(b"\n")
        self.pieces.append(head)
        self.size += len(head)
        if self.size > MAX_LINE_BYTES:
            raise EngineError(f"a line of output is longer than {MAX_LINE_BYTES} bytes", "this is not the kit's output")
        if not newline:
            return
        self.take(b"".join(self.pieces))
        *lines, last = rest.split(b"\n")
        self.pieces, self.size = [last], len(last)
        for line in lines:
            self.take(line)

    def finish(self) -> None:
        if rest := b"".join(self.pieces):
            self.take(rest)
