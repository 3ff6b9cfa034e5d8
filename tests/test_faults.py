"""Every fault ends in one message with one remedy, loses nothing, and when it is mended the same command succeeds.

One table, told to users in `docs/reference/faults.md`. Each row is a real command in a process of its own. Those that
need an engine are in `test_faults_engine.py`.
"""

import os
import shutil

import pytest

from pins.lock import PINS
from tests.pins.fakes_archive import Archive, deb
from tests.test_faults_engine import ENGINE_FAULTS
from tests.world import ROOT, Fault, World, row, table, told

DEFAULT = "debian13-hip5.7-torch2.6cpu"


def lock_with(**change):
    return lambda world: world.change_lock(**change)


def package_with(**change):
    return lambda world: world.change_package(**change)


def serves(*answers):
    """Let the server answer so for the first package."""
    return lambda world: world.archive.faults.update({deb("aa", b"")["path"]: list(answers)})


def spoilt(name, change):
    """Spoil a file: `change` gets its bytes, None where it is not there, and returns others, or None to remove it."""

    def arrange(world):
        path = world.folder / name
        world.spoil(name, change(path.read_bytes() if path.exists() else None))

    return arrange


def after(first, *more):
    """Arrange one thing after the other."""
    return lambda world: [arrange(world) for arrange in (first, *more)]


def folder(name, *files):
    """Put a folder there, with empty files in it."""

    def arrange(world):
        (world.folder / name).mkdir()
        for file in files:
            (world.folder / name / file).touch()

    return arrange


def environ(**names):
    """Set variables; `{}` is the world's folder."""
    return lambda world: world.environ.update(
        {name: value.replace("{}", str(world.folder)) for name, value in names.items()}
    )


def pipe(name):
    return lambda world: os.mkfifo(world.folder / name)


def stale_lock(world):
    """Change the pin beside a lock after the lock was made from it."""
    for kind in ("pin", "lock"):
        shutil.copy(PINS / f"{DEFAULT}.{kind}.yaml", world.folder)
    path = world.folder / f"{DEFAULT}.pin.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("rocminfo", "vim"), encoding="utf-8")


def without_end(records):
    """Return the lines of records but for the last."""
    return records[: records.rindex(b"\n", 0, -1) + 1]


FETCH = "fetch --lock {}/small.lock.yaml"
PLAN = "build --dry-run --lock {}/small.lock.yaml"
SEAL = "bundle --report {}/report.jsonl --results {}/results.jsonl --out {}"
CARD = "card {}/README.md {}/bundle --allow-quick"
records, sealed = World.records, World.sealed

FAULTS = (
    # what a person asks for
    Fault("a ROCm version that no lock has", "build --dry-run --rocm 9.9", 2, "no lock for ROCm 9.9"),
    Fault("a channel that does not exist", "build --dry-run --channel moon", 2, "no moon lock"),
    Fault("a lock that does not exist", "build --dry-run --lock moon", 2, "no lock moon"),
    Fault("a pin that does not exist", "lock --pin moon", 2, "there is no pin 'moon'"),
    Fault("a suite that does not exist", "benchmark --suite moon", 2, "no suite 'moon'"),
    Fault("a runtime that does not exist", "validate --runtime moon", 2, "no runtime 'moon'"),
    Fault("an option that does not exist", "build --moon", 2, "No idea what '--moon' is"),
    Fault("an argument that is missing", "verify", 2, "did not receive required positional"),
    Fault("a case file that is not there", "benchmark --case {}/moon.py", 2, "moon.py: No such file"),
    # locks
    Fault("a lock with a field too many", PLAN, 2, "'moon' was unexpected", lock_with(moon="1")),
    Fault("a lock older than its pin", f"build --dry-run --lock {{}}/{DEFAULT}.lock.yaml", 2, "is stale", stale_lock),
    Fault("a package without its hash", PLAN, 2, "'sha256' is a required property", package_with(sha256=...)),
    Fault("a package whose hash is null", FETCH, 2, "no sha256 for aa", package_with(sha256=None)),
    Fault("a package whose hash is no hash", PLAN, 2, "debs[0].sha256: 'zz'", package_with(sha256="zz")),
    Fault("a size beyond all numbers", PLAN, 2, "small.lock.yaml: size is a number", package_with(size=10**30)),
    Fault("a variable of two lines", PLAN, 2, "variable A has a line break", lock_with(environment={"A": "1\n2"})),
    Fault("a variable without end", PLAN, 2, "A has 500002 bytes", lock_with(environment={"A": "x" * 500_000})),
    Fault("a version that is not quoted", PLAN, 2, "rocm is the number 5.1", lock_with(rocm=5.10)),
    Fault(
        "a package path that leaves the archive",
        PLAN,
        2,
        "debs[0].path: 'pool/../../etc/passwd.deb'",
        package_with(path="pool/../../etc/passwd.deb"),
    ),
    Fault("a lock that is not text", PLAN, 2, "is not UTF-8", spoilt("small.lock.yaml", lambda _: b"\xff\0"), 0),
    Fault("a lock that is empty", PLAN, 2, "is not a mapping", spoilt("small.lock.yaml", lambda _: b""), 0),
    Fault("a lock that is cut off", PLAN, 2, "is not YAML", spoilt("small.lock.yaml", lambda old: old[:400]), 0),
    Fault(
        "a lock that is a pipe", "build --dry-run --lock {}/x.lock.yaml", 2, "is no regular file", pipe("x.lock.yaml")
    ),
    Fault(
        "a lock that is a folder", "build --dry-run --lock {}/x.lock.yaml", 2, "Is a directory", folder("x.lock.yaml")
    ),
    # downloads
    Fault("a download that is cut off once", FETCH, 0, "", serves("cut")),
    Fault("a server that is busy for a while", FETCH, 0, "", serves(503, 429, 500)),
    Fault("a server that is slow", FETCH, 0, "", serves("slow")),
    Fault("a download that is always cut off", FETCH, 2, "cut off", serves("cut", "always"), 0),
    Fault("a download of another length", FETCH, 2, "another length", serves("cut short"), 0),
    Fault("a package whose bytes differ", FETCH, 2, "another sha256", serves("wrong"), 0),
    Fault("a package that is gone (404)", FETCH, 2, "HTTP 404", serves(404, "always"), 0),
    Fault("a server that wants fewer requests (429)", FETCH, 2, "HTTP 429", serves(429, "always"), 0),
    Fault("a server that fails (500)", FETCH, 2, "HTTP 500", serves(500, "always"), 0),
    Fault("a source that is no folder", FETCH, 2, "neither a folder nor a web address", environ(KIT_SOURCE="/moon")),
    Fault("a cache that is a file", FETCH, 2, "Not a directory", environ(KIT_CACHE="{}/small.lock.yaml")),
    # records and bundles
    Fault("records that are not there", SEAL, 2, "report.jsonl: No such file"),
    Fault(
        "an output folder in a file",
        SEAL.replace("out {}", "out {}/small.lock.yaml/x"),
        2,
        "cannot work in {}/small.lock.yaml/x",
        records,
    ),
    Fault(
        "results without their end",
        SEAL,
        2,
        "{}/results.jsonl: the stream was cut off",
        after(records, spoilt("results.jsonl", without_end)),
        0,
    ),
    Fault(
        "half a line at the end of results",
        SEAL,
        2,
        "{}/results.jsonl: the last line is cut off",
        after(records, spoilt("results.jsonl", lambda old: old[:-20])),
        0,
    ),
    Fault(
        "garbage after the end of results",
        SEAL,
        2,
        "{}/results.jsonl: line 255 is not",
        after(records, spoilt("results.jsonl", lambda old: old + b"x\n")),
        0,
    ),
    Fault(
        "half a line at the end of a report",
        SEAL,
        2,
        "{}/report.jsonl: the last line is cut off",
        after(records, spoilt("report.jsonl", lambda old: old[:-20])),
        0,
    ),
    Fault(
        "a folder of somebody's where the bundle would lie",
        SEAL,
        2,
        "move it away",
        after(records, folder("bundle", "thesis.txt")),
    ),
    Fault("a bundle that is not there", "verify {}/moon", 2, "moon: No such file"),
    Fault("a folder that is no bundle", "verify {}/out", 2, "is not a bundle"),
    Fault(
        "a bundle with one byte changed",
        "verify {}/bundle",
        1,
        "report.md: sha256",
        after(sealed, spoilt("bundle/report.md", lambda old: b"x" + old[1:])),
        0,
    ),
    Fault(
        "a bundle with a file missing",
        "verify {}/bundle",
        1,
        "report.html: missing",
        after(sealed, spoilt("bundle/report.html", lambda _: None)),
        0,
    ),
    Fault(
        "a bundle with a file added",
        "verify {}/bundle",
        1,
        "more.txt: a file",
        after(sealed, spoilt("bundle/more.txt", lambda _: b"")),
        0,
    ),
    Fault(
        "an archive that is cut off",
        "verify {}/bundle.tar",
        2,
        "the archive is cut off",
        after(sealed, spoilt("bundle.tar", lambda old: old[:-700])),
        0,
    ),
    Fault(
        "an archive that is compressed",
        "verify {}/bundle.tar",
        2,
        "bundle.tar is compressed",
        after(sealed, spoilt("bundle.tar", lambda old: b"\x1f\x8b" + old)),
        0,
    ),
    # model cards
    Fault("figures of few processes for a card", "card {}/README.md {}/bundle", 2, "--allow-quick", sealed),
    Fault(
        "a card whose markers are damaged",
        CARD,
        2,
        "markers are damaged",
        after(sealed, spoilt("README.md", lambda _: b"<!-- repro-bundle:begin -->")),
        0,
    ),
    Fault("a card inside the bundle", CARD.replace("README", "bundle/card"), 2, "belongs to the bundle", sealed),
    # engines
    Fault(
        "no engine", "validate", 2, "/moon.sock (DOCKER_HOST) does not exist", environ(DOCKER_HOST="unix:///moon.sock")
    ),
    Fault(
        "an engine's address that is none",
        "validate",
        2,
        "DOCKER_HOST is no engine's address",
        environ(DOCKER_HOST="moon"),
    ),
    Fault(
        "an engine elsewhere that does not answer",
        "validate",
        2,
        "tcp://127.0.0.1:9 (DOCKER_HOST): Connection refused",
        environ(DOCKER_HOST="tcp://127.0.0.1:9"),
    ),
)


@pytest.fixture
def world(tmp_path):
    with Archive() as archive:
        yield World(tmp_path, archive)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.what)
def test_a_fault_is_told_with_one_remedy_and_the_same_command_succeeds_once_it_is_mended(fault, world):
    fault.arrange(world)

    told(world.kit(fault.command), fault.code, fault.says)

    assert world.halves() == []
    if not fault.code:
        assert [answers for answers in world.archive.faults.values() if answers] == [], "the fault was never met"
    if fault.then is not None:
        world.mend()
        told(world.kit(fault.command), fault.then)


def test_the_table_in_the_docs_is_this_one():
    assert table(ROOT / "docs/reference/faults.md") == [row(fault) for fault in (*FAULTS, *ENGINE_FAULTS)]
