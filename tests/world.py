"""A world of its own for a command: outputs, cache, a lock, and a web server that has the lock's packages."""

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tests.bundle import fakes_bundle
from tests.pins.fakes_archive import Archive, deb, document

ROOT = Path(__file__).parent.parent
CONTENTS = {"aa": b"a" * 300_000, "bb": b"b" * 1000, "cc": b"c"}


@dataclass
class World:
    """What a command meets, and how to spoil and mend it."""

    folder: Path
    archive: Archive
    environ: dict = field(default_factory=dict)
    kept: dict = field(default_factory=dict)

    def __post_init__(self):
        for name in ("out", "cache"):
            (self.folder / name).mkdir()
        self.environ = {
            "KIT_OUT": str(self.folder / "out"),
            "KIT_CACHE": str(self.folder / "cache"),
            "KIT_SOURCE": self.archive.url,
            "KIT_SNAPSHOT": "",
        }
        # security's archive: this host's own archive is not asked for packages that there never were
        entries = [deb(name, data, archive="debian-security") for name, data in CONTENTS.items()]
        self.archive.files.update({entry["path"]: CONTENTS[entry["name"]] for entry in entries})
        self.write_lock(document(entries, name="kit-test-small"))

    def write_lock(self, lock, name="small"):
        (self.folder / f"{name}.lock.yaml").write_text(json.dumps(lock), encoding="utf-8")

    def change_lock(self, **change):
        self.write_lock(json.loads((self.folder / "small.lock.yaml").read_text(encoding="utf-8")) | change)

    def change_package(self, **change):
        """Change how the lock names its first package; None takes a field out."""
        lock = json.loads((self.folder / "small.lock.yaml").read_text(encoding="utf-8"))
        lock["debs"][0] = {key: value for key, value in (lock["debs"][0] | change).items() if value is not ...}
        self.write_lock(lock)

    def spoil(self, name, data):
        """Put other bytes, or nothing (None), in the place of a file, whose own are kept to be mended."""
        path = self.folder / name
        self.kept[path] = path.read_bytes() if path.is_file() else None
        path.unlink(missing_ok=True)
        if data is not None:
            path.write_bytes(data)

    def mend(self):
        """Put back what was spoilt, and let the server answer well."""
        for path, data in self.kept.items():
            path.unlink(missing_ok=True)
            if data is not None:
                path.write_bytes(data)
        self.archive.faults.clear()

    def records(self):
        """Leave the records of two runs made elsewhere, without an image."""
        runs = {"report": fakes_bundle.report(host=True), "results": fakes_bundle.results(host=True)}
        for name, run in runs.items():
            (self.folder / f"{name}.jsonl").write_bytes(fakes_bundle.lines(run))

    def sealed(self):
        """Leave a bundle, its folder and its archive."""
        self.records()
        done = self.kit("bundle --report {}/report.jsonl --results {}/results.jsonl --out {}")
        assert done.returncode == 0, done.stderr

    def start(self, command, **more):
        words = [word.replace("{}", str(self.folder)) for word in command.split()]
        return subprocess.Popen(
            [sys.executable, "-X", "utf8", ROOT / "tasks.py", *words],
            env=os.environ | self.environ | more,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def kit(self, command, **more):
        """Run a command; `{}` in it, and in what it says, is the world's folder."""
        with self.start(command, **more) as child:
            said = [text.replace(str(self.folder), "{}") for text in child.communicate(timeout=600)]
        return subprocess.CompletedProcess(command, child.returncode, *said)

    def halves(self):
        """Return what a command left half made; but parts of downloads are what a fetch goes on with."""
        names = [str(path.relative_to(self.folder)) for path in self.folder.rglob("*")]
        return [
            name
            for name in names
            if re.search(r"(^|/)(\.tmp-|\.?[^/]*\.(part|new|old)$)", name) and not name.startswith("cache/parts/")
        ]


class Fault(NamedTuple):
    """What is wrong, the command that meets it, its exit code, words of its message, and how it comes about.

    `then` is the exit code of the same command once `World.mend` has run; None where a user has to ask otherwise.
    """

    what: str
    command: str
    code: int
    says: str
    arrange: object = lambda _: None
    then: int | None = None


def told(done, code, says=""):
    """Hold a command to its word: exit code, message, one remedy, no traceback, and no data beside an error."""
    said = done.stdout + done.stderr
    assert done.returncode == code, said
    assert says in said
    assert "Traceback" not in said
    assert "fault in the kit" not in said
    if code == 2:
        assert done.stderr.count("\nhint: ") == 1, done.stderr
        assert done.stdout == ""


def table(path):
    """Return each row of the table in the docs: what is wrong, the command, the exit code."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if re.match(r"\|.*\| [0-9] \|", line)]
    return [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines]


def row(fault):
    """Return the row that a fault has in that table: the test's own lock, folder and output form are left out."""
    command = re.sub(r" (--lock \{\}/(small|tiny)\.lock\.yaml|--out \{\}|--json)(?= |$)", "", fault.command)
    return fault.what, f"`./kit {command.replace('{}/', '')}`", str(fault.code)
