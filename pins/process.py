"""Run a program of the host: an argument list, a time limit, no shell. The host's only door to `subprocess`."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

PIECE_BYTES = 1 << 16


@dataclass(frozen=True)
class Done:
    """What a program left. A code other than 0 is an answer, for the caller to judge."""

    code: int
    stdout: str
    stderr: str


def run(
    argv: Sequence[str],
    *,
    timeout_s: float,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    input: str | None = None,  # noqa: A002 (the name that subprocess.run gives it)
) -> Done:
    """Run `argv` to its end and return its exit code and its output as text (bytes that are not UTF-8 are replaced).

    `env` is the whole environment, not an addition. Raises KitError when the program is missing, cannot be started, or
    runs longer than `timeout_s` seconds; it is killed then.
    """
    if isinstance(argv, str) or not argv:
        raise TypeError("argv is a list of arguments, never a command line")
    try:
        done = subprocess.run(  # noqa: S603 (an argument list of our own, no shell)
            list(argv),
            capture_output=True,
            check=False,
            cwd=cwd,
            env=None if env is None else dict(env),
            input=None if input is None else input.encode(),
            stdin=subprocess.DEVNULL if input is None else None,
            timeout=timeout_s,
        )
    except FileNotFoundError as error:
        missing = error.filename or argv[0]
        raise KitError(f"{argv[0]} cannot be run: there is no {missing}", f"install {argv[0]}, or set PATH") from error
    except subprocess.TimeoutExpired as error:
        raise KitError(f"{argv[0]} did not end within {timeout_s:g} s: {' '.join(argv)[:200]}", "see why") from error
    except (OSError, ValueError) as error:
        raise KitError(f"{argv[0]} cannot be run: {error}", f"mend or install {argv[0]}") from error
    return Done(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))


def attached(argv: Sequence[str], *, cwd: Path | None = None) -> int:
    """Run `argv` on this terminal, for as long as it takes; return its exit code. KitError when it cannot start."""
    try:
        return subprocess.run(list(argv), check=False, cwd=cwd).returncode  # noqa: S603 (an argument list of our own)
    except OSError as error:
        raise KitError(f"{argv[0]} cannot be run: {error.strerror}", f"install {argv[0]}, or set PATH") from error


class Running:
    """A program that runs, in a process group of its own."""

    def __init__(self, child: subprocess.Popen[bytes]) -> None:
        self.child = child

    def frames(self) -> Iterator[tuple[bytes | None, bytes | None]]:
        """Yield pieces of (stdout, stderr) as they come, until both end."""
        with selectors.DefaultSelector() as selector:
            for stream in (self.child.stdout, self.child.stderr):
                selector.register(stream, selectors.EVENT_READ)  # type: ignore[arg-type] # both are pipes
            while selector.get_map():
                for key, _ in selector.select():
                    data = os.read(key.fd, PIECE_BYTES)
                    if not data:
                        selector.unregister(key.fileobj)
                    else:
                        yield (data, None) if key.fileobj is self.child.stdout else (None, data)

    def kill(self, number: signal.Signals) -> None:
        """Send a signal to the program and to what it started."""
        with suppress(ProcessLookupError):
            os.killpg(self.child.pid, number)

    def wait(self) -> int:
        """Return the exit code; minus the signal's number when one ended it."""
        return self.child.wait()


@contextmanager
def started(argv: Sequence[str], *, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> Iterator[Running]:
    """Start `argv` and hand it out while it runs; nothing of it is left afterwards. KitError when it cannot start."""
    try:
        child = subprocess.Popen(  # noqa: S603 (an argument list of our own, no shell)
            list(argv),
            cwd=cwd,
            env=None if env is None else dict(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise KitError(f"{argv[0]} cannot be run: {error.strerror}", f"install {argv[0]}, or set PATH") from error
    running = Running(child)
    try:
        yield running
    finally:
        running.kill(signal.SIGKILL)
        child.wait()
        for stream in (child.stdout, child.stderr):
            stream.close()  # type: ignore[union-attr] # both are pipes
