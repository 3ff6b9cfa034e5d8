"""Bytes from a pipe, cut into lines."""

from __future__ import annotations

from dataclasses import dataclass

LONGEST_BYTES = 1 << 20  # no record and no message of ours is nearly as long; what is goes on in the next line


@dataclass
class Lines:
    """Cuts at newlines, wherever the pipe cut; what has no newline yet is kept."""

    rest: bytes = b""

    def feed(self, data: bytes) -> list[bytes]:
        """Return the lines that are whole now."""
        *whole, self.rest = (self.rest + data).split(b"\n")
        if len(self.rest) > LONGEST_BYTES:
            whole.append(self.rest)
            self.rest = b""
        return whole
