"""One command in one container, from creation to removal: nothing of it stays behind, whatever happens.

create with an anonymous volume at /kit (a read-only root takes an archive nowhere else), put the cargo there, attach
before the start (no output can be missed), start, read to the end or the deadline, wait, remove with its volume.
"""

from __future__ import annotations

import os
import re
import signal
import time
from contextlib import contextmanager, suppress
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any

from images import output
from images.access import ENVIRONMENT
from images.endpoint import EngineError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from images.access import Access
    from images.engine import Engine

LABEL = "rocm-repro-kit.run"
WAIT_S = 30.0
KILLED = 128 + signal.SIGKILL

#: What an engine says when a container does not start: pattern, our message, the one remedy.
START_FAILURES = (
    (r"no such image: (?P<what>[^\s,]+)", "the engine has no image {what}", "./kit build"),
    (r"error gathering device information.*?\"(?P<what>[^\"]+)\"", "the engine has no device {what}", "./kit doctor"),
    (r"stat (?P<what>/dev/\S+): no such file", "the engine has no device {what}", "./kit doctor"),
    (
        r"unable to find group (?P<what>[^\s:]+)",
        "the image knows no group {what}: groups go by number",
        "use the number that `stat -c %g` prints for the device",
    ),
    (
        r"could not select device driver|unresolvable CDI devices",
        "this engine cannot hand out NVIDIA GPUs",
        "install nvidia-container-toolkit, then: `sudo nvidia-ctk runtime configure && sudo systemctl restart docker`",
    ),
    (
        r"executable file.*not found|exec: \"|exec format error|command that was not found",
        "the image cannot run this command",
        "check the command; if it is the kit's own, the image is not the lock's: ./kit build --force",
    ),
)


class DeadlineError(EngineError):
    """The run passed its deadline and was killed."""


class OutOfMemoryError(EngineError):
    """The kernel killed the run for memory."""


def run(
    engine: Engine,
    image: str,
    cargo: bytes,
    argv: list[str],
    access: Access,
    *,
    deadline_s: float,
    on_line: Callable[[bytes], None],
    on_stderr: Callable[[str], None] | None = None,
) -> int:
    """Run `argv`, hand each line of stdout to `on_line` and of stderr to `on_stderr`; return the exit code.

    An unfinished last line of stdout is not handed on: it was cut off.
    DeadlineError, OutOfMemoryError and EngineError (it did not start, the engine went away) end a run otherwise;
    what the callbacks raise passes through. In each case the container and its volume are removed.
    """
    sweep(engine)

    def hear(line: bytes) -> None:
        if on_stderr:
            on_stderr(line.decode("utf-8", "replace").rstrip("\r"))

    with _container(engine, image, argv, access, volume=bool(cargo)) as container:
        began = time.monotonic()
        if cargo:
            with engine.door("put the cargo into the container"):
                engine.slow.put_archive(container, "/kit", cargo)
        with _started(engine, container, argv) as frames:
            late = output.read(
                frames, began + deadline_s, lambda number: _kill(engine, container, number), on_line, on_stderr=hear
            )
        if late:
            message = f"{' '.join(argv[:3])} was killed at its deadline of {deadline_s:g} s"
            raise DeadlineError(message, "raise the deadline, or look at what it hung on", code="deadline")
        return _ended(engine, container, argv)


@contextmanager
def _container(engine: Engine, image: str, argv: list[str], access: Access, *, volume: bool) -> Iterator[str]:
    """Create a container; remove it and its volume afterwards, running or not."""
    try:
        with engine.door(f"create a container of {image}"):
            container = engine.api.create_container(
                image,
                entrypoint=argv[:1],  # never the image's own: some print banners to stdout
                command=argv[1:] or None,
                user=access.devices.user,
                environment=ENVIRONMENT,
                working_dir="/kit" if volume else None,
                volumes=["/kit"] if volume else None,
                labels={LABEL: _owner()},
                healthcheck={"test": ["NONE"]},
                host_config=dict(access.host_config),
            )["Id"]
    except EngineError as error:  # Podman looks at devices here, Docker at the start
        raise _start_failure(error) from error
    volumes: list[str] = []
    try:
        with engine.door("look at the container"):
            volumes += [
                mount["Name"] for mount in engine.api.inspect_container(container)["Mounts"] if mount.get("Name")
            ]
        yield container
    finally:
        _remove(engine, container, volumes)


def _remove(engine: Engine, container: str, volumes: Sequence[str] = ()) -> None:
    """Remove a container and its anonymous volumes. If the engine is gone, `sweep` does it another time.

    `volumes` go by name, too: who removes the container meanwhile with `docker rm -f` leaves them.
    """
    with suppress(EngineError), engine.door("remove the container"):
        engine.api.remove_container(container, v=True, force=True)
    for volume in volumes:
        with suppress(EngineError), engine.door("remove the container's volume"):
            engine.api.remove_volume(volume)


@contextmanager
def _started(engine: Engine, container: str, argv: list[str]) -> Iterator[Iterator[tuple[bytes | None, bytes | None]]]:
    """Attach, then start; EngineError with the one remedy when it does not start. Close the connection afterwards."""
    frames: Any = None
    try:
        with engine.door(f"start {argv[0]}"):
            frames = engine.slow.attach(container, stdout=True, stderr=True, stream=True, demux=True)
            engine.slow.start(container)
    except EngineError as error:
        _hang_up(frames)
        raise _start_failure(error) from error
    try:
        yield frames
    finally:
        _hang_up(frames)


def _hang_up(frames: Any) -> None:
    """Close an attached connection; the SDK shuts such a stream down but leaves its socket to chance."""
    if frames is not None:
        with suppress(Exception):
            frames.close()
        with suppress(Exception):
            frames._response.close()  # noqa: SLF001 -- nothing public reaches it


def _start_failure(error: EngineError) -> EngineError:
    for pattern, message, hint in START_FAILURES:
        if match := re.search(pattern, error.message, re.IGNORECASE | re.DOTALL):
            what = match.groupdict().get("what") or ""
            return EngineError(
                f"{message.format(what=what)} ({error.message})", hint, code="start", status=error.status
            )
    return EngineError(error.message, error.hint, code="start", status=error.status)


def _kill(engine: Engine, container: str, number: signal.Signals) -> None:
    """Send a signal; one that ended meanwhile is as good."""
    with suppress(EngineError), engine.door("kill the container"):
        engine.api.kill(container, number.value)


def _ended(engine: Engine, container: str, argv: list[str]) -> int:
    """Return the exit code; OutOfMemoryError when the kernel killed it, EngineError when it never ran."""
    command = " ".join(argv[:3])
    try:
        with engine.door(f"learn how {command} ended", code="silent"):
            code = int(engine.api.wait(container, timeout=WAIT_S)["StatusCode"])
            state = dict(engine.api.inspect_container(container)["State"])
    except EngineError as error:
        if error.status == HTTPStatus.NOT_FOUND:
            message = f"somebody removed the container in which {command} ran"
            raise EngineError(message, "run the command again", code="removed") from error
        hint = "see that the engine runs, then run the command again"
        raise EngineError(error.message, hint, code="silent") from error
    if state.get("Status") == "created":  # Podman: a failed start leaves exit code 0
        message = f"cannot start {command}: {state.get('Error') or 'it never ran'}"
        raise _start_failure(EngineError(message, "./kit doctor"))
    podman = engine.about()["name"] == "podman"  # which never says what killed it
    if code == KILLED and (state.get("OOMKilled") or podman):
        what = "was killed (exit code 137), most likely for memory" if podman else "ran out of memory and was killed"
        raise OutOfMemoryError(f"{command} {what}", "free memory on the host, or run a smaller suite", code="memory")
    return code


def _owner() -> str:
    """Name this process on this boot in this PID namespace, so that another run can see whether it still lives."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()} {os.getpid()}"
    except OSError:
        return ""


def sweep(engine: Engine) -> int:
    """Remove containers whose kit process is gone (killed with SIGKILL, power cut); return how many."""
    place, _, _ = _owner().rpartition(" ")
    dead = []
    with engine.door("list containers"):
        for item in engine.api.containers(all=True, filters={"label": [LABEL]}):
            owner, _, pid = str((item.get("Labels") or {}).get(LABEL)).rpartition(" ")
            if owner and owner == place and not Path("/proc", pid).exists():
                dead.append(str(item["Id"]))
    for container in dead:
        _remove(engine, container)
    return len(dead)
