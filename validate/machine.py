"""The container's only door to the machine: commands, files, devices.

A command that is missing or runs out of time is a value, never an exception. `validate.replay.Replay` has the same
interface over recorded answers, so that every check can be tried without the machine.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import glob
import importlib.metadata
import os
import signal
import stat
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Callable

from schema.stream import STOPPING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

READ_LIMIT = 4 << 20  # bytes; no file that a check reads is nearly as long
NOT_FOUND = 127
NOT_EXECUTABLE = 126
DIE_S = 5  # how long a killed command may take to end


@dataclass(frozen=True)
class Ran:
    """How a command ended. `code` is None when it ran out of time; minus a signal's number when one killed it."""

    argv: tuple[str, ...]
    code: int | None
    stdout: str
    stderr: str
    missing: bool = False
    timed_out: bool = False

    @property
    def ok(self) -> bool:
        """Whether the command ran and returned 0. Some tools return 0 and an error text: judge their output too."""
        return self.code == 0

    @property
    def why(self) -> str:
        """Why the command gave nothing to use; empty when it went well."""
        if self.missing:
            return f"{self.argv[0]} is not installed"
        if self.timed_out:
            return f"{self.argv[0]} ran out of time"
        if self.code is not None and self.code < 0:
            return f"{self.argv[0]} was killed by {_signal_name(-self.code)}"
        return "" if self.ok else f"{self.argv[0]} ended with code {self.code}"


class Machine:
    """The machine that this process runs on."""

    def __init__(self) -> None:
        self.memory: dict[str, Any] = {}

    def once(self, name: str, learn: Callable[[], Any]) -> Any:
        """Return what `learn` says, asking it only the first time."""
        if name not in self.memory:
            self.memory[name] = learn()
        return self.memory[name]

    @property
    def env(self) -> dict[str, str]:
        """The environment of this process."""
        return dict(os.environ)

    @property
    def python(self) -> str:
        """The interpreter that runs."""
        return sys.executable or "python3"

    def run(self, argv: Sequence[str], timeout_s: float = 30, env: dict[str, str] | None = None) -> Ran:
        """Run a command without a shell, `env` added to ours; kill it and all its children at the time limit."""
        argv = tuple(argv)
        # Files, not pipes: a pipe ends when the last of its children lets go of it, not when the command does.
        with _in_memory("stdout") as out, _in_memory("stderr") as err:
            before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)  # whoever is started can be killed
            restore = functools.partial(signal.pthread_sigmask, signal.SIG_SETMASK, before)
            try:
                process = subprocess.Popen(  # noqa: S603 - an argument list of our own, never a shell
                    argv,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    env={**os.environ, "LC_ALL": "C.UTF-8", **(env or {})},
                    start_new_session=True,
                    preexec_fn=restore,  # noqa: PLW1509 - there are no threads here
                )
            except OSError as error:
                restore()
                missing = error.errno == errno.ENOENT
                return Ran(argv, NOT_FOUND if missing else NOT_EXECUTABLE, "", os.strerror(error.errno or 0), missing)
            try:
                restore()
                code: int | None = process.wait(timeout_s)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                _kill(process)
            return Ran(argv, code, _text(out), _text(err), timed_out=code is None)

    def read(self, path: str) -> str | None:
        """Return a file's text, at most 4 MiB of it; None when it cannot be read."""
        content = self.read_bytes(path)
        return None if content is None else content.decode("utf-8", "replace")

    def read_bytes(self, path: str) -> bytes | None:
        """Return a file's bytes, at most 4 MiB of them; None when it cannot be read."""
        try:
            with Path(path).open("rb") as file:
                return file.read(READ_LIMIT)
        except OSError:
            return None

    def open_errno(self, path: str, flags: int = os.O_RDWR) -> int:
        """Open and close a device node; return 0, or the error number. Nothing is read: a healthy node may refuse."""
        try:
            os.close(os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK))
        except OSError as error:
            return error.errno or errno.EIO
        return 0

    def glob(self, pattern: str) -> list[str]:
        """Return the paths that match, sorted."""
        return sorted(glob.glob(pattern))  # noqa: PTH207 - an absolute pattern, which Path.glob refuses

    def stat(self, path: str) -> dict[str, Any] | None:
        """Return `mode` (octal text), `uid`, `gid` and `kind` (file, folder, device) of a path; None without one."""
        try:
            found = Path(path).stat()
        except OSError:
            return None
        kinds = {stat.S_IFCHR: "device", stat.S_IFDIR: "folder", stat.S_IFREG: "file"}
        return {
            "mode": f"{stat.S_IMODE(found.st_mode):04o}",
            "uid": found.st_uid,
            "gid": found.st_gid,
            "kind": kinds.get(stat.S_IFMT(found.st_mode), "other"),
        }

    def realpath(self, path: str) -> str | None:
        """Return where a path leads; None when nothing is there."""
        return os.path.realpath(path) if Path(path).exists() else None

    def identity(self) -> dict[str, Any]:
        """Return the numeric user and groups of this process."""
        return {"uid": os.geteuid(), "groups": sorted({os.getegid(), *os.getgroups()})}

    def kernel(self) -> dict[str, str]:
        """Return `release` of the running kernel and the `architecture`."""
        found = os.uname()
        return {"release": found.release, "architecture": found.machine}

    def processors(self) -> int:
        """Return how many processors this process may be scheduled on."""
        return len(os.sched_getaffinity(0))

    def distributions(self) -> list[dict[str, str]]:
        """Return the Python distributions on the path: name, version, and the folder each is in."""
        found = []
        for item in importlib.metadata.distributions():
            name = item.metadata["Name"]
            if name:  # a folder half removed has metadata without a name
                found.append({"name": name, "version": item.version or "", "folder": str(item.locate_file(""))})
        return sorted(found, key=lambda entry: (entry["name"].lower(), entry["folder"]))

    @contextlib.contextmanager
    def scratch(self) -> Iterator[str]:
        """Lend a folder for files that a check makes; gone afterwards."""
        with tempfile.TemporaryDirectory(prefix="kit-") as folder:
            yield folder

    def write(self, path: str, content: str) -> None:
        """Write a text file inside a lent folder."""
        Path(path).write_text(content, encoding="utf-8")


@functools.cache
def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _in_memory(name: str) -> IO[bytes]:
    return os.fdopen(os.memfd_create(name), "w+b")


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "replace")


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a command's whole session, and what it left there if it has ended.

    A process that waits inside a dead driver cannot be killed: it is left behind rather than waited for.
    """
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(DIE_S)
