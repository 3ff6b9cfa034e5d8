"""Run a program of the host: an argument list, a time limit, no shell. The host's only door to `subprocess`."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


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
        raise KitError(f"{argv[0]} did not end within {timeout_s:g} s: {' '.join(argv)[:200]}") from error
    except (OSError, ValueError) as error:
        raise KitError(f"{argv[0]} cannot be run: {error}") from error
    return Done(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))
