"""The entry point of a command: signals, errors and streams that take nothing end in a message, never a traceback."""

from __future__ import annotations

import contextlib
import signal
import sys
from typing import TYPE_CHECKING, Any, Callable

from schema.errors import KitError
from schema.stream import STOPPING, say, standard_streams, to_nowhere

if TYPE_CHECKING:
    from collections.abc import Iterator


class Stopped(BaseException):
    """A signal asks to end; the argument is its name. As with KeyboardInterrupt, no `except Exception` may keep it."""


class Signals:
    """Take SIGHUP, SIGINT and SIGTERM while in its context: the first one raises `Stopped`, wherever the run is.

    Within `noted` it is only noted in `name`, for a run that looks there often and ends in order.
    """

    def __init__(self) -> None:
        self.name = ""
        self._only_noted = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Signals:  # noqa: PYI034 - typing has no Self on 3.9
        for number in STOPPING:
            if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:  # nohup says: go on
                self._before[number] = signal.signal(number, self._take)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextlib.contextmanager
    def noted(self) -> Iterator[None]:
        """Only note signals, meanwhile."""
        self._only_noted = True
        try:
            yield
        finally:
            self._only_noted = False

    def _take(self, number: int, _: object) -> None:
        first, self.name = not self.name, self.name or signal.Signals(number).name
        if first and not self._only_noted:  # a second one must not disturb the clearing up
            raise Stopped(self.name)


def guarded(command: Callable[[Signals], int]) -> int:
    """Return the exit code of a command; 2, after a message, when something that a user can cause ends it."""
    try:
        standard_streams()
        with Signals() as signals:
            try:
                code = command(signals)
            except SystemExit as ended:  # argparse has helped, or complained
                code = int(ended.code or 0)
            _flush()
            return code
    except Stopped as error:
        message = f"{error} ended the run"
    except KitError as error:
        message = str(error)
    except OSError as error:  # the system starts no more processes, or has no more memory
        message = f"the run cannot go on: {error.strerror or error}"
    say(f"error: {message}")
    return 2


def _flush() -> None:
    """Write out what was printed, so that a pipe that is closed or a disk that is full is noticed."""
    try:
        sys.stdout.flush()
    except OSError as error:
        to_nowhere(1)
        raise KitError(
            f"the output cannot be written: {error.strerror}", "send stdout where all of it is taken"
        ) from error
