"""`python3 -m validate`: run the checks, one record a line on stdout; whatever else is printed goes to stderr."""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import sys

from schema.records import exit_code
from schema.stream import claim_stdout, say
from validate import checking, context
from validate.checks import CHECKS
from validate.entry_point import guarded
from validate.machine import Machine

DEADLINE_S = 540  # the host ends a silent container at ten minutes; the stacks must be out before


def main(argv: list[str] | None = None) -> int:
    """Return 0 all well, 1 something failed, 2 could not run or nothing applied."""
    return guarded(lambda _: _validate(argv))


def _validate(argv: list[str] | None) -> int:
    names = [checking.name_of(check) for check in CHECKS]
    parser = argparse.ArgumentParser("python3 -m validate", description=__doc__)
    parser.add_argument("--lock", default="", metavar="FILE.json", help="the lock to hold this machine against")
    parser.add_argument("--only", action="append", choices=names, help="run one check; may be given again")
    parser.add_argument("--list", action="store_true", help="list the checks and their questions")
    parser.add_argument("--quiet", action="store_true", help="do not tell the findings on stderr too")
    options = parser.parse_args(argv)
    if options.list:
        for check in CHECKS:
            print(f"{checking.name_of(check):14} {checking.question_of(check)}")
        return 0
    selected = [check for check in CHECKS if not options.only or checking.name_of(check) in options.only]
    with contextlib.closing(claim_stdout()) as writer:
        faulthandler.enable(file=2)  # which is there even when sys.stderr is not
        faulthandler.dump_traceback_later(DEADLINE_S, file=2)
        try:
            machine = Machine()
            lock = context.read_lock(machine, options.lock)
            # The host that started a container tells its findings itself.
            quiet = options.quiet or context.load(machine)["runtime"] != "host"
            return exit_code(
                checking.run_checks(machine, lock, writer, selected, tell=(lambda _: None) if quiet else say)
            )
        finally:
            faulthandler.cancel_dump_traceback_later()


if __name__ == "__main__":
    sys.exit(main())
