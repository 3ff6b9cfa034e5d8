"""One container in which something is made: inputs in, a command, its answer out. Nothing of it stays in the engine.

Unlike a run (`containers`) it may write its own root file system, as root. The image may be hostile: what it takes and
says, how long, and what it gives back, is bounded. Without network.
"""

from __future__ import annotations

import time
from collections import deque
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from images import output, streams
from images.access import access
from images.containers import WAIT_S
from images.endpoint import EngineError
from images.tarwriter import write_all
from pins.progress import amount

if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Iterator

    from images.engine import Engine

LAST_LINES = 15
MAX_SAID = 2000  # characters of a line that are handed on: a line may have megabytes, and it is for people
CHUNK_BYTES = 4 << 20


class Bounds(NamedTuple):
    """What a container gets at most: seconds, bytes of its answer (`room` says what to do for more), capabilities."""

    deadline_s: float
    answer_bytes: int
    room: str
    capabilities: tuple[str, ...] = ()


def work(
    engine: Engine,
    image: str,
    argv: list[str],
    inputs: IO[bytes],
    answer: IO[bytes],
    *,
    bounds: Bounds,
    folder: str,
    label: str,
    on_log: Callable[[str], None],
) -> None:
    """Lay `inputs` (a tar) over the root, run `argv` in `folder`, and write that folder's `out` to `answer`, as a tar.

    The container has `label` (`key=value`), by which it is found when its maker was killed.
    EngineError, with the last lines that it said, when it cannot start, ends otherwise than well, or passes a bound.
    """
    with _container(engine, image, argv, bounds, folder=folder, label=label) as container:
        with engine.door("put the inputs into the container"):
            engine.slow.put_archive(container, "/", inputs)
        _follow(engine, container, argv, bounds.deadline_s, on_log)
        with engine.door("take the answer out of the container"), streams.hung_up(engine.slow):
            pieces, _ = engine.slow.get_archive(container, f"{folder}/out", chunk_size=CHUNK_BYTES)
            left = bounds.answer_bytes
            for piece in pieces:
                left -= len(piece)
                if left < 0:
                    size = amount(bounds.answer_bytes, "B")
                    raise EngineError(f"what the image gives back is larger than {size}", bounds.room)
                write_all(answer.fileno(), piece)


@contextmanager
def _container(
    engine: Engine, image: str, argv: list[str], bounds: Bounds, *, folder: str, label: str
) -> Iterator[str]:
    key, _, value = label.partition("=")
    given = access("cpu", engine.about()).host_config
    # As a run, but for what it is for: the root is written, and with capabilities where something is installed.
    kept = ("NetworkMode", "SecurityOpt", "CapDrop", "Memory", "MemorySwap", "PidsLimit", "Ulimits", "LogConfig")
    limits = {name: given[name] for name in kept} | {"CapAdd": list(bounds.capabilities)}
    with engine.door(f"create a container of {image}"):
        container = engine.slow.create_container(
            image,
            entrypoint=argv[:1],
            command=argv[1:],
            user="0:0",
            working_dir=folder,
            labels={key: value},
            healthcheck={"test": ["NONE"]},
            host_config=limits,
            use_config_proxy=False,
        )["Id"]
    try:
        yield container
    finally:
        with suppress(EngineError), engine.door("remove the container"):
            engine.slow.remove_container(container, v=True, force=True)


def _follow(engine: Engine, container: str, argv: list[str], deadline_s: float, on_log: Callable[[str], None]) -> None:
    """Start the container and hand on what it says, line by line, to its end."""
    last: deque[str] = deque(maxlen=LAST_LINES)
    deadline = time.monotonic() + deadline_s

    def hear(line: bytes) -> None:
        last.append(line[: 4 * MAX_SAID].decode("utf-8", "replace")[:MAX_SAID].rstrip("\r"))
        on_log(last[-1])

    def kill(number: signal.Signals) -> None:
        with suppress(EngineError), engine.door("kill the container"):  # it may have ended meanwhile
            engine.api.kill(container, number.value)

    with _output(engine, container, argv) as frames:
        late = output.read(frames, deadline, kill, hear, on_stderr=hear)
    said = "\n".join(last).strip()
    if late:
        message = f"what runs in the image to look at it, or to add to it, did not end within {deadline_s:g} s"
        raise EngineError(f"{message}; the last that was said:\n{said}", "choose another base, or a machine less busy")
    with engine.door(f"learn how {argv[0]} ended"):
        code = int(engine.api.wait(container, timeout=WAIT_S)["StatusCode"])
    if code:
        raise EngineError(
            f"what was to be added to the image failed with exit code {code}; the last that was said:\n{said}",
            "mend what it says in the pin, then make the lock again: ./kit lock --pin NAME",
        )


@contextmanager
def _output(engine: Engine, container: str, argv: list[str]) -> Iterator[Iterator[Any]]:
    """Attach, then start; close the connection afterwards, which the SDK would leave to chance."""
    frames: Any = None
    try:
        with engine.door(f"start {argv[0]}"):
            frames = engine.slow.attach(container, stdout=True, stderr=True, stream=True, demux=True)
            engine.slow.start(container)
        yield frames
    except EngineError as error:
        if f'"{argv[0]}"' in error.message:
            message = f"the image has no {argv[0]}, which is needed to add something to it"
            raise EngineError(message, "choose another base") from error
        raise
    finally:
        if frames is not None:
            with suppress(Exception):
                frames.close()
            with suppress(Exception):
                frames._response.close()  # noqa: SLF001 -- nothing public reaches it
