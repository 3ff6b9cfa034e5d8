"""How fast the kit itself is, and in how much memory: `./kit bench-self`.

Each piece of work runs three times, in turns with the plain work that it is compared with, each time in a fresh
process; the table has medians. The inputs are made before anything is timed. Nothing here is a test.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parent.parent
ROUNDS = 3
MIB = 1 << 20
EPOCH = 1_700_000_000
#: An image like one with PyTorch: many small files, a few large libraries; a tenth of it repeats its base.
SMALL, SMALL_BYTES, LARGE, LARGE_BYTES = 24_000, 20_000, 8, 120 * MIB
STORE_FILES, STORE_FILE_BYTES = 400, MIB
SAMPLES = {"million": 1_000_000, "hundred-thousand": 100_000}


# Inputs ---------------------------------------------------------------------------------------------------------------


def prepare(folder: Path) -> None:
    """Make everything that the work below reads."""
    _image(folder)
    _store(folder / "store")
    for name, samples in SAMPLES.items():
        _records(folder / name, samples)
        _seal(folder / name, folder / name)


def _image(folder: Path) -> None:
    """Write `saved.tar`, an image of two layers as Docker 20.10 saves one."""
    from images.tarwriter import END, write_all

    noise = os.urandom(LARGE_BYTES)
    with (folder / "saved.tar").open("wb") as file:
        base = _layer(file.fileno(), noise, "base", {"base": 0.1})
        ours = _layer(file.fileno(), noise, "ours", {"base": 0.1, "ours": 0.9})
        rootfs = {"type": "layers", "diff_ids": [base, ours]}
        _put(file.fileno(), "config.json", json.dumps({"rootfs": rootfs}).encode())
        image = {"Config": "config.json", "Layers": ["base/layer.tar", "ours/layer.tar"], "RepoTags": []}
        _put(file.fileno(), "manifest.json", json.dumps([image]).encode())
        write_all(file.fileno(), END)


def _layer(fd: int, noise: bytes, name: str, parts: dict[str, float]) -> str:
    """Write one layer with `parts`: how much of all files comes under which name. Return its digest."""
    from images.tar import Member
    from images.tarwriter import TarWriter, header, write_all

    start = os.lseek(fd, 0, os.SEEK_CUR)
    os.lseek(fd, 512, os.SEEK_CUR)
    with TarWriter(fd) as tar:
        for part, share in parts.items():
            chance = random.Random(part)
            sizes = [chance.randrange(SMALL_BYTES) for _ in range(int(SMALL * share))] + [LARGE_BYTES] * int(
                LARGE * share
            )
            for index, size in enumerate(sizes):
                begin = chance.randrange(MIB) if size < MIB else 0
                path = b"usr/lib/%s/%03d/%d" % (part.encode(), index // 100, index)
                tar.add(Member(path, mtime=EPOCH, size=size), noise[begin : begin + size])
    write_all(fd, bytes(-tar.size % 512))
    os.pwrite(fd, header(Member(f"{name}/layer.tar".encode(), size=tar.size)), start)
    return "sha256:" + tar.digest


def _put(fd: int, name: str, data: bytes) -> None:
    from images.tar import Member
    from images.tarwriter import header, write_all

    write_all(fd, header(Member(name.encode(), size=len(data))) + data + bytes(-len(data) % 512))


def _store(folder: Path) -> None:
    from pins.store import Store

    found = Store(folder)
    for _ in range(STORE_FILES):
        data = os.urandom(STORE_FILE_BYTES)
        name = hashlib.sha256(data).hexdigest()
        found.part(name).write_bytes(data)
        found.keep(name)


def _records(folder: Path, samples: int) -> None:
    from tests.bundle import fakes_bundle as fakes

    folder.mkdir()
    processes = 10
    results = fakes.results(processes=processes, samples=samples // processes // len(fakes.CASES))
    (folder / "results.jsonl").write_bytes(fakes.lines(results))
    (folder / "report.jsonl").write_bytes(fakes.lines(fakes.report()))


# The work -------------------------------------------------------------------------------------------------------------


def plain_copy(folder: Path) -> None:
    """Read, hash and write the same bytes."""
    with (folder / "saved.tar").open("rb") as source, (folder / "copy.tar").open("wb") as target:
        total = hashlib.sha256()
        while piece := source.read(MIB):
            total.update(piece)
            target.write(piece)


def canonical_writer(folder: Path) -> None:
    """Rewrite an image of 1 GB."""
    from images import canonical

    canonical.rewrite(folder / "saved.tar", folder / "copy.tar", epoch=EPOCH, reference="speed:1")


def plain_parse(folder: Path) -> None:
    """Unpack and parse the same samples, line by line."""
    import gzip

    with gzip.open(folder / "million/bundle/benchmarks/samples.jsonl.gz") as lines:
        for line in lines:
            json.loads(line)


def verify_million(folder: Path) -> None:
    """Verify a bundle of a million samples at L0."""
    from bundle.verify import verify

    verdict = verify(folder / "million/bundle")
    if verdict["verdict"] != "CONFIRMED":
        raise SystemExit(str(verdict["contradicted"][0]))


def seal_hundred_thousand(folder: Path) -> None:
    """Seal a run of 100,000 samples."""
    shutil.rmtree(folder / "sealed", ignore_errors=True)
    _seal(folder / "hundred-thousand", folder / "sealed")


def _seal(records: Path, out: Path) -> None:
    from bundle.seal import seal
    from tests.bundle import fakes_bundle as fakes

    paths = records / "report.jsonl", records / "results.jsonl"
    seal(*paths, image=fakes.IMAGE, lock=fakes.LOCK, out=out, names={})


def plain_hash(folder: Path) -> None:
    """Hash the same files."""
    for path in _kept(folder):
        with path.open("rb") as source:
            total = hashlib.sha256()
            while piece := source.read(MIB):
                total.update(piece)


def cold_store(folder: Path) -> None:
    """Find 400 files of 1 MiB in the store, each hashed."""
    for stamp in (folder / "store").rglob("*.ok"):
        stamp.unlink()
    warm_store(folder)


def warm_store(folder: Path) -> None:
    """Find them again by their stamps."""
    from pins.store import Store

    found = Store(folder / "store")
    if not all(found.has(path.name) for path in _kept(folder)):
        raise SystemExit("the store lost a file")


def _kept(folder: Path) -> list[Path]:
    return [path for path in (folder / "store/sha256").glob("*/*") if path.suffix != ".ok"]


def unchanged_build(_folder: Path) -> None:
    """Run `build` where the image is there already."""
    subprocess.run([sys.executable, "-X", "utf8", ROOT / "tasks.py", "build"], check=True, capture_output=True)


class Line(NamedTuple):
    """What is timed, the plain work that it is held against, and the most that it may take."""

    work: Callable[[Path], None]
    plain: Callable[[Path], None] | None = None
    ratio: float = 0
    seconds: float = 0
    megabytes: float = 0


TABLE = (
    Line(canonical_writer, plain_copy, ratio=1.6, megabytes=200),
    Line(verify_million, plain_parse, seconds=5, megabytes=300),
    Line(seal_hundred_thousand, seconds=3),
    Line(cold_store, plain_hash, ratio=2),
    Line(warm_store, plain_hash, ratio=1),
    Line(unchanged_build, seconds=2),
)


# The table ------------------------------------------------------------------------------------------------------------


def main() -> int:
    """Measure it all and print a Markdown table; 1 when something took more than it may, or could not run."""
    with tempfile.TemporaryDirectory(prefix="kit-speed-") as name:
        folder = Path(name)
        print("making the inputs", file=sys.stderr, flush=True)
        if run(prepare, folder) is None:
            return 1
        print(f"{platform.machine()}, {os.cpu_count()} processors, Python {platform.python_version()}\n")
        print("| work | seconds | MB of memory | plain work | its seconds | ratio | may be |")
        print("|---" * 7 + "|")
        return max([show(line, folder) for line in TABLE])


def show(line: Line, folder: Path) -> int:
    """Measure one line of the table and print it; 1 when it took more than it may."""
    taken: dict[Callable[[Path], None], list[Taken]] = {each: [] for each in (line.work, line.plain) if each}
    for _ in range(ROUNDS):
        for each, found in taken.items():
            print(f"  {each.__name__}", file=sys.stderr, flush=True)
            done = run(each, folder)
            if done is None:
                print(f"| {title(each)} | could not run here | | | | | |", flush=True)
                return 1
            found.append(done)
    seconds, *plain = (statistics.median(one.seconds for one in each) for each in taken.values())
    megabytes = max(one.megabytes for one in taken[line.work])
    ratio = seconds / plain[0] if plain else 0
    measured = ((ratio, line.ratio, "x"), (seconds, line.seconds, " s"), (megabytes, line.megabytes, " MB"))
    limits = ", ".join(f"{limit:g}{unit}" for _, limit, unit in measured if limit)
    beside = f"{title(line.plain)} | {plain[0]:.2f} | {ratio:.2f}" if line.plain else "| |"
    print(f"| {title(line.work)} | {seconds:.2f} | {megabytes:.0f} | {beside} | {limits} |", flush=True)
    return int(any(limit and value > limit for value, limit, _ in measured))


def title(work: Callable[[Path], None]) -> str:
    """Return what a function says of itself."""
    return (work.__doc__ or "").rstrip(".")


# One piece of work, alone in a fresh process --------------------------------------------------------------------------


class Taken(NamedTuple):
    """What a piece of work took; `megabytes` is the peak of what its process had in memory."""

    seconds: float
    megabytes: float


def run(work: Callable[[Path], None], folder: Path) -> Taken | None:
    """Do the work in a fresh process; None when it fails."""
    argv = [sys.executable, "-m", "tests.speed", work.__name__, str(folder)]
    done = subprocess.run(argv, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    return Taken(*json.loads(done.stdout)) if done.returncode == 0 else None


def do(name: str, folder: Path) -> None:
    """Do the work of this name here, and print what it took."""
    started = time.perf_counter()
    globals()[name](folder)
    seconds = time.perf_counter() - started
    status = Path("/proc/self/status").read_text(encoding="ascii")  # getrusage's peak begins with the parent's
    print(json.dumps([seconds, int(status.partition("VmHWM:")[2].split()[0]) * 1024 / 1e6]))


if __name__ == "__main__":
    if len(sys.argv) == 3:
        do(sys.argv[1], Path(sys.argv[2]))
    else:
        sys.exit(main())
