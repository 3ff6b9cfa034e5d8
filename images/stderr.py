"""What a run says on stderr: passed on as it comes, but for a refusal, which is told once, as the command's own."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, final

from images.endpoint import EngineError
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Callable

LAST_LINES = 20
MAX_MESSAGE_LINES = 40
REFUSED = 2  # the exit code of a run that could not begin


@final
class Stderr:
    """Hear a run's stderr line by line. Use as a context manager: what was kept back is passed on at the end.

    Kept back is what begins like `error: M`, a blank line, `hint: H`, for as long as it goes on like that. An
    EngineError that ends the run (its deadline, no memory, a dead engine) takes along what the run said last.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        self.tell = tell
        self.tail: deque[str] = deque(maxlen=LAST_LINES)
        self.held: list[str] = []

    def __enter__(self) -> Stderr:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _trace: object) -> None:
        self._pass_on()
        if isinstance(error, EngineError):
            error.message += self.last

    def hear(self, line: str) -> None:
        """Take the next line."""
        self.tail.append(line)
        if self._goes_on(line):
            self.held.append(line)
            return
        self._pass_on()
        if line.startswith("error: "):
            self.held.append(line)
        else:
            self.tell(line)

    def raise_refusal(self, code: int) -> None:
        """Raise what the run refused with as KitError, if it did and said so as its last words."""
        message, blank, hint = "\n".join(self.held).removeprefix("error: ").partition("\n\nhint: ")
        if code == REFUSED and blank:
            self.held.clear()
            raise KitError(message, hint)

    @property
    def last(self) -> str:
        """Return the last lines as the end of a message; nothing where nothing was said."""
        return "".join(["; it said last:", *(f"\n  {line}" for line in self.tail)]) if self.tail else ""

    def _goes_on(self, line: str) -> bool:
        """Say whether a line belongs to what is kept back: a hint ends it, and only a hint follows a blank."""
        if not self.held or len(self.held) > MAX_MESSAGE_LINES or self.held[-1].startswith("hint: "):
            return False
        return bool(self.held[-1]) or line.startswith("hint: ")

    def _pass_on(self) -> None:
        for line in self.held:
            self.tell(line)
        self.held.clear()
