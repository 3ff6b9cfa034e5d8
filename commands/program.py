"""The command line: one message and one remedy for whatever goes wrong, exit codes, signals.

stdout carries data (a path, a table, one JSON document with `--json`), stderr carries progress.
Exit codes: 0 all well; 1 something failed or does not hold; 2 could not run, or refused; 128 and the signal's number
when a signal ended it.
"""

from __future__ import annotations

import difflib
import inspect
import os
import re
import signal
import sys
import textwrap
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from invoke.collection import Collection
from invoke.config import Config
from invoke.exceptions import Exit, ParseError
from invoke.program import Program

from schema import VERSION
from schema.errors import KitError
from schema.stream import STOPPING, standard_streams
from schema.stream import say as tell

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

#: What a shell says of a program whose reader went away.
READER_GONE = 128 + signal.SIGPIPE
#: Commands that take any number of paths. Invoke gives an argument one word: the others go with this option.
SEVERAL = {"folklore": "--also"}
INTERRUPTED = "interrupted: what was there before is still there, nothing half made is in its place"


def say(text: str) -> None:
    """Tell a person how it goes; never data."""
    tell(_shown(text))


def _shown(text: str) -> str:
    """Return text that may hold a stranger's without what a terminal would obey."""
    from bundle.format import printed

    return printed(text.split("\n"))


def show(document: Any) -> None:
    """Print one JSON document on stdout."""
    from schema.documents import show as write

    write(document)


def leave(code: int) -> None:
    """End the command with this exit code."""
    if code:
        raise Exit(code=code)


@contextmanager
def explained() -> Iterator[None]:
    """Turn whatever goes wrong into one message, one remedy and an exit code."""
    try:
        yield
    except KitError as error:
        raise Exit(_shown(f"error: {error}"), 2) from error
    except KeyboardInterrupt as error:
        raise Exit(INTERRUPTED, 128 + signal.SIGINT) from error
    except (Exit, BrokenPipeError):
        raise
    except Exception as error:
        if os.environ.get("KIT_DEBUG"):
            raise
        raise Exit(_shown(_said_of(error)), 2) from error


def _said_of(error: Exception) -> str:
    """Return message and remedy for what no door has wrapped: a disk or stream that fails, or a fault of ours."""
    if isinstance(error, OSError):
        return f"error: {error}\n\nhint: make room on the disk, or look at what the message names"
    what = f"error: a fault in the kit itself: {type(error).__name__}: {error}"
    return f"{what}\n\nhint: run it again with KIT_DEBUG=1 and report what it prints"


class KitProgram(Program):
    """Invoke with our exit codes."""

    def run(self, argv: list[str] | None = None, exit: bool = True) -> None:  # noqa: A002, FBT001, FBT002 -- Invoke's
        """Run the command line, and leave with its exit code."""
        code: Any = 0
        try:
            super().run(argv, exit)
        except SystemExit as ended:
            code = ended.code
            if isinstance(ended.__context__, KeyboardInterrupt):  # outside our commands Invoke makes a bare 1 of it
                say(INTERRUPTED)
                code = 128 + signal.SIGINT
        except BrokenPipeError:
            code = READER_GONE
        except Exception as error:
            if os.environ.get("KIT_DEBUG"):
                raise
            say(_said_of(error))
            code = 2
        sys.exit(_flushed(code))

    def create_config(self) -> None:
        """Read none of Invoke's configuration files: no command of ours has anything to do with them."""
        self.config = Config(lazy=True)

    def update_config(self, merge: bool = True) -> None:  # noqa: FBT001, FBT002 -- Invoke's
        """Read none that a variable or an option names, either."""

    def parse_core(self, argv: list[str] | None) -> None:
        """Parse what stands before the command. `COMMAND --help` asks for help, whatever the command still lacks."""
        words = several(list(sys.argv if argv is None else argv))
        if {"--help", "-h"} & set(words[2:]) and not words[1].startswith("-"):
            words = [words[0], "--help", words[1]]
        wanted = sys.dont_write_bytecode
        with self._parsing():
            super().parse_core(words)
        sys.dont_write_bytecode = wanted  # Invoke turns byte code off, which makes every later start slower

    def parse_tasks(self) -> None:
        """Parse the commands and their options."""
        with self._parsing():
            super().parse_tasks()

    def parse_cleanup(self) -> None:
        """Answer --help and --list."""
        with self._parsing():
            super().parse_cleanup()

    @contextmanager
    def _parsing(self) -> Iterator[None]:
        """Turn what Invoke cannot parse into exit code 2: 1 means that something failed or does not hold."""
        try:
            yield
        except ParseError as error:
            message = re.sub(r"<Argument: (\w+)>", r"--\1", str(error))
            raise Exit(_shown(f"error: {message}\n\nhint: {self._advice(message)}"), 2) from error

    def _advice(self, message: str) -> str:
        """Return what the user may have meant, or how the command is called."""
        contexts = self.parser.contexts if hasattr(self, "parser") else {}
        named = re.findall(r"'([^']+)'", message)
        if "No idea" in message and named:
            flags = {flag for context in contexts.values() for flag in context.flags}
            known = (flags if named[0].startswith("-") else set(contexts)) - {named[0]}  # another command's, perhaps
            if near := difflib.get_close_matches(named[0], sorted(known), n=1, cutoff=0.7):
                return f"did you mean {near[0]}?"
        elif named and named[0] in contexts:
            return usage(self.binary, contexts[named[0]])
        return "./kit --list shows the commands, ./kit COMMAND --help its options"

    def print_task_help(self, name: str) -> None:
        """Print how a command is called, what it does, and what each option means."""
        context = self.parser.contexts[name]
        places = {f"--{argument.name}": argument.name.upper() for argument in context.positional_args}
        tuples = [(flag.partition("=")[0], text) for flag, text in context.help_tuples()]
        print(f"Usage: {usage(self.binary, context)}\n")
        print("\n".join(textwrap.wrap(inspect.getdoc(self.collection[name]) or "", 100)), end="\n\n")
        if rows := [(places[flag], text) for flag, text in tuples if flag in places]:
            self.print_columns(rows)
        print("Options:\n")
        self.print_columns([pair for pair in context.help_tuples() if pair[0].partition("=")[0] not in places])

    def print_columns(self, tuples: Any) -> None:
        """Print names and their help side by side, or one after the other where a terminal is too narrow for that."""
        try:
            super().print_columns(tuples)
        except ValueError:
            for name, text in tuples:
                print(f"{name}\n{text or ''}")


def several(words: list[str]) -> list[str]:
    """Return a command line with the option that it lacks in front of the second path and those after it."""
    option, place = SEVERAL.get("".join(words[1:2])), 2
    while option and place < len(words):
        paths = [word for word in words[2:place] if not word.startswith("-")]
        if paths and not words[place].startswith("-") and words[place - 1] != option:
            words.insert(place, option)
        place += 1
    return words


def usage(binary: str, context: Any) -> str:
    """Return how a command is called, `./kit verify PATH [options]`; what must be given comes first."""
    given = " ".join(argument.name.upper() for argument in context.positional_args)
    return " ".join(filter(None, [f"./{binary}", context.name, given, "[options]"]))


def _flushed(code: Any) -> Any:
    """Return the exit code once stdout is written; Python itself would complain on its way out, with code 120."""
    try:
        sys.stderr.flush()
    except OSError:  # nobody is there to be told
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    try:
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if isinstance(error, BrokenPipeError):
            return code or READER_GONE
        if not code:
            say(f"error: cannot write to stdout: {error.strerror}\n\nhint: send it where there is room")
        return code or 2
    return code


def _ended(number: int, _frame: object) -> None:
    """End on the first signal: what is half made is cleared away on the way out, undisturbed by the next one.

    A terminal that closes sends one, and the shell in it another; people press Ctrl-C twice.
    """
    for ending in STOPPING:
        signal.signal(ending, signal.SIG_IGN)
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + number)


def main(commands: ModuleType) -> None:
    """Run the command that was asked for among the tasks of a module."""
    try:
        standard_streams()
    except KitError as error:
        say(f"error: {error}")
        sys.exit(2)
    if sys.stderr is None:  # what Python leaves of a closed one
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 -- for as long as the program runs
    for number in STOPPING:
        if number == signal.SIGINT or signal.getsignal(number) is not signal.SIG_IGN:  # nohup's wish
            signal.signal(number, _ended)
    try:
        KitProgram(name="kit", binary="kit", namespace=Collection.from_module(commands), version=VERSION).run()
    except KeyboardInterrupt:  # before Invoke is at work, or after
        say(INTERRUPTED)
        sys.exit(128 + signal.SIGINT)
    finally:
        if signal.getsignal(signal.SIGINT) is _ended:
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # all is said: the interpreter's own end needs no words
