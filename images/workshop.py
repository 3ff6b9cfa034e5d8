"""One container in which something is made: inputs in, a command, its answer out. Nothing of it stays in the engine.

Unlike a run (`containers`) it may write its own root file system, as root, and has no deadline. Without network.
"""

from __future__ import annotations

from collections import deque
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, Any

from images.access import access
from images.endpoint import EngineError
from images.tarwriter import write_all

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from images.engine import Engine

LAST_LINES = 15
CHUNK_BYTES = 4 << 20


def work(
    engine: Engine,
    image: str,
    argv: list[str],
    inputs: IO[bytes],
    answer: IO[bytes],
    *,
    folder: str,
    label: str,
    on_log: Callable[[str], None],
) -> None:
    """Lay `inputs` (a tar) over the root, run `argv` in `folder`, and write that folder's `out` to `answer`, as a tar.

    The container has `label` (`key=value`), by which it is found when its maker was killed.
    EngineError, with the last lines that it said, when it cannot start or ends otherwise than well.
    """
    with _container(engine, image, argv, folder, label) as container:
        with engine.door("put the inputs into the container"):
            engine.slow.put_archive(container, "/", inputs)
        _follow(engine, container, argv, on_log)
        with engine.door("take the answer out of the container"):
            pieces, _ = engine.slow.get_archive(container, f"{folder}/out", chunk_size=CHUNK_BYTES)
            for piece in pieces:
                write_all(answer.fileno(), piece)


@contextmanager
def _container(engine: Engine, image: str, argv: list[str], folder: str, label: str) -> Iterator[str]:
    key, _, value = label.partition("=")
    limits = [{"Name": name, "Soft": most, "Hard": most} for name, most in access("cpu", engine.about()).ulimits]
    with engine.door(f"create a container of {image}"):
        container = engine.slow.create_container(
            image,
            entrypoint=argv[:1],
            command=argv[1:],
            user="0:0",
            working_dir=folder,
            labels={key: value},
            healthcheck={"test": ["NONE"]},
            host_config=engine.slow.create_host_config(network_mode="none", ulimits=limits),
            use_config_proxy=False,
        )["Id"]
    try:
        yield container
    finally:
        with suppress(EngineError), engine.door("remove the container"):
            engine.slow.remove_container(container, v=True, force=True)


def _follow(engine: Engine, container: str, argv: list[str], on_log: Callable[[str], None]) -> None:
    """Start the container and hand on what it says, line by line, to its end."""
    last: deque[str] = deque(maxlen=LAST_LINES)
    unfinished = b""
    with _output(engine, container, argv) as frames, engine.door(f"follow {argv[0]}"):
        for piece in frames:
            *lines, unfinished = (unfinished + piece).split(b"\n")
            for line in lines:
                last.append(line.decode("utf-8", "replace").rstrip("\r"))
                on_log(last[-1])
        code = int(engine.slow.wait(container)["StatusCode"])
    if code:
        said = "\n".join([*last, unfinished.decode("utf-8", "replace")]).strip()
        raise EngineError(
            f"what was to be added to the image failed with exit code {code}; the last that was said:\n{said}",
            "mend what it says in the pin, then make the lock again: ./kit lock --pin NAME",
        )


@contextmanager
def _output(engine: Engine, container: str, argv: list[str]) -> Iterator[Iterator[bytes]]:
    """Attach, then start; close the connection afterwards, which the SDK would leave to chance."""
    frames: Any = None
    try:
        with engine.door(f"start {argv[0]}"):
            frames = engine.slow.attach(container, stdout=True, stderr=True, stream=True)
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
