"""The one error that a user is meant to see."""

from __future__ import annotations


class KitError(Exception):
    """The run cannot go on.

    `message` names the thing that is wrong, `hint` the one next step. A command that ends with it exits 2.
    Subclass only where a caller catches the difference. A failing check is data (a finding), never this.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n\nhint: {self.hint}" if self.hint else self.message
