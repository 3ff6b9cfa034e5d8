"""Run the programs of the image: words, never a shell. The only door to `subprocess` in here."""

from __future__ import annotations

import subprocess
from typing import NamedTuple


class Ran(NamedTuple):
    """How a program ended, and what it said where that was kept."""

    code: int
    stdout: str = ""
    stderr: str = ""


def run(argv: list[str]) -> int:
    """Run a step whose words go to the log; return its exit code. SystemExit where the image has no such program."""
    print("+", " ".join(argv[:6]), flush=True)
    try:
        return subprocess.run(argv, stdin=subprocess.DEVNULL, check=False).returncode  # noqa: S603 -- a list of words
    except FileNotFoundError:
        raise SystemExit(f"the image has no {argv[0]}") from None


def must(argv: list[str]) -> None:
    """Run a step that has to end well; SystemExit, naming it, where it does not."""
    if code := run(argv):
        raise SystemExit(f"{' '.join(argv[:3])} ended with {code}")


def ask(argv: list[str], timeout_s: float) -> Ran:
    """Return what a program says; one that takes longer than `timeout_s` is ended, with exit code 124."""
    try:
        ran = subprocess.run(  # noqa: S603 -- a list of words
            argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout_s, check=False
        )
    except subprocess.TimeoutExpired:
        return Ran(124, "", f"no answer within {timeout_s:g} s")
    return Ran(ran.returncode, ran.stdout, ran.stderr)
