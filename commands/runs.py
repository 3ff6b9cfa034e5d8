"""Run `validate` or `benchmarks` where the user wants it, in the image of a lock or on this host; keep the records."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from commands.chosen import HOST, Chosen, Which, choose
from commands.earlier import setting_aside
from commands.files import alone_in, read, write
from commands.image import ENGINES, built, engine_door, image_kept
from commands.program import say
from schema.errors import KitError
from schema.stream import say as tell

if TYPE_CHECKING:
    from images.access import Access
    from images.device import Device
    from images.engine import Engine

RECORDS = {"validate": "report.jsonl", "benchmarks": "results.jsonl"}
DEADLINE_S = {"validate": 600, "benchmarks": 24 * 3600}  # each case has a deadline of its own
RUNTIMES = (*ENGINES, "apptainer", "host")
Records = list[dict[str, Any]]


class Where(NamedTuple):
    """What a run takes place in.

    Options:
        runtime: container (any engine), docker, podman, apptainer (--dry-run), or host: this machine's Python, no image
        python: the Python for --runtime host; default: python3
    """

    runtime: str = "container"
    python: str = ""


class Ran(NamedTuple):
    """The records of a run and the folder that they are in."""

    records: Records
    out: Path


def run_anywhere(  # noqa: PLR0917 -- what, of which, where, with what: in the order of a sentence
    module: str, argv: list[str], which: Which, where: Where, device: Device, case: str = ""
) -> Ran:
    """Run a module in the image of the lock that was asked for, or on this host."""
    from images.access import access

    _known(where.runtime)
    if where.runtime == "host":
        if any(device):
            raise KitError("--gpus, --memory, --shm and --user are for containers", "set HIP_VISIBLE_DEVICES instead")
        with alone_in(HOST):
            return Ran(_run_here(module, argv, where.python, case), HOST)
    if where.runtime == "apptainer":
        raise KitError("Apptainer runs where the GPUs are, not from here", "add --dry-run: it prints the command line")
    engine, chosen = engine_door(where.runtime), choose(which)
    granted = access(chosen.backend, engine.about(), device)  # first: nobody waits for an image to learn of a slip
    with alone_in(chosen.out):
        return Ran(run(chosen, built(chosen, engine), engine, module, argv, granted, case), chosen.out)


def run(  # noqa: PLR0917 -- who, where, what, with what: in the order of a sentence
    chosen: Chosen,
    image: dict[str, Any],
    engine: Engine,
    module: str,
    argv: list[str],
    granted: Access,
    case: str = "",
    *,
    out_path: Path | None = None,
) -> Records:
    """Run a module in the image, show its records as they come, and return them; they lie in the lock's own folder."""
    from bundle.console import Console
    from images.running import stream

    path = out_path or chosen.out / RECORDS[module]
    with setting_aside(path):
        return stream(
            engine,
            image,
            chosen.lock,
            module,
            argv + own(case),
            backend=chosen.backend,
            out_path=path,
            granted=granted,
            on_record=Console(tell, colour=sys.stderr.isatty()).record,
            on_stderr=say,
            extra=_extra(case),
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


def command_line(module: str, argv: list[str], which: Which, where: Where, device: Device, case: str = "") -> str:  # noqa: PLR0917 -- as `run_anywhere`
    """Return the line of a run for the engine's client, with its cargo beside the other outputs; nothing is built."""
    from images.access import access
    from images.lines import docker_run_line

    _known(where.runtime)
    if where.runtime == "apptainer":
        from commands.cluster import apptainer

        return apptainer(module, argv, which, device, case)
    if where.runtime == "host":
        raise KitError("a run on the host has no container's command line", f"python3 -m {module} {' '.join(argv)}")
    engine, chosen = engine_door(where.runtime), choose(which)
    image = image_kept(chosen, engine)
    if not image:
        raise KitError("the image is not built yet", f"./kit build --lock {chosen.lock.name}")
    granted = access(chosen.backend, engine.about(), device)
    for note in granted.devices.notes:
        say(note)
    cargo = packed(chosen, image, chosen.backend, case)
    return docker_run_line(granted, image["engine_id"], ["python3", "-m", module, *argv, *own(case)], cargo=cargo)


def _known(runtime: str) -> None:
    if runtime not in RUNTIMES:
        raise KitError(f"there is no runtime {runtime!r}", f"--runtime, one of: {', '.join(RUNTIMES)}")


def packed(chosen: Chosen, image: dict[str, Any], backend: str, case: str) -> Path:
    """Write what a container that somebody starts by hand reads from its stdin beside the other outputs."""
    from images.cargo import pack
    from images.running import context_of

    place = chosen.out / "cargo.tar"
    data, _ = pack(chosen.lock.document, context_of(image, chosen.lock, backend), _extra(case))
    write(place, data)
    say(f"what the container reads from its stdin is in {place}, and stays there")
    return place


def own(case: str) -> list[str]:
    """Return the arguments that name a case of the user's own, as it lies in the container."""
    return ["--case", f"/kit/case/{Path(case).name}"] if case else []


def _extra(case: str) -> dict[str, bytes] | None:
    return {Path(case).name: read(case)} if case else None


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
