"""Measure a suite: `python3 -m benchmarks --suite smoke|quick|publish`. Records on stdout, progress on stderr.

Exit code 0: every case has figures or cannot run here; 1: something failed; 2: nothing could be measured.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import hashlib
import stat
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import cases, plan, running
from benchmarks.sampler import Sampler
from benchmarks.watching import ask
from schema.errors import KitError
from schema.records import End, exit_code
from schema.stream import claim_stdout, now, say
from validate import context
from validate.describe import assert_ours, start_record
from validate.entry_point import Signals, guarded
from validate.machine import Machine

if TYPE_CHECKING:
    from collections.abc import Iterator

NO_TORCH = "install PyTorch (`python3 -m validate` says which), or run this with a Python that has it"
LARGEST_CASE = 1 << 20  # bytes
DESCRIBE_S = 120  # seconds to import a case file, which may import torch


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    out = argparse.ArgumentParser(prog="python3 -m benchmarks", description=(__doc__ or "").splitlines()[0])
    out.add_argument("--suite", choices=sorted(plan.TIMING), default="smoke", help="how long and how often to measure")
    out.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="CASE",
        help="a case, or what its name begins with; repeat for more",
    )
    out.add_argument(
        "--case", default="", metavar="FILE.py", help="measure your own case instead (docs/guide/own-case.md)"
    )
    out.add_argument("--seed", default="0", help="seed of inputs and order (default 0)")
    out.add_argument(
        "--deadline", default="", metavar="SECONDS", help="kill a case after this time (default: the suite's)"
    )
    out.add_argument(
        "--lock", default="", metavar="FILE.json", help="the lock that this machine's software was made from"
    )
    out.add_argument("--list", action="store_true", help="print the suite's cases and end")
    return out


def main(argv: list[str] | None = None) -> int:
    """Run the command line; every error that a user can cause ends in a message, a hint and exit code 2."""
    return guarded(lambda signals: _run(parser().parse_args(argv), signals))


def _run(options: argparse.Namespace, signals: Signals) -> int:
    assert_ours()
    return _list(options) if options.list else _measure(options, signals)


def _list(options: argparse.Namespace) -> int:
    described = {item["case"]: item for case in cases.built_in() for item in cases.describe(case)}
    for size, names in cases.SUITES[options.suite].items():
        for name in plan.select(list(names), options.only):
            print(f"{size}  {name:30}  {described[name]['unit']:8}  {described[name]['title']}")
    return 0


def _measure(options: argparse.Namespace, signals: Signals) -> int:
    seed, deadline_s = _number("--seed", options.seed, whole=True), _number("--deadline", options.deadline or "0")
    timing = plan.TIMING[options.suite]
    file, sha256 = _file(options.case) if options.case else ("", "")
    origin = time.monotonic()
    with contextlib.closing(claim_stdout()) as writer:
        machine = Machine()
        lock = context.read_lock(machine, options.lock) if options.lock else None
        say("looking at the machine and its torch ...")
        start = start_record("results-1", machine, lock=lock)
        if start.torch.get("version") is None:
            raise KitError(f"torch cannot be imported: {start.torch.get('error', 'unknown')}", NO_TORCH)
        own = {"file": file, "file_sha256": sha256}
        items = _items(options, start.backend, own, signals, deadline_s or DESCRIBE_S)
        # A part of a suite is not the suite: nothing may take its figures for a whole run's.
        suite = "custom" if file or options.only else options.suite
        protocol = plan.protocol(suite, timing, int(seed), items, deadline_s)
        device = start.devices[0] if start.devices else {"name": "unknown", "pci": None}
        job = {"backend": start.backend, "device": device, "origin": origin, **own}
        with signals.noted(), contextlib.closing(Sampler(start.backend, device.get("pci"), origin)) as sampler:
            writer.write(dataclasses.replace(start, protocol=protocol))
            statuses = running.run(
                writer, protocol, job, sampler, signals, shared=timing.shared, cool_down_s=timing.cool_down_s
            )
            writer.write(End(now(), dict(writer.counts)))
    for hint in _hints(set(statuses.values()), Path(file).name):
        say(f"hint: {hint}")
    return exit_code(list(statuses.values()))


def _hints(statuses: set[str], own: str) -> Iterator[str]:
    """Yield what to do about the processes of these statuses; `own` is the name of the user's case file."""
    if "timeout" in statuses:
        yield "--deadline SECONDS gives a case more time"
    if own and statuses & {"failed", "invalid"}:
        yield f"mend {own} where the reasons above say; docs/guide/own-case.md has the rules"


def _items(
    options: argparse.Namespace, backend: str, own: dict[str, str], signals: Signals, deadline_s: float
) -> list[dict[str, Any]]:
    """Return what will be measured, as the protocol describes it."""
    if own["file"]:
        # In a child, because a user's file may print, hang or crash while it is imported.
        described: list[dict[str, Any]] = ask({"describe": True, **own}, signals, deadline_s)["cases"]
    else:
        names = cases.SUITES[options.suite][cases.SIZES[backend]]
        found = {item["case"]: item for case in cases.built_in() for item in cases.describe(case)}
        described = [found[name] for name in names]
    chosen = plan.select([item["case"] for item in described], options.only)
    return [item for item in described if item["case"] in chosen]


def _number(option: str, text: str, *, whole: bool = False) -> float:
    try:
        value = int(text) if whole else float(text)
    except ValueError:
        value = -1
    if not 0 <= value < float("inf"):
        raise KitError(
            f"{option} {text!r} is no {'whole ' if whole else ''}number from 0 up", f"for example {option} 60"
        )
    return value


def _file(name: str) -> tuple[str, str]:
    path = Path(name)
    hint = "name a Python file: --case FILE.py"
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode) or found.st_size > LARGEST_CASE:
            raise KitError(f"the case {name} is no regular file of at most {LARGEST_CASE} bytes", hint)
        return str(path.resolve()), hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise KitError(f"cannot read the case {name}: {error.strerror}", hint) from error


if __name__ == "__main__":
    sys.exit(main())
