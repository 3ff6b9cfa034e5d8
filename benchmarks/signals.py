"""SIGINT and SIGTERM end a run in order: what was measured is kept, what was not is said."""

from __future__ import annotations

import signal
from typing import Any


class Stopped(Exception):  # noqa: N818 - an event, not a fault
    """A signal asks to end; the argument is its name."""


class Signals:
    """Notes SIGINT and SIGTERM instead of dying of them, while in its context."""

    def __init__(self) -> None:
        self.name = ""
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Signals:  # noqa: PYI034 - typing has no Self on 3.9
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, _: object) -> None:
        self.name = signal.Signals(number).name
