"""What went wrong in a user's case file, and where, as `own.py:14`. Pure.

The file is named by its path; where nothing points into it, its name alone is the answer.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

STACK = "(most recent call first)"  # how faulthandler heads a stack
FRAME = re.compile(r'File "(.+)", line (\d+)')


def words(error: BaseException) -> str:
    """Return the first line of what an error says; empty where it says nothing, or fails when it should."""
    try:
        said = (error.msg or "") if isinstance(error, SyntaxError) else str(error)
        return next((line.strip() for line in said.splitlines() if line.strip()), "")
    except BaseException:  # noqa: BLE001 - whatever a user's own `__str__` raises, the error that it is about counts
        return ""


def of_error(error: BaseException, path: str) -> str:
    """Return the place of the last step inside the file on the way to an error, or of the syntax that is wrong."""
    line = error.lineno if isinstance(error, SyntaxError) and error.filename == path else None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == path:
            line = trace.tb_lineno
        trace = trace.tb_next
    return _place(path, line)


def of_function(function: Any, path: str) -> str:
    """Return where a function of the file begins."""
    code = getattr(function, "__code__", None)
    return _place(path, code.co_firstlineno if code and code.co_filename == path else None)


def of_stack(lines: list[str], path: str) -> str:
    """Return the innermost place inside the file in the stacks that faulthandler wrote."""
    heads = [number for number, line in enumerate(lines) if STACK in line]
    frames = (FRAME.search(line) for line in lines[heads[0] :]) if heads else ()
    return _place(path, next((int(frame[2]) for frame in frames if frame and _names(frame[1], path)), None))


def _names(said: str, path: str) -> bool:
    """Return whether faulthandler means the path: it writes ASCII with backslashes, and cuts what is long."""
    whole = path.encode("ascii", "backslashreplace").decode()
    return said == whole or (said.endswith("...") and whole.startswith(said[:-3]))


def _place(path: str, line: int | None) -> str:
    name = Path(path).name
    return f"{name}:{line}" if line else name
