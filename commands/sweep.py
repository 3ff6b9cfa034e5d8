"""One suite over several locks: each built or kept and validated first, then measured; one table of them all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from commands.chosen import OUT, Chosen, Which, choose
from commands.files import alone_in, write
from commands.image import built
from commands.program import say
from commands.reproduce import kept_records
from commands.runs import RECORDS, run, statuses, summarized
from schema.errors import KitError
from schema.records import exit_code

if TYPE_CHECKING:
    from pathlib import Path

    from images.access import Access
    from images.device import Device
    from images.engine import Engine

TABLE = "table.md"


class Swept(NamedTuple):
    """The document, the file of the table, and the exit code."""

    document: dict[str, Any]
    table: Path
    code: int


class Column(NamedTuple):
    """One lock of the sweep, as far as it came: without a summary it was not measured."""

    about: dict[str, Any]
    summary: dict[str, Any] | None
    code: int


def sweep(names: str, suite: str, only: str, engine: Engine, device: Device) -> Swept:
    """Measure a suite on each lock in turn and compare; what an earlier sweep left and still holds is kept."""
    from bundle.sweep import compare, report
    from images.access import access
    from schema.canon import dumps

    locks = chosen(names)
    granted = {lock.lock.name: access(lock.backend, engine.about(), device) for lock in locks}
    place = OUT / "sweep" / (f"{suite}-{only}" if only else suite)
    say(f"order: {', '.join(granted)}, one after the other")
    columns = [_column(lock, engine, granted[lock.lock.name], suite, only, place) for lock in locks]
    summaries = {column.about["lock"]: column.summary for column in columns if column.summary}
    document = {
        "suite": suite,
        "only": only or None,
        "first": next(iter(summaries), None),
        "locks": [column.about for column in columns],
        "cases": compare(summaries) if summaries else [],
    }
    with alone_in(place):
        write(place / "sweep.json", dumps(document) + b"\n")
        write(place / TABLE, report(document).encode())
    return Swept(document, place / TABLE, max(column.code for column in columns))


def chosen(names: str) -> list[Chosen]:
    """Return the locks of a list; KitError unless there are two or more, each under a name of its own."""
    wanted = [name.strip() for name in names.split(",")]
    if len(wanted) < 2 or not all(wanted):
        raise KitError(
            f"--locks {names!r} are not several locks", "list them with commas: --locks A,B; ./kit pins shows names"
        )
    found = [choose(Which(lock=name)) for name in wanted]
    called = [one.lock.name for one in found]
    if twice := next((name for name in called if called.count(name) > 1), None):
        raise KitError(f"two of the locks are called {twice}", "name each lock once; give another lock another name")
    return found


def _column(  # noqa: PLR0917 -- of what, where, with what, how much, to where
    lock: Chosen, engine: Engine, granted: Access, suite: str, only: str, place: Path
) -> Column:
    """Build, validate and measure one lock, each only where it is not there or no longer true."""
    from bundle.console import counted

    say(f"lock: {lock.lock.name}")
    with alone_in(lock.out, place / lock.lock.name):
        image = built(lock, engine)
        report = kept_records(lock, image, granted) or run(lock, image, engine, "validate", [], granted)
        findings = [record for record in report if record["kind"] == "finding"]
        about = {
            "lock": lock.lock.name,
            "lock_sha256": lock.lock.sha256,
            "image_id": image["image_id"],
            "backend": lock.backend,
            "device": None,
            "started_at": None,
            "said": counted(findings),
        }
        if code := exit_code(statuses(report)):
            say(f"{lock.lock.name} is not measured: it did not validate")
            return Column(about, None, code)
        results = place / lock.lock.name / RECORDS["benchmarks"]
        argv = ["--suite", suite, *(["--only", only] if only else [])]
        records = kept_records(lock, image, granted, results, "custom" if only else suite)
        records = records or run(lock, image, engine, "benchmarks", argv, granted, out_path=results)
        summary = summarized(records, results.parent)
    about |= {"device": summary["device"], "started_at": records[0]["started_at"]}
    return Column(about, summary, exit_code(statuses(records)))
