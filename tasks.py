"""The commands. Each loads what it needs, calls, prints, and exits; nothing heavy is imported before it is used.

stdout carries data (a path, a table, one JSON document with `--json`), stderr carries progress.
Exit codes: 0 all well; 1 something failed or does not hold; 2 could not run, or refused.
"""

from __future__ import annotations

import functools
import inspect
import os
import re
import signal
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from invoke.collection import Collection
from invoke.exceptions import Exit, ParseError
from invoke.program import Program
from invoke.tasks import task

from schema import VERSION
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from images.engine import Engine
    from pins.host import Host
    from pins.lock import Lock
    from pins.store import Store

ROOT = Path(__file__).resolve().parent
OUT = Path(os.environ.get("KIT_OUT") or ROOT / "out")
RECORDS = {"validate": "report.jsonl", "benchmarks": "results.jsonl"}
DEADLINE_S = {"validate": 600, "benchmarks": 24 * 3600}  # each case has a deadline of its own
SHARED = {  # options that mean the same wherever they stand
    "rocm": "ROCm version, e.g. 5.7",
    "channel": "amd, debian, wheel or cuda",
    "lock": "name or file of a lock",
    "json": "print one JSON document",
}
Records = list[dict[str, Any]]


def say(text: str) -> None:
    """Tell a person how it goes; never data."""
    print(text, file=sys.stderr, flush=True)


def show(document: Any) -> None:
    """Print one JSON document on stdout."""
    from schema.documents import show as write

    write(document)


def leave(code: int) -> None:
    """End the command with this exit code."""
    if code:
        raise Exit(code=code)


def command(body: Callable[..., None]) -> Any:
    """Make a task of a function: help from its docstring, a KitError as message and hint with exit code 2."""
    summary, _, options = (body.__doc__ or "").partition("\n\n    Options:\n")
    described = SHARED | dict(re.findall(r"^ {8}(\w+): (.+)$", options, re.MULTILINE))

    @functools.wraps(body)
    def guarded(*args: Any, **kwargs: Any) -> None:
        try:
            body(*args, **kwargs)
        except KitError as error:
            raise Exit(f"error: {error}", code=2) from error
        except KeyboardInterrupt as error:
            raise Exit("interrupted; what was finished is kept: run the same command again", code=130) from error
        except BrokenPipeError:
            raise  # KitProgram's
        except Exit:
            raise
        except OSError as error:
            if os.environ.get("KIT_DEBUG"):
                raise
            hint = "make room on the disk, or look at what the message names"
            raise Exit(f"error: {error}\n\nhint: {hint}", code=2) from error
        except Exception as error:
            if os.environ.get("KIT_DEBUG"):
                raise
            raise Exit(
                f"error: a fault in the kit itself: {type(error).__name__}: {error}\n\n"
                "hint: run it again with KIT_DEBUG=1 and report what it prints",
                code=2,
            ) from error

    guarded.__doc__ = summary
    own = inspect.signature(body).parameters
    described = {name.replace("_", "-"): text for name, text in described.items() if name in own}
    return task(guarded, auto_shortflags=False, help=described)


# What several commands share ------------------------------------------------------------------------------------------


class Asked(NamedTuple):
    """What the user asked a run to be: which lock, where, with which case of their own."""

    rocm: str = ""
    channel: str = ""
    lock: str = ""
    runtime: str = "container"
    python: str = ""
    case: str = ""


@dataclass(frozen=True)
class Chosen:
    """The lock that a command works on, what this machine has, and where outputs go."""

    lock: Lock
    host: Host
    out: Path

    @functools.cached_property
    def backend(self) -> str:
        """What computes with this lock on this machine; said, with the reason, when it is first asked for."""
        from images.doctor import explain_backend

        backend, reason = explain_backend(self.host, self.lock)
        say(f"backend: {backend} ({reason})")
        return backend


class Ran(NamedTuple):
    """The records of a run and the folder that they are in."""

    records: Records
    out: Path


def choose(rocm: str, channel: str, lock: str) -> Chosen:
    """Find the lock, say which and why."""
    from pins.choice import find
    from pins.host import look

    host = look()
    choice = find(host, rocm=rocm, channel=channel, lock=lock)
    say(f"lock: {choice.lock.name} ({choice.reason})")
    return Chosen(choice.lock, host, OUT / choice.lock.name)


def engine_door() -> Engine:
    """Return the engine that answers, or say in one line what is missing."""
    from images.engine import connect

    return connect()


def fetched(lock: Lock) -> Store:
    """Have every input of the lock in the store, and return the store."""
    from pins.fetch import fetch as get
    from pins.store import Store

    store = Store()
    get(lock, store)
    return store


def image_kept(chosen: Chosen, engine: Engine) -> dict[str, Any] | None:
    """Return the image record if record, lock and the engine's image agree, and say when it was built."""
    from images.build import kept

    image = kept(chosen.lock, engine, chosen.out, tell=say)
    if image:
        say(f"image: kept (built {image['built_at']})")
    return image


def built(chosen: Chosen, engine: Engine) -> dict[str, Any]:
    """Return the image record; build only what is not there or no longer true."""
    from images.build import build as make

    return image_kept(chosen, engine) or make(chosen.lock, engine, fetched(chosen.lock), out=chosen.out)


def rebuilt(document: dict[str, Any], *, yes: bool) -> dict[str, Any]:
    """Build the image of a lock that came in a bundle; one that is not ours only when the user said yes."""
    from images import build as builder
    from pins.lock import from_document, load_all

    lock = from_document(document)
    if not yes and lock.sha256 not in {known.sha256 for known in load_all()}:
        say(builder.describe(builder.plan(lock)))
        raise KitError(
            f"the bundle's lock {lock.name} is not one of this checkout; building it runs its packages' scripts "
            "(in a container, without network)",
            "look at its inputs above, then add --yes",
        )
    return builder.build(
        lock, engine_door(), fetched(lock), out=OUT / "rebuilt" / lock.name, force=True, suffix="-rebuilt"
    )


def run(chosen: Chosen, image: dict[str, Any], engine: Engine, module: str, argv: list[str], case: str = "") -> Records:
    """Run `validate` or `benchmarks` in the image, show its records as they come, and return them."""
    from bundle.console import Console
    from images.running import stream

    return stream(
        engine,
        image,
        chosen.lock,
        module,
        argv + (["--case", f"/kit/case/{Path(case).name}"] if case else []),
        backend=chosen.backend,
        out_path=chosen.out / RECORDS[module],
        on_record=Console(sys.stderr).record,
        on_stderr=say,
        extra={Path(case).name: read(case)} if case else None,
        deadline_s=DEADLINE_S[module],
    )


def kept(chosen: Chosen, image: dict[str, Any], module: str, suite: str = "") -> Records | None:
    """Return the records of an earlier run if all that they stand on is still the same, and say when that was."""
    from bundle import kept as keeping
    from schema.sources import digest

    expected = {
        "image_id": image["image_id"],
        "lock_sha256": chosen.lock.sha256,
        "cargo_sha256": digest(),
        "backend": chosen.backend,
        "host": {"kernel": os.uname().release},
    }
    records = keeping.kept(chosen.out / RECORDS[module], expected, suite=suite)
    if records:
        say(f"{module}: kept (from {records[0]['started_at']})")
    return records


def run_here(module: str, argv: list[str], python: str, case: str) -> Records:
    """Run `validate` or `benchmarks` with a Python of this host and its torch, without an image."""
    from bundle.console import Console
    from images.hostpython import stream

    return stream(
        module,
        argv + (["--case", str(Path(case).resolve())] if case else []),
        python=python or "python3",
        out_path=OUT / "host" / RECORDS[module],
        on_record=Console(sys.stderr).record,
        on_stderr=say,
        deadline_s=DEADLINE_S[module],
    )


def checked(suite: str, case: str) -> None:
    """Refuse what can be known to be wrong before anything is built."""
    from benchmarks.plan import TIMING

    if suite not in TIMING:
        raise KitError(f"there is no suite {suite!r}", f"--suite, one of: {', '.join(TIMING)}")
    if case:
        read(case)


def run_anywhere(module: str, argv: list[str], asked: Asked) -> Ran:
    """Run a module where the user wants it: in the image of the lock that was asked for, or on this host."""
    if asked.runtime == "host":
        return Ran(run_here(module, argv, asked.python, asked.case), OUT / "host")
    if asked.runtime != "container":
        raise KitError(f"there is no runtime {asked.runtime!r}", "--runtime container, or --runtime host")
    chosen, engine = choose(*asked[:3]), engine_door()
    return Ran(run(chosen, built(chosen, engine), engine, module, argv, asked.case), chosen.out)


def command_line(module: str, argv: list[str], asked: Asked) -> str:
    """Return the `docker run` line of a run, with its cargo written beside the other outputs; nothing is built."""
    from images.access import access, docker_run_line
    from images.cargo import pack
    from images.running import context_of

    if asked.runtime != "container":
        raise KitError("a run on the host has no container's command line", f"python3 -m {module} {' '.join(argv)}")
    chosen, engine = choose(*asked[:3]), engine_door()
    image = image_kept(chosen, engine)
    if not image:
        raise KitError("the image is not built yet", f"./kit build --lock {chosen.lock.name}")
    case = [f"/kit/case/{Path(asked.case).name}"] if asked.case else []
    extra = {Path(asked.case).name: read(asked.case)} if case else None
    cargo, _ = pack(chosen.lock.document, context_of(image, chosen.lock, chosen.backend), extra)
    write(chosen.out / "cargo.tar", cargo)
    return docker_run_line(
        access(chosen.backend, engine.about()),
        image["engine_id"],
        ["python3", "-m", module, *argv, *(["--case", *case] if case else [])],
        cargo=chosen.out / "cargo.tar",
    )


def summarized(records: Records, out: Path) -> dict[str, Any]:
    """Return the statistics of a benchmark run, and leave them beside its records."""
    from benchmarks.summary import from_records
    from schema.canon import dumps

    summary = from_records(records)
    write(out / "summary.json", dumps(summary) + b"\n")
    return summary


def sealed_and_verified(chosen: Chosen, image: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the bundle's path and verdict; the bundle that is there is kept if it verifies and holds these records."""
    from bundle.kept import holds
    from bundle.seal import seal
    from bundle.verify import verify as judge

    path, records = chosen.out / "bundle", [chosen.out / name for name in RECORDS.values()]
    verdict = attempt(lambda: judge(path)) if path.exists() else None
    if isinstance(verdict, dict) and verdict["verdict"] == "CONFIRMED" and holds(path, *records, image=image):
        say("bundle: kept (verified again)")
        return str(path), verdict
    sealed = seal(*records, image=image, lock=chosen.lock.document, out=chosen.out)
    return sealed["path"], judge(path)


def statuses(records: Records) -> list[str]:
    """Return how the findings or processes among the records ended."""
    return [record["status"] for record in records if "status" in record]


def attempt(call: Callable[[], Any]) -> Any:
    """Return what `call` returns, or the KitError that it raises."""
    try:
        return call()
    except KitError as error:
        return error


def write(path: Path, data: bytes) -> None:
    """Write an output whole, or not at all."""
    from pins.store import replacing

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as file:
            file.write(data)
    except OSError as error:
        raise KitError(f"cannot write {path}: {error.strerror}", "make room there, or set KIT_OUT") from error


def read(name: str) -> bytes:
    """Return a file that the user named."""
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise KitError(
            f"cannot read {name}: {error.strerror}", "name a file that is there and yours to read"
        ) from error


# The commands ---------------------------------------------------------------------------------------------------------


@command
def doctor(_c: Any, rocm: str = "", channel: str = "", lock: str = "", json: bool = False) -> None:
    """Say what this machine can do, which lock would be used here and why, and what to change."""
    from bundle.console import Console
    from images.doctor import look
    from images.engine import connect
    from pins.choice import find
    from pins.host import look as look_at_host
    from schema.records import exit_code

    findings = look(
        attempt(connect), attempt(lambda: find(look_at_host(), rocm=rocm, channel=channel, lock=lock)), checkout=OUT
    )
    if json:
        show(findings)
    else:
        shown = Console(sys.stdout)
        for finding in findings:
            shown.finding(finding)
    leave(exit_code(statuses(findings)))


@command
def demo(_c: Any) -> None:
    """Verify the small bundle that ships with the kit, and see one changed byte caught; no engine, no GPU."""
    from bundle.console import verdict_lines
    from bundle.demo import demo as run

    shown = run()
    print(verdict_lines(shown["verdict"]))
    print(f"\none byte of {shown['changed']} changed in a copy:\n")
    print(verdict_lines(shown["caught"]))
    print(f"\nits report: {shown['report']}")
    leave(0 if (shown["verdict"]["verdict"], shown["caught"]["verdict"]) == ("CONFIRMED", "CONTRADICTED") else 1)


@command
def lock(_c: Any, pin: str = "", out: str = "") -> None:
    """Resolve a pin into a lock: every package by sha256.

    Options:
        pin: name or file of a pin
        out: folder for the lock; default: beside the pins
    """
    from pins.lock import PINS
    from pins.resolve import resolve

    path = Path(pin) if pin.endswith(".yaml") else PINS / f"{pin}.pin.yaml"
    if not path.is_file():
        named = ", ".join(sorted(path.name.removesuffix(".pin.yaml") for path in PINS.glob("*.pin.yaml")))
        raise KitError(f"there is no pin {pin!r}", f"./kit lock --pin NAME, with a file or one of: {named}")
    print(resolve(path, Path(out) if out else PINS))


@command
def fetch(_c: Any, rocm: str = "", channel: str = "", lock: str = "", json: bool = False) -> None:
    """Download every input of a lock into the store, each byte verified; an interrupted fetch goes on where it was."""
    from dataclasses import asdict

    from pins.fetch import fetch as get
    from pins.store import Store

    got = get(choose(rocm, channel, lock).lock, Store())
    if json:
        show(asdict(got))
    else:
        print(f"{got.files} files, {got.bytes} bytes, all verified; {got.downloaded_bytes} bytes were downloaded")
        if got.note:
            print(got.note)


@command
def mirror(_c: Any, folder: str, rocm: str = "", channel: str = "", lock: str = "") -> None:
    """Copy every input of a lock into a folder, from which `KIT_SOURCE=FOLDER` builds when the archives have moved on.

    Options:
        folder: where to
    """
    from pins.mirror import mirror as copy

    chosen = choose(rocm, channel, lock)
    copy(chosen.lock, fetched(chosen.lock), Path(folder))
    print(folder)


@command
def build(
    _c: Any,
    rocm: str = "",
    channel: str = "",
    lock: str = "",
    check: bool = False,
    force: bool = False,
    dry_run: bool = False,
    dockerfile: str = "",
    json: bool = False,
) -> None:
    """Build the image of a lock, the same bytes on every machine, and record its SHA256s.

    Options:
        check: build twice, in different surroundings, and compare file by file
        force: build again, whatever is there
        dry_run: show lock, inputs, sizes and steps; build nothing
        dockerfile: another recipe than images/Dockerfile, e.g. to see `--check` catch it
    """
    from bundle.console import image_lines
    from images import build as builder

    chosen = choose(rocm, channel, lock)
    if dry_run:
        plan = builder.plan(chosen.lock)
        show(plan) if json else print(builder.describe(plan))
        return
    engine, recipe = engine_door(), Path(dockerfile) if dockerfile else builder.DOCKERFILE
    there = None if check or force or dockerfile else image_kept(chosen, engine)
    make = builder.check if check else functools.partial(builder.build, force=force)
    image = there or make(chosen.lock, engine, fetched(chosen.lock), out=chosen.out, dockerfile=recipe)
    answer = builder.answer(image, built=not there)
    show(answer) if json else print(image_lines(answer))
    leave(builder.exit_code(image))


@command
def validate(
    _c: Any,
    rocm: str = "",
    channel: str = "",
    lock: str = "",
    runtime: str = "container",
    python: str = "",
    dry_run: bool = False,
    json: bool = False,
) -> None:
    """Prove that the image does, on this machine, what its lock says.

    Options:
        runtime: container, or host: a Python of this machine and its torch, no image
        python: the Python for --runtime host; default: python3
        dry_run: print the container's command line; run nothing
        json: print the report as one JSON document
    """
    from bundle.console import counted
    from bundle.junit import junit
    from schema.records import exit_code
    from schema.stream import report_document

    asked = Asked(rocm, channel, lock, runtime, python)
    if dry_run:
        line = command_line("validate", [], asked)
        show({"command": line}) if json else print(line)
        return
    ran = run_anywhere("validate", [], asked)
    report = report_document(ran.records)
    write(ran.out / "junit.xml", junit(report).encode())
    show(report) if json else print(f"{counted(report['findings'])}: {ran.out / RECORDS['validate']}")
    leave(exit_code(statuses(ran.records)))


@command
def benchmark(
    _c: Any,
    rocm: str = "",
    channel: str = "",
    lock: str = "",
    suite: str = "quick",
    case: str = "",
    only: str = "",
    runtime: str = "container",
    python: str = "",
    dry_run: bool = False,
    json: bool = False,
) -> None:
    """Measure speed in fresh processes, with intervals that hold, each result proved correct first.

    Options:
        suite: smoke (minutes, shows that all works), quick (a look), publish (for a model card)
        case: your own case, a Python file
        only: one case, or what its name begins with
        runtime: container, or host: a Python of this machine and its torch, no image
        python: the Python for --runtime host; default: python3
        dry_run: print the container's command line; run nothing
        json: print the summary as one JSON document
    """
    from bundle.console import table
    from schema.records import exit_code

    checked(suite, case)
    argv = ["--suite", suite, *(["--only", only] if only else [])]
    asked = Asked(rocm, channel, lock, runtime, python, case)
    if dry_run:
        line = command_line("benchmarks", argv, asked)
        show({"command": line}) if json else print(line)
        return
    ran = run_anywhere("benchmarks", argv, asked)
    summary = summarized(ran.records, ran.out)
    show(summary) if json else print(f"{table(summary)}\n{ran.out / RECORDS['benchmarks']}")
    leave(exit_code(statuses(ran.records)))


@command
def bundle(
    _c: Any,
    rocm: str = "",
    channel: str = "",
    lock: str = "",
    report: str = "",
    results: str = "",
    case: str = "",
    out: str = "",
    json: bool = False,
) -> None:
    """Seal lock, image, report and results into a bundle that anyone can verify.

    Options:
        report: records of a validation made elsewhere (`python3 -m validate > FILE`)
        results: records of a benchmark made elsewhere (`python3 -m benchmarks > FILE`)
        case: the case file that was measured, if it was your own
        out: folder for the bundle
    """
    from bundle.seal import seal
    from images.record import read as image_record

    own_case = Path(case) if case else None
    if report or results:
        paths = [Path(name) if name else None for name in (report, results)]
        document = choose("", "", lock).lock.document if lock else None
        sealed = seal(*paths, image=None, lock=document, out=Path(out) if out else OUT / "host", case=own_case)
    else:
        chosen = choose(rocm, channel, lock)
        sealed = seal(
            *(chosen.out / name for name in RECORDS.values()),
            image=image_record(chosen.out / "image.json"),
            lock=chosen.lock.document,
            out=Path(out) if out else chosen.out,
            case=own_case,
        )
    show({key: sealed[key] for key in ("path", "bundle_hash", "content_hash")}) if json else print(sealed["path"])


@command
def verify(_c: Any, path: str, rebuild: bool = False, yes: bool = False, json: bool = False) -> None:
    """Verify a bundle, a folder or a .tar, without a GPU: every byte, every statistic, every finding.

    Options:
        path: the bundle
        rebuild: also build its image again from its lock, and compare
        yes: rebuild even from a lock that is not one of ours (its packages' scripts run, without network)
        json: print the verdict as one JSON document
    """
    from bundle.console import verdict_lines
    from bundle.verify import verify as judge

    verdict = judge(Path(path), rebuild=(lambda document: rebuilt(document, yes=yes)) if rebuild else None)
    show(verdict) if json else print(verdict_lines(verdict))
    leave(0 if verdict["verdict"] == "CONFIRMED" else 1)


@command
def card(_c: Any, card: str, bundle: str, allow_cpu: bool = False, allow_quick: bool = False) -> None:
    """Insert the section of a verified bundle into a model card, between markers; all else stays byte for byte.

    Options:
        card: the model card, e.g. README.md
        bundle: the bundle
        allow_cpu: also insert what is not a GPU result
        allow_quick: also insert figures of fewer than five processes
    """
    from bundle.card import put

    done = put(Path(bundle), Path(card), allow_cpu=allow_cpu, allow_quick=allow_quick)
    say("inserted" if done["changed"] else "unchanged: the card has this section already")
    print(done["card"])


@command
def reproduce(
    _c: Any, rocm: str = "", channel: str = "", lock: str = "", suite: str = "smoke", json: bool = False
) -> None:
    """Do it all: build, validate, benchmark, seal, verify; what is there and still true is kept.

    Options:
        suite: smoke, quick or publish
    """
    from bundle.console import counted, ending
    from images.record import exit_code as unexpected
    from schema.records import exit_code

    checked(suite, "")
    chosen, engine = choose(rocm, channel, lock), engine_door()
    image = built(chosen, engine)
    report = kept(chosen, image, "validate") or run(chosen, image, engine, "validate", [])
    findings = [record for record in report if record["kind"] == "finding"]
    if exit_code(statuses(report)):
        say("nothing is measured before it is proved correct: mend what did not pass above, then run this again")
        show({"image_id": image["image_id"], "findings": findings}) if json else print(counted(findings))
        leave(exit_code(statuses(report)))
    results = kept(chosen, image, "benchmarks", suite) or run(chosen, image, engine, "benchmarks", ["--suite", suite])
    summary = summarized(results, chosen.out)
    path, verdict = sealed_and_verified(chosen, image)
    answer = {
        "image_id": image["image_id"],
        "manifest_digest": image["manifest_digest"],
        "findings": findings,
        "summary": summary,
        "bundle": path,
        "verdict": verdict,
    }
    show(answer) if json else print(ending(answer))
    leave(max(exit_code(statuses(results)), unexpected(image), int(verdict["verdict"] != "CONFIRMED")))


@command
def test(_c: Any, only: str = "") -> None:  # noqa: PT028 -- a command, not a test
    """Run everything a change must pass: formatting, lints, types, tests, the chain on a real engine.

    Options:
        only: pytest's arguments instead of everything, e.g. "tests/bundle -k card"
    """
    from pins.process import attached

    python, locked = sys.executable, ROOT / "requirements" / "test.txt"
    install = [python, "-m", "pip", "install", "-qq", "--only-binary=:all:", "--require-hashes", "-r", str(locked)]
    steps = [install, *([python, "-m", *tool] for tool in (["ruff", "format", "--check"], ["ruff", "check"], ["mypy"]))]
    steps.append([python, "-m", "pytest", *only.split()])
    for step in [steps[0], steps[-1]] if only else steps:
        say("+ " + " ".join(step[2:]))
        if attached(step, cwd=ROOT):
            leave(1)


@contextmanager
def parsing() -> Iterator[None]:
    """Turn what Invoke cannot parse into exit code 2: 1 means that something failed or does not hold."""
    try:
        yield
    except ParseError as error:
        raise Exit(
            f"error: {error}\n\nhint: ./kit --list shows the commands, ./kit COMMAND --help its options", 2
        ) from error


class KitProgram(Program):
    """Invoke with our exit codes."""

    def run(self, argv: list[str] | None = None, exit: bool = True) -> None:  # noqa: A002 -- Invoke's names
        """Run the command line."""
        try:
            super().run(argv, exit)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # nobody reads on: Python's own flush must not complain
            sys.exit(141)  # what a shell says of a program whose reader went away

    def parse_core(self, argv: list[str] | None) -> None:
        """Parse what stands before the command. `COMMAND --help` asks for help, whatever the command still lacks."""
        words = list(sys.argv if argv is None else argv)
        if {"--help", "-h"} & set(words[2:]) and not words[1].startswith("-"):
            words = [words[0], "--help", words[1]]
        with parsing():
            super().parse_core(words)
        sys.dont_write_bytecode = False  # Invoke turns byte code off, which makes every later start slower

    def parse_tasks(self) -> None:
        """Parse the commands and their options."""
        with parsing():
            super().parse_tasks()

    def parse_cleanup(self) -> None:
        """Answer --help and --list."""
        with parsing():
            super().parse_cleanup()


def terminated(number: int, _frame: object) -> None:
    """End on SIGTERM as on Ctrl-C: what is half made is cleared away on the way out."""
    raise SystemExit(128 + number)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, terminated)
    commands = Collection.from_module(sys.modules[__name__])
    KitProgram(name="kit", binary="kit", namespace=commands, version=VERSION).run()
