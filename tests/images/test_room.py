"""The room that a build takes is asked for before it begins."""

from dataclasses import replace
from pathlib import Path

import pytest

from images import base, room
from images import build as builder
from pins.host import Host
from schema.errors import KitError
from tests.fakes import ABOUT
from tests.images import test_build
from tests.images.test_build import BASE_IMAGE, DIGEST, LOCK, engine_with, on_base, saved

store, out = test_build.store, test_build.out
GB = 10**9
PLACES = {"engine": Path("/a"), "cache": Path("/b"), "outputs": Path("/c")}


def on_disks(monkeypatch, disks, free=10 * GB):
    """Put paths on disks; the rest of them share one."""
    monkeypatch.setattr(room, "disk_of", lambda path: disks.get(str(path)))
    monkeypatch.setattr(room, "free_bytes", free if callable(free) else lambda _path: free)


@pytest.mark.parametrize(
    ("disks", "needed", "expected"),
    [
        pytest.param({"/a": 1, "/b": 2, "/c": 3}, (4, 1, 5), (4, 1, 5), id="three disks"),
        pytest.param({}, (4, 1, 5), (10, 10, 10), id="one disk"),
        pytest.param({"/b": 2}, (4, 1, 5), (9, 1, 9), id="the cache apart"),
        pytest.param({}, (75, 0, 0), (75, 0, 0), id="who needs nothing has enough"),
    ],
)
def test_what_places_on_one_disk_need_adds_up(monkeypatch, disks, needed, expected):
    on_disks(monkeypatch, disks)

    found = room.rooms(dict(zip(PLACES, needed, strict=True)), PLACES, ABOUT)

    assert {place: item.needed for place, item in found.items()} == dict(zip(PLACES, expected, strict=True))


@pytest.mark.parametrize(
    ("needed", "free", "lack"),
    [
        (75 * GB, 75 * GB, ""),
        (75 * GB, 72 * GB, "about 75.0 GB, 3.0 GB more than is free"),
        (75 * GB, 75 * GB - 1, "about 75.0 GB, 1 B more than is free"),
    ],
)
def test_what_lacks_is_never_said_with_two_equal_figures(needed, free, lack):
    assert room.Room(Path("/a"), needed, free, "").lack == lack


def test_an_image_that_no_registry_has_is_not_pulled_and_takes_no_room():
    lock = on_base(debs=[])
    found = replace(lock, document=lock.document | {"base": lock.base | {"digest_kind": "config"}})

    assert (room.needs(lock)["engine"], room.needs(found)["engine"]) == (room.BASE_BYTES, 0)
    assert builder.describe(builder.plan(found)).count("pull") == 0


@pytest.mark.parametrize("make", [builder.build, builder.check])
@pytest.mark.parametrize("lock", [LOCK, on_base()], ids=["packages", "a base"])
def test_nothing_is_pulled_or_built_where_there_is_no_room(store, out, tmp_path, monkeypatch, make, lock):
    engine = engine_with(tmp_path, saved())
    engine.pull = lambda *_args, **_more: pytest.fail("a pull began")
    on_disks(monkeypatch, {}, free=100)

    with pytest.raises(
        KitError, match=r"small needs about .*, .* more than is free \(100 B\) on the disk of /"
    ) as caught:
        make(lock, engine, store, out=out, progress=False)

    assert caught.value.hint in {room.REMEDIES["outputs"], room.REMEDIES["engine"].format(client="docker")}
    assert (engine.contexts, [path.name for path in out.iterdir()]) == ([], [".lock"])


@pytest.mark.parametrize(
    "about",
    [{"data_root": "/nowhere/docker"}, {"remote": True}, {"desktop": True}],
    ids=["in a container with its socket", "on another machine", "in a virtual machine"],
)
def test_a_disk_of_the_engine_that_cannot_be_seen_is_not_judged(monkeypatch, tmp_path, about):
    on_disks(monkeypatch, {}, free=GB)

    room.require(on_base(), ABOUT | about, tmp_path)

    with pytest.raises(KitError, match="needs about 75"):
        room.require(on_base(), ABOUT, tmp_path)


@pytest.mark.parametrize("gpu", [False, True])
@pytest.mark.parametrize(("packed", "takes"), [(None, "75.0 GB"), (10 * GB, "40.0 GB")])
def test_what_a_pull_takes_and_is_good_for_is_said_before_it_begins(
    store, out, tmp_path, monkeypatch, capsys, gpu, packed, takes, registries
):
    if packed:
        layer = test_build.REMOTE_LAYER
        registries.images[f"rocm/pytorch@{DIGEST}"] = test_build.remote(layers=[replace(layer, size=packed)])
    gfx = ("gfx942",) if gpu else ()
    monkeypatch.setattr(base.host, "look", lambda: Host(has_kfd=gpu, gfx=gfx, nvidia=False))
    on_disks(monkeypatch, {}, free=80 * GB)
    engine = engine_with(tmp_path)
    said = []

    def pull(reference, **_):
        said.append(capsys.readouterr().err)
        engine.images[reference] = BASE_IMAGE
        return engine.require(reference)

    engine.pull = pull
    lock = on_base(torch={"version": "2.10.0", "build": "rocm"})
    builder.build(lock, engine, store, out=out)

    expected = [] if gpu else ["no AMD GPU here: the image can be built and looked at, not measured"]
    expected.append(f"pulling rocm/pytorch@{DIGEST}; it takes about {takes} in the engine")
    assert said[0].splitlines()[-len(expected) :] == [f"build: {line}" for line in expected]
