"""Run `validate` or `benchmarks` where the user wants it, in the image of a lock or on this host; keep the records."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from commands.chosen import HOST, Chosen, Which, choose
from commands.earlier import setting_aside
from commands.files import alone_in, read, write
from commands.image import built, engine_door, image_kept
from commands.program import say
from schema.errors import KitError
from schema.stream import say as tell

if TYPE_CHECKING:
    from images.engine import Engine

RECORDS = {"validate": "report.jsonl", "benchmarks": "results.jsonl"}
DEADLINE_S = {"validate": 600, "benchmarks": 24 * 3600}  # each case has a deadline of its own
Records = list[dict[str, Any]]


class Where(NamedTuple):
    """What a run takes place in.

    Options:
        runtime: container, or host, which is a Python of this machine and its torch, no image
        python: the Python for --runtime host; default: python3
    """

    runtime: str = "container"
    python: str = ""


class Ran(NamedTuple):
    """The records of a run and the folder that they are in."""

    records: Records
    out: Path


def run_anywhere(module: str, argv: list[str], which: Which, where: Where, case: str = "") -> Ran:
    """Run a module in the image of the lock that was asked for, or on this host."""
    if where.runtime == "host":
        with alone_in(HOST):
            return Ran(_run_here(module, argv, where.python, case), HOST)
    if where.runtime != "container":
        raise KitError(f"there is no runtime {where.runtime!r}", "--runtime container, or --runtime host")
    chosen, engine = choose(which), engine_door()
    with alone_in(chosen.out):
        return Ran(run(chosen, built(chosen, engine), engine, module, argv, case), chosen.out)


def run(  # noqa: PLR0917 -- who, where, what: in the order of a sentence
    chosen: Chosen, image: dict[str, Any], engine: Engine, module: str, argv: list[str], case: str = ""
) -> Records:
    """Run a module in the image, show its records as they come, and return them."""
    from bundle.console import Console
    from images.running import stream

    with setting_aside(chosen.out / RECORDS[module]):
        return stream(
            engine,
            image,
            chosen.lock,
            module,
            argv + (["--case", f"/kit/case/{Path(case).name}"] if case else []),
            backend=chosen.backend,
            out_path=chosen.out / RECORDS[module],
            on_record=Console(tell, colour=sys.stderr.isatty()).record,
            on_stderr=say,
            extra={Path(case).name: read(case)} if case else None,
            deadline_s=DEADLINE_S[module],
        )


def _run_here(module: str, argv: list[str], python: str, case: str) -> Records:
    """Run a module with a Python of this host and its torch, without an image."""
    from bundle.console import Console
    from images.hostpython import stream

    with setting_aside(HOST / RECORDS[module]):
        return stream(
            module,
            argv + (["--case", str(Path(case).resolve())] if case else []),
            python=python or "python3",
            out_path=HOST / RECORDS[module],
            on_record=Console(tell, colour=sys.stderr.isatty()).record,
            on_stderr=say,
            deadline_s=DEADLINE_S[module],
        )


def command_line(module: str, argv: list[str], which: Which, where: Where, case: str = "") -> str:
    """Return the `docker run` line of a run, with its cargo written beside the other outputs; nothing is built."""
    from images.access import access
    from images.cargo import pack
    from images.lines import docker_run_line
    from images.running import context_of

    if where.runtime != "container":
        raise KitError("a run on the host has no container's command line", f"python3 -m {module} {' '.join(argv)}")
    chosen, engine = choose(which), engine_door()
    image = image_kept(chosen, engine)
    if not image:
        raise KitError("the image is not built yet", f"./kit build --lock {chosen.lock.name}")
    inside = [f"/kit/case/{Path(case).name}"] if case else []
    extra = {Path(case).name: read(case)} if case else None
    cargo, _ = pack(chosen.lock.document, context_of(image, chosen.lock, chosen.backend), extra)
    write(chosen.out / "cargo.tar", cargo)
    say(f"what the container reads from its stdin is in {chosen.out / 'cargo.tar'}, and stays there")
    return docker_run_line(
        access(chosen.backend, engine.about()),
        image["engine_id"],
        ["python3", "-m", module, *argv, *(["--case", *inside] if case else [])],
        cargo=chosen.out / "cargo.tar",
    )


def checked(suite: str, case: str = "", only: str = "") -> None:
    """Refuse what can be known to be wrong before anything is built, or waited for."""
    from benchmarks import cases, plan

    if suite not in plan.TIMING:
        raise KitError(f"there is no suite {suite!r}", f"--suite, one of: {', '.join(plan.TIMING)}")
    if case:
        try:
            compile(read(case), case, "exec", dont_inherit=True)  # nothing of it is run here
        except (SyntaxError, ValueError) as error:
            line = getattr(error, "lineno", None) or 1
            raise KitError(f"{case}:{line}: {error}", "mend that line: it is no Python") from error
    elif only:
        names = dict.fromkeys(name for names in cases.SUITES[suite].values() for name in names)
        plan.select(list(names), [only])


def summarized(records: Records, out: Path) -> dict[str, Any]:
    """Return the statistics of a benchmark run, and leave them beside its records."""
    from benchmarks.summary import from_records
    from schema.canon import dumps

    summary = from_records(records)
    write(out / "summary.json", dumps(summary) + b"\n")
    return summary


def statuses(records: Records) -> list[str]:
    """Return how the findings or processes among the records ended."""
    return [record["status"] for record in records if "status" in record]
