"""A disk that is full, at every place that writes: one message, one remedy, nothing half written."""

import contextlib
import os
import shutil
import subprocess

import pytest

from bundle import card, layout, writing
from images import build as builder
from images import record
from images.running import Intake
from pins import lock as locks
from pins.fetch import fetch
from pins.mirror import into_folder
from pins.sources import Sources
from pins.store import Store, replacing
from schema.errors import KitError
from tests.bundle import fakes_bundle
from tests.images.fakes_archives import BuildingEngine, Item, deb, folder, image, sha256, tar
from tests.images.test_build import LOCK, document
from tests.images.test_record import IMAGE
from tests.images.test_running import SAMPLE, lines, start
from tests.pins import fakes_archive

ROOM = 1 << 20
LARGE = os.urandom(2 * ROOM)  # no file system makes it smaller

pytestmark = pytest.mark.skipif(os.getuid() != 0 or not shutil.which("mount"), reason="only root can mount a disk")


@pytest.fixture
def disk(tmp_path):
    """A disk of one megabyte."""
    place = tmp_path / "disk"
    place.mkdir()
    argv = ["mount", "-t", "tmpfs", "-o", f"size={ROOM}", "tmpfs", place]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no disk can be mounted here: {done.stderr.strip()}")
    yield place
    subprocess.run(["umount", place], check=True)


def a_lock(disk, _apart):
    locks.write(LOCK.document | {"notes": LARGE.hex()}, disk / "x.lock.yaml")


def an_image_record(disk, _apart):
    filled(disk)
    record.write(IMAGE, disk / "image.json")


def a_run(disk, _apart):
    with Intake(disk / "results.jsonl", {"document": "results-1"}) as intake:
        for line in lines(start(document="results-1"), *[SAMPLE | {"index": number} for number in range(50_000)]):
            intake.take(line)


def a_run_from_its_first_line(disk, _apart):
    filled(disk)
    with Intake(disk / "results.jsonl", {"document": "results-1"}) as intake:
        intake.take(lines(start(document="results-1"))[0])


def a_mirror(disk, apart):
    data = {"aa": LARGE}
    into_folder(fakes_archive.lock_of(data), stored(apart / "cache", LARGE), disk / "mirror", progress=False)


def a_bundle(disk, _apart):
    writing.write({layout.MANIFEST: b"{}\n", layout.SAMPLES: LARGE}, disk / "out")


def a_model_card(disk, apart):
    made, readme = fakes_bundle.write(fakes_bundle.bundle(processes=10), apart / "bundle"), disk / "README.md"
    readme.write_bytes(b"old")
    filled(disk)
    try:
        card.put(made, readme)
    finally:
        assert readme.read_bytes() == b"old"


def a_download(disk, apart):
    (apart / "source").mkdir()
    lock = fakes_archive.lock_of({"aa": LARGE})
    path = apart / "source" / lock.debs[0]["path"]
    path.parent.mkdir(parents=True)
    path.write_bytes(LARGE)
    sources = Sources(apart)
    sources.given = str(apart / "source")
    fetch(lock, Store(disk / "cache"), progress=False, sources=sources)


def a_first_layer(disk, apart):
    data = deb([folder("./"), Item("./large", LARGE)])
    entry = LOCK.debs[0] | {"sha256": sha256(data), "size": len(data)}
    lock = locks.from_document(document(debs=[entry]))
    builder.build(lock, BuildingEngine(apart), stored(apart / "cache", data), out=disk / "out", progress=False)


def a_saved_image(disk, apart):
    built(disk, apart, image([tar([folder("etc"), Item("etc/large", LARGE)])]))


def a_canonical_image(disk, apart):
    built(disk, apart, image([tar([Item("large", LARGE[: ROOM * 6 // 10])])]))


def an_unpacked_layer(disk, apart):
    built(disk, apart, image([tar([Item("large", bytes(2 * ROOM))])], "oci gzipped"))


WRITERS = {  # who writes: what is left on the disk
    a_lock: set(),
    an_image_record: {"filler"},
    a_run: {"results.jsonl.partial"},
    a_run_from_its_first_line: {"filler"},
    a_mirror: set(),
    a_bundle: set(),
    a_model_card: {"README.md", "filler"},
    a_download: {None},  # what came is gone on with
    a_first_layer: {".lock"},
    a_saved_image: {".lock"},
    a_canonical_image: {".lock"},
    an_unpacked_layer: {".lock"},
}


@pytest.mark.parametrize(("writer", "left"), WRITERS.items(), ids=lambda item: getattr(item, "__name__", ""))
def test_a_full_disk_is_said_with_a_remedy_and_nothing_half_written_is_left(disk, tmp_path, monkeypatch, writer, left):
    monkeypatch.setattr("pins.fetch.MARGIN_BYTES", -4 * ROOM)  # the disk was not full when it was looked at
    monkeypatch.setattr("images.room.free_bytes", lambda _: 1 << 40)
    monkeypatch.setenv("KIT_SNAPSHOT", "")

    with pytest.raises(KitError, match=r"No space left|is full") as caught:
        writer(disk, tmp_path)

    assert any(word in caught.value.hint for word in ("room", "space", "KIT_OUT", "KIT_CACHE"))
    if left != {None}:
        assert {path.name for path in disk.rglob("*") if path.is_file()} == left


def test_a_file_that_was_there_stays_as_it_was(disk):
    (disk / "file").write_bytes(b"old")

    with pytest.raises(OSError, match="No space left"), replacing(disk / "file") as part:
        part.write(LARGE)

    assert [(path.name, path.read_bytes()) for path in disk.iterdir()] == [("file", b"old")]


def filled(disk):
    """Leave no room on a disk."""
    with (disk / "filler").open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))


def stored(root, data):
    store = Store(root)
    store.part(sha256(data)).write_bytes(data)
    store.keep(sha256(data))
    return store


def built(disk, apart, saved):
    data = deb([folder("./"), Item("./file", b"x")])
    builder.build(LOCK, BuildingEngine(apart, saved), stored(apart / "cache", data), out=disk / "out", progress=False)
