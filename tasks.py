"""The commands: their options and help. Each loads what it needs, calls, prints, and exits.

Nothing heavy is imported before it is used. What stdout, stderr and the exit codes mean is said in `commands.program`.
"""

from __future__ import annotations

import signal

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # until the program stands, Ctrl-C ends it without a word

import functools
import sys
from pathlib import Path

from commands.chosen import HOST, OUT, ROOT, Which, choose, or_error
from commands.files import alone_in, write
from commands.findings import told
from commands.image import (
    buildable,
    engine_door,
    fetched,
    image_kept,
    ingredients,
    measured_in,
    rebuilt,
    shipped,
    slimmed,
)
from commands.options import command
from commands.pins import Asked  # noqa: TC001 -- its fields become options when the command is made
from commands.program import leave, main, say, show
from commands.runs import RECORDS, Where, checked, command_line, run_anywhere, statuses, summarized
from images.device import Device  # noqa: TC001 -- its fields become options when the command is made
from schema.errors import KitError


@command
def doctor(which: Which, runtime: str = "container", json: bool = False) -> None:
    """Say what this machine can do, which lock would be used here and why, and what to change.

    Options:
        runtime: the engine to look at: container (any), docker or podman
    """
    from images.doctor import look
    from pins.choice import find
    from pins.host import look as look_at_host

    findings = look(
        or_error(lambda: engine_door(runtime)), or_error(lambda: find(look_at_host(), **which._asdict())), outputs=OUT
    )
    told(findings, findings, json=json)


@command
def demo() -> None:
    """Verify the small bundle that ships with the kit, and see one changed byte caught; no engine, no GPU."""
    from bundle.console import demo_lines
    from bundle.demo import demo as run

    shown = run()
    print(demo_lines(shown))
    leave(0 if (shown["verdict"]["verdict"], shown["caught"]["verdict"]) == ("CONFIRMED", "CONTRADICTED") else 1)


@command
def pins(asked: Asked, json: bool = False) -> None:
    """Show the locks that there are and the one used here; or, of versions that are named, whether they go together."""
    from commands import pins as shown
    from pins import compat, table

    if not any(asked):
        found = shown.rows()
        show(found) if json else print(table.text(found))
        return
    verdict = compat.judge(**asked._asdict())
    show(verdict.document()) if json else print(shown.verdict_lines(verdict))
    leave(1 if verdict.verdict == "refused" else 0)


@command
def lock(
    which: Which, pin: str = "", from_image: str = "", out: str = "", check: bool = False, json: bool = False
) -> None:
    """Resolve a pin into a lock: every package by sha256. Or check what has become of a lock since.

    Options:
        pin: name or file of a pin
        from_image: in place of a pin, an image that exists: lock it by digest, with what is in it
        out: folder for the lock; default: beside its pin, and of an image pins/
        check: change nothing; ask what is gone, changed, moved on or superseded of the lock that --lock names
        json: with --check, print one JSON document
    """
    if check:
        from commands.drift import drift

        answer = drift(choose(which).lock)
        told(answer, answer["findings"], json=json)
        return
    if any(which) or json:
        raise KitError("--lock, --rocm, --channel and --json go with --check", "./kit lock --pin NAME makes a lock")
    if from_image:
        from commands.adopt import adopt

        if pin:
            raise KitError("a pin and an image were given", "give one: --pin NAME, or --from-image NAME")
        print(adopt(from_image, Path(out) if out else ROOT / "pins"))
        return
    from pins.choice import meant
    from pins.lock import PINS
    from pins.resolve import resolve

    path = Path(pin) if pin.endswith(".yaml") else PINS / f"{pin}.pin.yaml"
    if not path.is_file():
        names = sorted(path.name.removesuffix(".pin.yaml") for path in PINS.glob("*.pin.yaml"))
        hint = f"{meant(pin, names)}./kit lock --pin NAME, with a file or one of: {', '.join(names)}"
        raise KitError(f"there is no pin {pin!r}", hint)
    print(resolve(path, Path(out) if out else path.parent))


@command
def inspect(image: str, lock: str = "", json: bool = False) -> None:
    """Look into any image of the engine: versions, packages, layers, environment, and what is wrong with them.

    Options:
        image: name, tag, digest or id
        lock: name or file of a lock to hold its packages and versions against, both ways
    """
    from commands.inspect import inspect as look
    from commands.inspect import lines

    answer = look(image, choose(Which(lock=lock)).lock if lock else None)
    if not json:
        print(lines(answer))
    told(answer, answer["findings"], json=json)


@command
def fetch(which: Which, json: bool = False) -> None:
    """Download every input of a lock into the store, each byte verified; an interrupted fetch goes on where it was."""
    from dataclasses import asdict

    from pins.fetch import fetch as get
    from pins.progress import amount
    from pins.store import Store

    got = get(choose(which).lock, Store())
    if json:
        show(asdict(got))
    else:
        print(
            f"{got.files} files, {amount(got.bytes, 'B')}, all verified; {amount(got.downloaded_bytes, 'B')} downloaded"
        )
        if got.note:
            print(got.note)


@command
def mirror(folder: str, which: Which) -> None:
    """Copy every input of a lock, from which `KIT_SOURCE=FOLDER` builds when the archives have moved on.

    Options:
        folder: where to: a folder, or oci://HOST/REPOSITORY of a registry, which takes a base image, too
    """
    from pins.mirror import mirror as copy
    from pins.progress import amount

    chosen = choose(which)
    done = copy(chosen.lock, fetched(chosen.lock), folder)
    size, copied = amount(done.bytes, "B"), amount(done.copied_bytes, "B")
    say(f"{done.files} files, {size}, {copied} of them copied; where they are needed: KIT_SOURCE={folder} ./kit build")
    print(folder)


@command
def build(
    which: Which,
    check: bool = False,
    force: bool = False,
    dry_run: bool = False,
    dockerfile: str = "",
    slim: str = "",
    runtime: str = "container",
    json: bool = False,
) -> None:
    """Build the image of a lock, the same bytes on every machine, and record its SHA256s.

    Options:
        check: build twice, in different surroundings, and compare file by file
        force: build again, whatever is there
        dry_run: show lock, inputs, sizes and steps; build nothing
        dockerfile: another recipe than images/Dockerfile, e.g. to see `--check` catch it
        slim: leave out kernels for other GPUs than these, e.g. gfx942 or gfx90a,gfx942: another lock, another image
        runtime: the engine: container (any), docker, or podman, which builds only on a base
    """
    from bundle.console import image_lines
    from images import build as builder

    chosen = slimmed(choose(which), slim, write=not dry_run) if slim else choose(which)
    if dry_run:
        seen = or_error(lambda: engine_door(runtime))
        plan = builder.plan(chosen.lock, out=chosen.out, engine=seen)
        if not (plan["image"] or isinstance(seen, KitError)):
            buildable(chosen.lock, seen)
        show(plan) if json else print(builder.describe(plan))
        return
    engine, recipe = engine_door(runtime), Path(dockerfile) if dockerfile else builder.DOCKERFILE
    with alone_in(chosen.out):
        there = None if check or force or dockerfile else image_kept(chosen, engine)
        make = builder.check if check else functools.partial(builder.build, force=force)
        image = there or make(chosen.lock, engine, ingredients(chosen.lock, engine), out=chosen.out, dockerfile=recipe)
    answer = builder.answer(image, built=not there)
    show(answer) if json else print(image_lines(answer))
    leave(builder.exit_code(image))


@command
def push(ref: str, which: Which, json: bool = False) -> None:
    """Push the image of a lock into a registry, where its digest is the recorded one; what is there is not sent again.

    Options:
        ref: HOST/REPOSITORY[:TAG], or oci:DIR for an OCI layout in a folder, which Apptainer and Podman read
    """
    from commands.push import lines, pushed

    answer = pushed(choose(which), ref)
    show(answer) if json else print(lines(answer))


@command
def validate(which: Which, where: Where, device: Device, dry_run: bool = False, json: bool = False) -> None:
    """Prove that the image does, on this machine, what its lock says.

    Options:
        dry_run: print the container's command line; run nothing
        json: print the report as one JSON document
    """
    from bundle.console import counted
    from bundle.junit import junit
    from schema.records import exit_code
    from schema.stream import report_document

    if dry_run:
        line = command_line("validate", [], which, where, device)
        show({"command": line}) if json else print(line)
        return
    ran = run_anywhere("validate", [], which, where, device)
    report = report_document(ran.records)
    write(ran.out / "junit.xml", junit(report).encode())
    said = counted(report["findings"], gpu_result=ran.records[0]["backend"] != "cpu")
    show(report) if json else print(f"{said}: {ran.out / RECORDS['validate']}")
    leave(exit_code(statuses(ran.records)))


@command
def benchmark(
    which: Which,
    where: Where,
    device: Device,
    suite: str = "quick",
    case: str = "",
    only: str = "",
    dry_run: bool = False,
    json: bool = False,
) -> None:
    """Measure speed in fresh processes, with intervals that hold, each result proved correct first.

    Options:
        suite: smoke (minutes, shows that all works), quick (a look), publish (for a model card)
        case: your own case, a Python file
        only: one case, or what its name begins with
        dry_run: print the container's command line; run nothing
        json: print the summary as one JSON document
    """
    from bundle.console import table
    from schema.records import exit_code

    checked(suite, case, only)
    argv = ["--suite", suite, *(["--only", only] if only else [])]
    if dry_run:
        line = command_line("benchmarks", argv, which, where, device, case)
        show({"command": line}) if json else print(line)
        return
    ran = run_anywhere("benchmarks", argv, which, where, device, case)
    summary = summarized(ran.records, ran.out)
    show(summary) if json else print(f"{table(summary)}\n{ran.out / RECORDS['benchmarks']}")
    leave(exit_code(statuses(ran.records)))


@command
def bundle(
    which: Which, report: str = "", results: str = "", case: str = "", out: str = "", json: bool = False
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

    own = Path(case) if case else None
    if report or results:
        paths = [Path(name) if name else None for name in (report, results)]
        named = choose(Which(lock=which.lock)) if which.lock else None
        image = measured_in(named, *paths) if named else None
        place = Path(out) if out else named.out if named and image else HOST
        with alone_in(place):
            sealed = seal(*paths, image=image, lock=named.lock.document if named else None, out=place, case=own)
    else:
        chosen = choose(which)
        place = Path(out) if out else chosen.out
        with alone_in(chosen.out, place):
            paths = [chosen.out / name for name in RECORDS.values()]
            image = image_record(chosen.out / "image.json")
            sealed = seal(*paths, image=image, lock=chosen.lock.document, out=place, case=own)
    say(f"{sealed['title']}: {sealed['summary']}")
    show({key: sealed[key] for key in ("path", "bundle_hash", "content_hash")}) if json else print(sealed["path"])


@command
def verify(path: str, rebuild: bool = False, yes: bool = False, json: bool = False) -> None:
    """Verify a bundle, a folder or a .tar, without a GPU: every byte, every statistic, every finding.

    Options:
        path: the bundle
        rebuild: also build its image again from its lock, and compare
        yes: rebuild even from a lock that is not one of ours (its packages' scripts run, without network)
        json: print the verdict as one JSON document
    """
    from bundle.console import verdict_lines
    from bundle.verify import exit_code
    from bundle.verify import verify as judge
    from images.record import unexpected

    again = (lambda document: rebuilt(document, yes=yes)) if rebuild else None
    verdict = judge(Path(path), rebuild=again, unexpected=unexpected, shipped=shipped)
    show(verdict) if json else print(verdict_lines(verdict, rebuild=rebuild))
    leave(exit_code(verdict, rebuild=rebuild))


@command
def card(card: str, bundle: str, allow_cpu: bool = False, allow_quick: bool = False) -> None:
    """Insert the section of a verified bundle into a model card, between markers; all else stays byte for byte.

    Options:
        card: the model card, e.g. README.md
        bundle: the bundle
        allow_cpu: also insert what is not a GPU result
        allow_quick: also insert figures of fewer than five processes
    """
    from bundle.card import put

    done = put(Path(bundle), Path(card), allow_cpu=allow_cpu, allow_quick=allow_quick)
    new = "inserted into a new file" if done["created"] else "inserted"
    say(new if done["changed"] else "unchanged: the card has this section already")
    print(done["card"])


@command
def conformance(folder: str) -> None:
    """Read a folder of captured outputs with the parsers; a JSON line a file says what was understood.

    Options:
        folder: where they are; its INDEX.tsv has the columns file and tool
    """
    from commands.conformance import conformance as read

    leave(read(Path(folder)))


@command
def folklore(path: str, also: list[str] = [], json: bool = False) -> None:  # noqa: B006 -- Invoke takes the type from it
    """Find advice about ROCm that does not hold, in Dockerfiles, scripts, YAML, requirements and model cards.

    Options:
        path: a file or a folder; more may follow
        also: a further file or folder, for every one but the first
    """
    from commands import folklore as linter

    leave(linter.folklore([path, *also], json=json))


@command
def reproduce(
    which: Which, device: Device, suite: str = "smoke", runtime: str = "container", json: bool = False
) -> None:
    """Do it all: build, validate, benchmark, seal, verify; what is there and still true is kept.

    Options:
        suite: smoke, quick or publish
        runtime: the engine: container (any), docker or podman
    """
    from bundle.console import counted, ending
    from commands.reproduce import reproduce as chain

    checked(suite)
    engine, chosen = engine_door(runtime), choose(which)
    with alone_in(chosen.out):
        answer, code = chain(chosen, engine, suite, device)
    if "bundle" in answer:
        show(answer) if json else print(ending(answer))
    else:
        say("nothing is measured before it is proved correct: mend what did not pass above, then run this again")
        said = counted(answer["findings"], gpu_result=chosen.backend != "cpu")
        show(answer) if json else print(said)
    leave(code)


@command
def sweep(
    device: Device,
    locks: str = "",
    suite: str = "quick",
    only: str = "",
    runtime: str = "container",
    json: bool = False,
) -> None:
    """Measure one suite on several locks, each validated first, and compare them with the first in one table.

    Options:
        locks: names or files of locks, with commas; the first is what the others are compared with
        suite: smoke, quick or publish
        only: one case, or what its name begins with
        runtime: the engine: container (any), docker or podman
    """
    from commands.sweep import sweep as measure

    checked(suite, "", only)
    done = measure(locks, suite, only, engine_door(runtime), device)
    show(done.document) if json else print(f"{done.table.read_text(encoding='utf-8')}\n{done.table}")
    leave(done.code)


@command
def test(only: str = "") -> None:  # noqa: PT028 -- a command, not a test
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


@command
def bench_self() -> None:
    """Measure how fast the kit itself is, against plain work side by side, and in how much memory; a table."""
    from pins.process import attached

    leave(attached([sys.executable, "-m", "tests.speed"], cwd=ROOT))


if __name__ == "__main__":
    main(sys.modules[__name__])
