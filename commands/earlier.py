"""What a run would replace, and was measured otherwise, is set aside: hours of measuring are not lost to a typo."""

from __future__ import annotations

import json
import os
import shutil
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from commands.program import say
from schema.records import MEASURED

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FOLDER = "earlier"


class Measured(NamedTuple):
    """What is in the results of a benchmark: suite, cases, when it began, and whether every process has a figure."""

    suite: str
    cases: tuple[str, ...]
    started_at: str
    good: bool

    def stands_for(self, other: Measured) -> bool:
        """Say whether nothing is lost when these results take the place of the others."""
        return not other.good or (self.good and (self.suite, self.cases) == (other.suite, other.cases))


def measured(path: Path) -> Measured | None:
    """Return what is in results; None where they cannot be read: then there is nothing to lose."""
    try:
        with path.open(encoding="utf-8") as lines:
            records = [json.loads(line) for line in lines if not line.startswith('{"kind":"sample"')]
        start = records[0]
        cases = tuple(str(case["case"]) for case in start["protocol"]["cases"])
        statuses = {record["status"] for record in records if record["kind"] == "process"}
    except (OSError, ValueError, LookupError, TypeError):
        return None
    good = bool(statuses) and statuses <= {status.value for status in MEASURED}
    return Measured(str(start["protocol"].get("suite")), cases, str(start.get("started_at")), good)


@contextmanager
def setting_aside(results: Path) -> Iterator[None]:
    """Let results be replaced meanwhile; what was there stays in `earlier/` where the new ones do not stand for it."""
    before = measured(results)
    if before is None:
        yield
        return
    name = "-".join((results.stem, _plain(before.suite), _plain(before.started_at))) + results.suffix
    aside = results.parent / FOLDER / name
    aside.parent.mkdir(exist_ok=True)
    with suppress(FileExistsError):
        _linked(results, aside)
    try:
        yield
    finally:
        after = measured(results)
        if after is None or after == before or after.stands_for(before):
            aside.unlink(missing_ok=True)
            with suppress(OSError):
                aside.parent.rmdir()  # unless there is more in it
        else:
            say(f"the results of {before.started_at} (suite {before.suite}) are kept in {aside}")


def _plain(text: str) -> str:
    """Return what of a text may stand in the name of a file."""
    return "".join(char for char in text if char.isascii() and char.isalnum())[:40]


def _linked(path: Path, name: Path) -> None:
    """Give a file a second name; a copy where the file system has no such thing."""
    try:
        os.link(path, name)
    except FileExistsError:
        raise
    except OSError:
        shutil.copy2(path, name)
