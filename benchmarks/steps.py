"""Go round the input sets of a case, step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


class Steps:
    """Count the steps of a case through its input sets, and keep the last output of each.

    An output lives until its set comes round again, so that outputs which a step makes anew go round like the inputs
    and are not written into the same cached block each time.
    """

    def __init__(self, step: Callable[[Any, int], Any], state: Any, sets: int) -> None:
        self.step, self.state = step, state
        self.outputs: list[Any] = [None] * sets
        self.done, self.last = 0, 0

    @property
    def output(self) -> Any:
        """The output of the last step, which was on the set `last`."""
        return self.outputs[self.last]

    def run(self, count: int) -> None:
        """Do `count` steps, each on the next set."""
        step, state, outputs, done = self.step, self.state, self.outputs, self.done
        sets = len(outputs)
        for number in range(done, done + count):
            place = number % sets
            outputs[place] = step(state, place)
        self.done, self.last = done + count, (done + count - 1) % sets
