"""Start fresh processes, and end them with all that they started. The only door to other processes here."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
DIE_S = 10.0  # a process that waits inside a dead driver cannot be killed: it is left behind after so long
GRACE_S = 0.5  # what a process leaves behind may be about to end by itself


class Fresh:
    """One fresh Python process running `module` with a job on stdin and a record pipe."""

    def __init__(self, module: str, job: dict[str, Any], *, quiet: bool = False) -> None:
        self.records, write = os.pipe()
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])),
        }
        try:
            self.process = subprocess.Popen(  # noqa: S603 - our own interpreter and module, no shell
                [sys.executable, "-m", module],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL if quiet else subprocess.PIPE,
                stderr=None if quiet else subprocess.STDOUT,
                pass_fds=[write],
                env=environment,
                cwd=ROOT,
                start_new_session=True,  # so that its whole group can be killed, and a terminal's Ctrl-C is ours alone
            )
        finally:
            os.close(write)
        assert self.process.stdin is not None  # noqa: S101 - for the reader: PIPE was asked for
        with contextlib.suppress(BrokenPipeError):
            # In ASCII: the path of a case file may hold bytes that are no UTF-8.
            self.process.stdin.write(json.dumps({**job, "fd": write}).encode() + b"\n")
            self.process.stdin.flush()

    def close_stdin(self) -> None:
        """Say that nothing more will come."""
        with contextlib.suppress(OSError):
            self.process.stdin.close()  # type: ignore[union-attr]

    def ended(self, seconds: float = 0.0) -> bool:
        """Wait so long for its end; return whether it has ended."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def kill(self) -> None:
        """Kill it with everything it started, and wait until it is gone."""
        self._kill_group()
        self.ended(DIE_S)

    def sweep(self) -> bool:
        """Kill what it has left behind in its group, now that it has ended; return whether there was anything."""
        if self._alone():
            return False
        self._kill_group()
        self._alone()  # the dead let go of their files only then
        return True

    def _kill_group(self) -> None:
        with contextlib.suppress(OSError):  # gone, or not ours
            os.killpg(self.process.pid, signal.SIGKILL)

    def _alone(self) -> bool:
        """Wait a moment until nobody lives in its group; return whether that is so."""
        until = time.monotonic() + GRACE_S
        while any(_lives_in(self.process.pid, path) for path in Path("/proc").glob("[0-9]*/stat")):
            if time.monotonic() > until:
                return False
            time.sleep(0.02)
        return True

    def close(self) -> None:
        """Kill what still runs and close the pipes."""
        self.kill()
        self.close_stdin()
        with contextlib.suppress(OSError):
            os.close(self.records)
        if self.process.stdout:
            self.process.stdout.close()


def _lives_in(group: int, stat: Path) -> bool:
    """Return whether the process of a `stat` file is in a group, and more than a zombie that nobody has buried."""
    try:
        state, _, its_group = stat.read_bytes().rpartition(b")")[2].split()[:3]
    except (OSError, ValueError):  # gone meanwhile
        return False
    return int(its_group) == group and state not in {b"Z", b"X"}
