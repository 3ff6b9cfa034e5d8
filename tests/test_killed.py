"""`kill -9` at twenty and more points of the chain, and two commands at once in one folder.

After each blow whatever has its final name is whole; then the same command, run to its end, succeeds, gives what it
would have given without the blows, and leaves nothing of theirs: no half file, no container, no step of a build.
"""

import json
import shutil
import signal
import time

import pytest

from bundle.verify import verify
from images import leftovers
from pins.store import Store
from schema import documents, stream
from schema.errors import KitError
from tests import tiny
from tests.pins.fakes_archive import Archive, deb, document
from tests.world import World, told

SHARES = (0.15, 0.3, 0.45, 0.6, 0.75, 0.9)
#: The small image has no torch, which is what its validation says when all else is well.
NO_TORCH = 1
SEAL = "bundle --report {}/report.jsonl --results {}/results.jsonl --out {}/out"


TRIES = 5


def struck(world, command, shares=SHARES, *, again=lambda: None, whole=lambda: None, code=0):
    """Run a command once for its time, then kill it at each of these shares of that; hold `whole` after each blow.

    A blow that comes too late, since the command was faster this time, is struck again, earlier.
    """
    again()
    started = time.monotonic()
    told(world.kit(command), code)
    lasts = time.monotonic() - started
    for share in shares:
        assert any(_strike(world, command, share * lasts * 0.8**late, again) for late in range(TRIES)), share
        whole()
    return world.kit(command)


def _strike(world, command, after_s, again):
    """Kill the command after this time; say whether it still ran."""
    again()
    with world.start(command) as child:
        time.sleep(after_s)
        child.kill()
        child.communicate()
    return child.returncode == -signal.SIGKILL


@pytest.fixture
def world(tmp_path):
    with Archive() as archive:
        yield World(tmp_path, archive)


def test_a_fetch_that_is_killed_keeps_what_it_has_and_nothing_that_is_not_right(world):
    contents = {f"p{number:02}": bytes([number]) * 400_000 for number in range(40)}
    entries = [deb(name, data, archive="debian-security") for name, data in contents.items()]
    world.archive.files.update({entry["path"]: contents[entry["name"]] for entry in entries})
    world.write_lock(document(entries, name="kit-test-small"))
    store = Store(world.folder / "cache")

    def whole():
        for path in store.root.glob("sha256/*/*"):
            if not path.name.startswith(".") and path.suffix != ".ok":
                assert store.has(path.name, tell=pytest.fail)

    done = struck(
        world,
        "fetch --lock {}/small.lock.yaml --json",
        again=lambda: shutil.rmtree(store.root, ignore_errors=True),
        whole=whole,
    )

    told(done, 0)
    assert all(store.has(entry["sha256"]) for entry in entries)
    assert not list(store.root.glob("parts/*")) + list(store.root.rglob(".*"))


def test_a_seal_that_is_killed_leaves_the_old_bundle_or_the_new_one(world):
    world.records()
    bundle = world.folder / "out/bundle"

    def whole():
        stands = bundle if bundle.exists() else bundle.with_name(".bundle.old")  # which the next call puts back
        assert verify(stands)["verdict"] == "CONFIRMED"

    done = struck(world, SEAL, whole=whole)

    told(done, 0)
    assert verify(bundle)["verdict"] == verify(bundle.with_suffix(".tar"))["verdict"] == "CONFIRMED"
    assert world.halves() == []


def test_a_card_that_is_killed_keeps_every_byte_of_the_old_one_or_has_the_new_section(world):
    world.sealed()
    put = "card {}/README.md {}/bundle --allow-quick"
    card, before = world.folder / "README.md", b"# Model\r\n" + b"text " * 100_000
    allowed = []

    def again():
        card.write_bytes(before)

    def whole():
        assert card.read_bytes() in allowed

    again()
    told(world.kit(put), 0)
    allowed += [before, card.read_bytes()]

    struck(world, put, again=again, whole=whole)

    assert card.read_bytes() == allowed[1]


def test_a_mirror_that_is_killed_has_whole_files_alone(world):
    target, contents = world.folder / "mirror", {f"p{number:02}": bytes([number]) * 400_000 for number in range(40)}
    entries = [deb(name, data, archive="debian-security") for name, data in contents.items()]
    world.archive.files.update({entry["path"]: contents[entry["name"]] for entry in entries})
    world.write_lock(document(entries, name="kit-test-small"))
    told(world.kit("fetch --lock {}/small.lock.yaml"), 0)

    def whole():
        for entry in entries:
            path = target / entry["path"]
            assert not path.exists() or path.read_bytes() == contents[entry["name"]]

    done = struck(
        world,
        "mirror {}/mirror --lock {}/small.lock.yaml",
        again=lambda: shutil.rmtree(target, ignore_errors=True),
        whole=whole,
    )

    told(done, 0)
    assert all((target / entry["path"]).read_bytes() == contents[entry["name"]] for entry in entries)
    assert world.halves() == []


@pytest.mark.parametrize("command", [SEAL, "fetch --lock {}/small.lock.yaml --json"])
def test_two_commands_at_once_in_one_folder_both_end_well(world, command):
    world.records()

    both = [world.start(command) for _ in range(2)]
    said = [child.communicate(timeout=120) for child in both]

    assert [child.returncode for child in both] == [0, 0], said
    assert world.halves() == []
    if command is SEAL:
        assert verify(world.folder / "out/bundle")["verdict"] == "CONFIRMED"


# With the real engine -------------------------------------------------------------------------------------------------


@pytest.fixture
def small(engine, world):
    """A world with the small image's lock."""
    try:
        tiny.fetched()
    except KitError as error:
        pytest.skip(f"the packages of the small image cannot be had: {error.message}")
    world.write_lock(tiny.document(), "tiny")
    for name in ("KIT_CACHE", "KIT_SOURCE", "KIT_SNAPSHOT"):
        del world.environ[name]
    yield world
    engine.remove(f"rocm-repro-kit:{tiny.NAME}", force=True)


@pytest.mark.engine
def test_a_build_that_is_killed_leaves_a_record_that_holds_or_none_and_two_at_once_build_once(engine, small):
    out = small.folder / "out" / tiny.NAME
    build = "build --json --lock {}/tiny.lock.yaml"

    def whole():
        if (out / "image.json").exists():
            documents.check(documents.read_json(out / "image.json"), "image-1", "the record")

    first = json.loads(struck(small, f"{build} --force", (*SHARES[::2], 0.97), whole=whole).stdout)
    engine.remove(first["engine_id"], force=True)
    both = [small.start(build) for _ in range(2)]
    answers = [json.loads(child.communicate(timeout=300)[0]) for child in both]

    assert [answer["image_id"] for answer in answers] == [first["image_id"]] * 2
    assert sorted(answer["built"] for answer in answers) == [False, True]
    assert small.halves() == []
    assert engine.api.images(all=True, filters={"label": leftovers.label(out)}) == []


@pytest.mark.engine
def test_a_validation_that_is_killed_leaves_the_old_report_or_none_and_no_container(engine, small):
    told(small.kit("build --lock {}/tiny.lock.yaml"), 0)
    report = small.folder / "out" / tiny.NAME / "report.jsonl"
    validate = "validate --lock {}/tiny.lock.yaml"

    def whole():
        lines = report.read_text(encoding="utf-8").splitlines(keepends=True)
        assert list(stream.read(lines))[-1]["kind"] == "end"

    done = struck(small, validate, whole=whole, code=NO_TORCH)

    told(done, NO_TORCH)
    assert small.halves() == []
    assert engine.api.containers(all=True, filters={"label": "rocm-repro-kit.run"}) == []
