import json
import os
import signal
import subprocess
import sys
import tarfile
import time
from io import BytesIO
from pathlib import Path

import pytest

from images import assemble, leftovers, record, room
from images import build as builder
from images.endpoint import EngineError
from pins import registry
from pins.fetch import fetch
from pins.lock import PINS, from_document, load, write
from pins.progress import Progress
from pins.references import parse
from pins.store import Store
from schema import documents
from schema.errors import KitError
from tests.images.fakes_archives import EPOCH, BuildingEngine, Item, deb, folder, image, link, sha256, tar

ROOT = Path(__file__).parents[2]
DEB = deb([folder("./"), Item("./file", b"x")])
DIGEST = "sha256:" + "ab" * 32
BASE_IMAGE = {"id": "sha256:" + "cd" * 32, "diff_ids": ["sha256:" + "ef" * 32], "size": 5, "tags": []}


def document(**more):
    return {
        "lock_version": "1", "name": "small", "rocm": "5.7.1", "channel": "debian", "pin_sha256": "0" * 64,
        "source_date_epoch": EPOCH, "platform": "linux/amd64", "base": None, "python": "3.13",
        "torch": {"version": "2.6.0", "build": "cpu"}, "gfx": [], "components": {}, "host_requirements": {},
        "environment": {"A": "b"}, "wheels": [],
        "debs": [
            {
                "name": "base-files", "version": "1", "architecture": "all", "sha256": sha256(DEB), "size": len(DEB),
                "archive": "debian", "path": "pool/main/b/base-files_1_all.deb", "snapshot": "20260101T000000Z",
                "bootstrap": True,
            }
        ],
    } | more  # fmt: skip


def on_base(**more):
    base = {
        "repo": "rocm/pytorch", "tag": "t", "digest": DIGEST, "digest_kind": "unknown", "status": "recorded",
        "sources": ["s"], "recorded": "2026-01-01",
    }  # fmt: skip
    return from_document(document(channel="amd", base=base, debs=[], environment={}) | more)


LOCK = from_document(document())
LAYER = [folder("etc"), Item("etc/x", b"1"), Item("var/log/dpkg.log", b"today")]


def saved(*extra):
    return image([tar([*LAYER, *extra])])


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path / "cache")
    store.part(sha256(DEB)).write_bytes(DEB)
    store.keep(sha256(DEB))
    return store


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out" / "small"


def engine_with(tmp_path, *builds, **more):
    return BuildingEngine(tmp_path, *builds, **more)


def left_in(out):
    return sorted(path.name for path in out.iterdir())


def test_a_build_leaves_its_image_its_record_and_nothing_else(store, out, tmp_path):
    engine = engine_with(tmp_path, saved())

    made = builder.build(LOCK, engine, store, out=out, progress=False)

    documents.check(made, "image-1")
    assert made == json.loads((out / "image.json").read_text())
    assert left_in(out) == [".lock", "image.json"]
    assert list(engine.images) == ["rocm-repro-kit:small"]
    assert engine.images["rocm-repro-kit:small"]["id"] == made["image_id"] == made["engine_id"]
    assert (made["lock_sha256"], made["base"], made["built_twice"]) == (LOCK.sha256, None, None)
    with tarfile.open(fileobj=BytesIO(engine.contexts[0])) as context:
        assert context.getnames() == ["Dockerfile", "first.tar", "debs/base-files_1_all.deb"]
        assert b'ENV A="b"\n' in context.extractfile("Dockerfile").read()


def test_an_unchanged_lock_builds_nothing(store, out, tmp_path):
    engine = engine_with(tmp_path, saved())
    made = builder.build(LOCK, engine, store, out=out, progress=False)

    assert builder.build(LOCK, engine, store, out=out, progress=False) == made
    assert builder.kept(LOCK, engine, out) == made
    assert len(engine.contexts) == 1


@pytest.mark.parametrize(
    "fault",
    ["image gone", "another image", "record broken", "record of another lock", "no record", "force"],
)
def test_it_is_built_again_when(store, out, tmp_path, fault):
    engine = engine_with(tmp_path, saved(), saved())
    made = builder.build(LOCK, engine, store, out=out, progress=False)
    path = out / "image.json"
    if fault == "image gone":
        engine.images.clear()
    elif fault == "another image":
        engine.images["rocm-repro-kit:small"] |= {"diff_ids": ["sha256:" + "0" * 64]}
    elif fault == "record broken":
        path.write_text(path.read_text()[:-20])
    elif fault == "record of another lock":
        path.write_text(json.dumps(made | {"lock_sha256": "0" * 64}))
    elif fault == "no record":
        path.unlink()

    again = builder.build(LOCK, engine, store, out=out, progress=False, force=fault == "force")

    assert len(engine.contexts) == 2
    assert again["image_id"] == made["image_id"]


def test_building_twice_the_same_is_identical(store, out, tmp_path):
    engine = engine_with(tmp_path, saved(), saved(Item("var/log/other.log", b"later")))
    umask = os.umask(0o022)
    os.umask(umask)

    made = builder.check(LOCK, engine, store, out=out, progress=False)

    assert made["built_twice"] == {"identical": True, "differences": []}
    assert builder.answer(made, built=True) == {
        **{
            key: made[key] for key in ("image_id", "engine_id", "manifest_digest", "diff_ids", "lock_sha256", "channel")
        },
        "built": True,
        "identical": True,
        "differences": [],
    }
    assert builder.exit_code(made) == 0
    assert record.read(out / "image.json") == made
    assert left_in(out) == [".lock", "image.json"]
    assert os.umask(umask) == umask
    assert list(engine.images) == ["rocm-repro-kit:small"]


@pytest.mark.parametrize("kept", [False, True], ids=["both built now", "the first recorded earlier"])
def test_building_twice_differently_names_the_files(store, out, tmp_path, kept):
    first = saved(Item("x", b"Mon Nov 30 19:15:35 UTC 2026"))
    engine = engine_with(tmp_path, first, saved(Item("x", b"Tue Dec  1 20:16:36 UTC 2026")))
    if kept:
        builder.build(LOCK, engine, store, out=out, progress=False)

    made = builder.check(LOCK, engine, store, out=out, progress=False)

    differences = [{"path": "/x", "kind": "content", "class": "timestamp"}]
    assert made["built_twice"] == {"identical": False, "differences": differences}
    assert builder.exit_code(made) == 1


def test_two_builds_that_differed_are_not_kept_and_a_new_build_ends_it(store, out, tmp_path, capsys):
    engine = engine_with(tmp_path, saved(), saved(Item("x", b"1")), saved(), saved())
    differing = builder.check(LOCK, engine, store, out=out, progress=False)
    assert builder.kept(LOCK, engine, out) is None

    made = builder.build(LOCK, engine, store, out=out)

    assert (builder.exit_code(differing), builder.exit_code(made)) == (1, 0)
    assert "came out differently: building it again" in capsys.readouterr().err
    assert builder.kept(LOCK, engine, out) == made
    record.write(differing, out / "image.json")
    assert builder.exit_code(builder.build(LOCK, engine, store, out=out, progress=False, force=True)) == 0


class Crowded(BuildingEngine):
    """An engine in which somebody else takes the name of what was built, at once."""

    def build(self, context, *, tag="", **more):
        built = super().build(context, tag=tag, **more)
        self.images[built] = self.images[tag]
        self._add(saved(Item("theirs", b"")), tag)
        return built


def test_the_image_is_ours_whoever_takes_its_name_meanwhile(store, out, tmp_path):
    alone = builder.build(LOCK, engine_with(tmp_path, saved()), store, out=tmp_path / "alone", progress=False)
    crowded = builder.build(LOCK, Crowded(tmp_path, saved()), store, out=out, progress=False)

    assert crowded["image_id"] == alone["image_id"]


def test_builds_in_two_folders_share_no_name(store, tmp_path):
    engine = engine_with(tmp_path, saved(), saved(), saved())
    builder.check(LOCK, engine, store, out=tmp_path / "a", progress=False)
    builder.build(LOCK, engine, store, out=tmp_path / "b", progress=False)

    assert engine.tags[0] == engine.tags[1], "a folder is one build's at a time"
    assert len(set(engine.tags)) == 2
    assert all(len(tag) <= len("rocm-repro-kit:") + 128 for tag in engine.tags), "what a tag may have"


@pytest.mark.parametrize(
    ("theirs", "left"),
    [
        pytest.param(saved(), ["rocm-repro-kit:small"], id="the same image: one name is enough"),
        pytest.param(saved(Item("x", b"")), ["rocm-repro-kit:small", "rocm-repro-kit:small-rebuilt"], id="another"),
    ],
)
def test_an_image_with_a_suffix_leaves_ours_its_name(store, out, tmp_path, theirs, left):
    engine = engine_with(tmp_path, saved(), theirs)
    ours = builder.build(LOCK, engine, store, out=out, progress=False)
    foreign = from_document(document(notes="another lock of this name"))

    made = builder.build(
        foreign, engine, store, out=tmp_path / "rebuilt", force=True, suffix="-rebuilt", progress=False
    )

    assert sorted(engine.images) == left
    assert made["reference"] == left[-1]
    assert engine.images["rocm-repro-kit:small"]["id"] == ours["engine_id"]
    assert builder.kept(LOCK, engine, out) == ours


def test_an_image_with_a_suffix_and_no_other_name_stays(store, out, tmp_path):
    engine = engine_with(tmp_path, saved())
    load_it = engine.load  # Podman tells names with a registry
    engine.load = lambda data, name: load_it(data, name) | {"tags": [f"localhost/{name}"]}

    made = builder.build(LOCK, engine, store, out=out, suffix="-rebuilt", progress=False)

    assert list(engine.images) == [made["reference"]] == ["rocm-repro-kit:small-rebuilt"]


def test_a_rebuilt_image_is_held_against_the_committed_identity_too(store, out, tmp_path, monkeypatch, capsys):
    asked = []
    surprise = [{"path": "small.image.json", "field": "image_id", "committed": "x", "built": "y"}]
    monkeypatch.setattr(record, "unexpected", lambda image: (asked.append(image), surprise)[1])

    made = builder.build(LOCK, engine_with(tmp_path, saved()), store, out=out, suffix="-rebuilt")

    assert asked == [made]
    assert "NOT the image committed in small.image.json" in capsys.readouterr().err


def test_whatever_takes_long_tells_how_far_it_is(store, out, tmp_path, monkeypatch):
    told = {}

    class Counting(Progress):
        def advance(self, amount=1):
            told[self.label] = told.get(self.label, 0) + amount

    for module in (assemble, builder):
        monkeypatch.setattr(module, "Progress", Counting)
    engine = engine_with(tmp_path, saved(), saved(Item("x", b"1")))
    builder.build(LOCK, engine, store, out=out, progress=False)
    assert set(told) == {"unpack", "dpkg", "save", "rewrite", "load"}
    told.clear()

    builder.check(LOCK, engine, store, out=out, progress=False)

    assert told["save"] > len(saved(Item("x", b"1"))), "the second build, and the recorded image"
    assert (told["unpack"], told["compare"]) == (1, 3)


def test_each_package_counts_twice():
    log = ["Unpacking a (1) ...", "Setting up a (1) ...", "Unpacking a (1) over (1) ...", "Unpacking b:amd64 (1) ..."]
    with Progress("dpkg", 4, unit="steps", shown=False) as steps:
        follow = assemble._packages(steps)
        for line in [*log, "Preparing to unpack a", "Setting up a (1) ..."]:
            follow(line)
        assert steps.done == 3
        follow("Setting up b:amd64 (1) ...")

    assert steps.done == 4


@pytest.mark.parametrize(("label", "then"), [("dpkg", "compiling byte code"), ("load", "the engine unpacks it")])
def test_what_goes_on_when_all_is_counted_is_said(store, out, tmp_path, monkeypatch, label, then):
    made = {}

    class Remembered(Progress):
        def __init__(self, label, *args, **more):
            super().__init__(label, *args, **more)
            made[label] = self.then

    monkeypatch.setattr(assemble, "Progress", Remembered)
    builder.build(LOCK, engine_with(tmp_path, saved()), store, out=out, progress=False)

    assert then in made[label]


@pytest.mark.parametrize("make", [builder.build, builder.check])
@pytest.mark.parametrize("more", [{}, {"environment": {"A": "1"}}], ids=["the base alone", "something added"])
def test_a_recipe_for_a_lock_that_no_recipe_makes_is_refused(store, out, tmp_path, make, more):
    engine = engine_with(tmp_path, images={f"rocm/pytorch@{DIGEST}": BASE_IMAGE})

    with pytest.raises(KitError, match="no Dockerfile makes it"):
        make(on_base(**more), engine, store, out=out, dockerfile=tmp_path / "Dockerfile", progress=False)


def test_another_recipe_makes_another_image_and_no_record(store, out, tmp_path):
    engine = engine_with(tmp_path, saved(), saved(Item("x", b"")), saved(Item("x", b"1")))
    made = builder.build(LOCK, engine, store, out=out, progress=False)
    recipe = tmp_path / "Dockerfile"
    recipe.write_text("FROM scratch\nRUN date > /x\n")

    other = builder.check(LOCK, engine, store, out=out, dockerfile=recipe, progress=False)

    assert other["reference"] == "rocm-repro-kit:small-custom"
    assert [one["path"] for one in other["built_twice"]["differences"]] == ["/x"]
    assert record.read(out / "image.json") == made
    assert engine.images["rocm-repro-kit:small"]["id"] == made["engine_id"]
    assert b"RUN date > /x" in engine.contexts[1]


@pytest.mark.parametrize(
    "fault",
    [EngineError("the engine died", "start it"), KeyboardInterrupt(), saved()[:3000]],
    ids=["engine", "Ctrl-C", "archive cut off"],
)
def test_a_build_that_ends_early_leaves_nothing_and_the_next_succeeds(store, out, tmp_path, fault):
    engine = engine_with(tmp_path, fault, saved())

    with pytest.raises((KitError, KeyboardInterrupt)):
        builder.build(LOCK, engine, store, out=out, progress=False)
    assert left_in(out) == [".lock"]
    assert engine.images == {}
    label = leftovers.label(out)
    assert [name for name, _ in engine.pruned].count(label) >= 2, "steps of this folder, before and after"

    assert builder.build(LOCK, engine, store, out=out, progress=False)["name"] == "small"


class Dying(BuildingEngine):
    """An engine that dies while it builds: whatever it is asked then, it does not answer."""

    dead = False

    def build(self, context, **more):
        self.dead = True
        return super().build(context, **more)

    def remove(self, reference, *, force=False):
        if self.dead:
            raise EngineError("cannot remove image: Connection refused", "./kit doctor")
        return super().remove(reference, force=force)


def test_of_an_engine_that_dies_the_first_word_is_told_and_not_the_last(store, out, tmp_path):
    engine = Dying(tmp_path, EngineError("cannot build the image: the engine hung up", "start it"))

    with pytest.raises(EngineError, match="the engine hung up"):
        builder.build(LOCK, engine, store, out=out, progress=False)
    assert left_in(out) == [".lock"]


def test_what_a_killed_build_left_is_removed(store, out, tmp_path):
    (out / ".tmp-dead" / "deep").mkdir(parents=True)
    (out / ".tmp-file").write_bytes(b"x")

    builder.build(LOCK, engine_with(tmp_path, saved()), store, out=out, progress=False)

    assert left_in(out) == [".lock", "image.json"]


def test_an_engine_that_made_something_else_of_the_archive_is_caught(store, out, tmp_path):
    engine = engine_with(tmp_path, saved())
    load_it = engine.load
    engine.load = lambda data, reference="": load_it(data, reference) | {"id": "sha256:" + "0" * 64}

    with pytest.raises(KitError, match="the engine calls the image sha256:000"):
        builder.build(LOCK, engine, store, out=out, progress=False)
    assert not (out / "image.json").exists()


def test_an_unresolved_hash_is_refused(store, out, tmp_path):
    lock = from_document(document(debs=[LOCK.debs[0] | {"sha256": None}]))

    with pytest.raises(KitError, match="has no sha256 for base-files"):
        builder.build(lock, engine_with(tmp_path), store, out=out, progress=False)


def test_a_missing_input_is_named(out, tmp_path):
    with pytest.raises(KitError, match="base-files 1 is not in the store"):
        builder.build(LOCK, engine_with(tmp_path), Store(tmp_path / "empty"), out=out, progress=False)


REMOTE_LAYER = registry.Descriptor("application/vnd.docker.image.rootfs.diff.tar.gzip", "sha256:" + "77" * 32, 1000)


def remote(**more):
    """Return the base as its registry tells of it."""
    config = {"architecture": "amd64", "os": "linux", "config": {"Env": ["PATH=/opt/x/bin", "A=old"], "Cmd": ["sh"]}}
    found = {
        "reference": parse(f"rocm/pytorch@{DIGEST}"),
        "index": None,
        "manifest": registry.Descriptor(registry.OCI_MANIFEST, DIGEST, 500),
        "config": registry.Descriptor("application/vnd.oci.image.config.v1+json", BASE_IMAGE["id"], 100),
        "layers": [REMOTE_LAYER],
        "manifest_document": {},
        "config_document": config | {"rootfs": {"type": "layers", "diff_ids": BASE_IMAGE["diff_ids"]}},
    }
    return registry.RemoteImage(**found | more)


@pytest.fixture
def based(tmp_path, registries):
    """An engine that has the base, which its registry knows."""
    registries.images[f"rocm/pytorch@{DIGEST}"] = remote()
    return engine_with(tmp_path, images={f"rocm/pytorch@{DIGEST}": BASE_IMAGE})


def answered(*items, **seen):
    """Return what our scripts leave in a container."""
    found = {"python": "3.13.5", "torch": {"version": "2.6.0"}, "rocm": [], "distributions": []} | seen
    members = [folder("out"), Item("out/found.json", json.dumps(found).encode())]
    return tar([*members, *([Item("out/layer.tar", tar(items))] if items else [])])


def archived(out):
    """Return what is in the archive that a build on a base keeps."""
    with tarfile.open(out / "image.tar") as file:
        return {name: file.extractfile(name).read() for name in file.getnames()}


@pytest.mark.parametrize("answers", [True, False], ids=["the registry answers", "it does not"])
def test_a_base_to_which_nothing_is_added_is_the_image(store, out, based, registries, answers):
    if not answers:
        registries.images.clear()

    made = builder.check(on_base(), based, store, out=out, progress=False)

    documents.check(made, "image-1")
    assert (made["image_id"], made["engine_id"]) == (BASE_IMAGE["id"], BASE_IMAGE["id"])
    assert made["manifest_digest"] == made["base"]["manifest_digest"] == (DIGEST if answers else None)
    assert made["size_bytes"] == (1000 if answers else BASE_IMAGE["size"])
    assert made["base"]["reference"] == made["reference"] == f"rocm/pytorch@{DIGEST}"
    assert (based.contexts, based.worked) == ([], [])
    assert builder.exit_code(made) == 0


def test_an_environment_on_a_base_is_a_configuration_and_no_layer(store, out, based):
    based.answers = [answered(), answered()]
    made = builder.check(on_base(environment={"A": "1"}), based, store, out=out, progress=False)

    documents.check(made, "image-1")
    assert made["built_twice"] == {"identical": True, "differences": []}
    assert [one["argv"][-1] for one in based.worked] == ["look", "look"]
    assert made["diff_ids"] == BASE_IMAGE["diff_ids"]
    read = archived(out)
    config = json.loads(read["blobs/sha256/" + made["image_id"].removeprefix("sha256:")])
    assert config["config"] == {"Env": ["PATH=/opt/x/bin", "A=1"], "Cmd": ["sh"]}


def test_packages_on_a_base_are_one_layer_and_the_base_is_never_saved(store, out, based):
    based.save = lambda _: pytest.fail("the base was exported")
    installed = [Item("usr/x", b"1"), Item("etc/.wh.old"), Item("var/log/dpkg.log", b"today")]
    based.answers = [answered(), answered(*installed), answered(), answered(*installed)]

    made = builder.check(on_base(debs=LOCK.debs), based, store, out=out, progress=False)

    assert made["built_twice"] == {"identical": True, "differences": []}
    assert made["diff_ids"][:1] == BASE_IMAGE["diff_ids"]
    read = archived(out)
    manifest = json.loads(read["blobs/sha256/" + made["manifest_digest"].removeprefix("sha256:")])
    assert [layer["digest"] for layer in manifest["layers"]] == [REMOTE_LAYER.digest, made["diff_ids"][1]]
    assert manifest["layers"][0]["mediaType"] == "application/vnd.oci.image.layer.v1.tar+gzip"
    with tarfile.open(fileobj=BytesIO(read["blobs/sha256/" + made["diff_ids"][1].removeprefix("sha256:")])) as layer:
        assert layer.getnames() == ["etc/.wh.old", "usr/x"]
    files = based.worked[1]["files"]
    assert files["debs/base-files_1_all.deb"] == DEB
    assert json.loads(files["plan.json"])["debs"] == [
        {"name": "base-files", "version": "1", "file": "base-files_1_all.deb"}
    ]
    assert {one["label"] for one in based.worked} == {leftovers.label(out)}
    assert left_in(out) == [".lock", "image.json", "image.tar"]
    assert builder.kept(on_base(debs=LOCK.debs), based, out) == made


def test_two_builds_on_a_base_that_differ_are_compared_without_the_base(store, out, based):
    first, second = ([Item("x", f"Mon Nov 30 19:15:{second} UTC 2026".encode())] for second in (10, 11))
    based.answers = [answered(), answered(*first), answered(), answered(*second)]

    made = builder.check(on_base(debs=LOCK.debs), based, store, out=out, progress=False)

    assert made["built_twice"] == {
        "identical": False,
        "differences": [{"path": "/x", "kind": "content", "class": "timestamp"}],
    }


@pytest.mark.parametrize("lost", [False, True], ids=["its archive is there", "its archive is gone"])
def test_an_image_on_a_base_that_was_built_earlier_is_compared_with_what_was_kept(store, out, based, lost):
    layer = [Item("x", b"1")]
    based.answers = [answered(), answered(*layer)] * (3 if lost else 2)
    builder.build(on_base(debs=LOCK.debs), based, store, out=out, progress=False)
    if lost:
        (out / "image.tar").unlink()

    assert builder.check(on_base(debs=LOCK.debs), based, store, out=out, progress=False)["built_twice"]["identical"]
    assert based.answers == []


@pytest.mark.parametrize(
    ("more", "seen", "says"),
    [
        ({}, {"python": "3.10.12"}, "Python 3.10.12, and the lock says 3.13"),
        (
            {},
            {"torch": {"version": "2.1.0+x", "hip": None, "cuda": None}},
            r"PyTorch 2.1.0\+x, and the lock says 2.6.0",
        ),
    ],
)
def test_a_base_that_is_not_what_its_lock_says_is_refused_before_anything_is_built_on_it(
    store, out, based, more, seen, says
):
    based.answers = [answered(**seen)]

    with pytest.raises(KitError, match=says):
        builder.build(on_base(debs=LOCK.debs, **more), based, store, out=out, progress=False)
    assert left_in(out) == [".lock"]
    assert [one["argv"][-1] for one in based.worked] == ["look"]


@pytest.mark.parametrize(
    "answer",
    [
        tar([folder("out")]),
        tar([Item("out/found.json", b"[]")]),
        tar([Item("out/found.json", b"{}")]),
        b"rubbish" * 100,
    ],
    ids=["nothing", "no document", "an empty one", "no tar"],
)
def test_a_base_that_answers_nonsense_is_refused(store, out, based, answer):
    based.answers = [answer]

    with pytest.raises(KitError):
        builder.build(on_base(debs=LOCK.debs), based, store, out=out, progress=False)


@pytest.mark.parametrize(
    "layer",
    [[Item("../../etc/x", b"")], [Item("/abs", b"")], [link("x", "nothing")], [Item("a/.wh...", b"")]],
    ids=["out of the root", "absolute", "a link to nothing", "hiding what is above"],
)
def test_a_layer_that_a_hostile_base_wrote_is_refused(store, out, based, layer):
    based.answers = [answered(), answered(*layer)]

    with pytest.raises(KitError):
        builder.build(on_base(debs=LOCK.debs), based, store, out=out, progress=False)
    assert left_in(out) == [".lock"]


def test_a_base_of_which_no_registry_tells_gets_nothing_on_top(store, out, based, registries):
    registries.images.clear()

    with pytest.raises(KitError, match="does not answer"):
        builder.build(on_base(debs=LOCK.debs), based, store, out=out, progress=False)


def test_a_base_that_the_engine_has_otherwise_than_its_registry_is_refused(store, out, based):
    based.images[f"rocm/pytorch@{DIGEST}"] = BASE_IMAGE | {"diff_ids": ["sha256:" + "0" * 64]}

    with pytest.raises(KitError, match="the engine has another image under"):
        builder.build(on_base(), based, store, out=out, progress=False)


@pytest.mark.parametrize("kind", ["unknown", "config"])
def test_a_base_for_another_platform_is_refused(store, out, tmp_path, kind):
    there = BASE_IMAGE | {"platform": "linux/arm64"}
    engine = engine_with(tmp_path, images={f"rocm/pytorch@{DIGEST}": there, DIGEST: there})
    base = on_base().base | {"digest_kind": kind}

    with pytest.raises(KitError, match="is for linux/arm64, and the lock for linux/amd64"):
        builder.build(on_base(base=base), engine, store, out=out, progress=False)


def test_a_base_that_passes_its_gpu_for_another_is_said(store, out, based, registries, capsys):
    config = remote().config_document | {"config": {"Env": ["HSA_OVERRIDE_GFX_VERSION=10.3.0"]}}
    registries.images[f"rocm/pytorch@{DIGEST}"] = remote(config_document=config)

    builder.build(on_base(), based, store, out=out)

    assert "warning: the base sets HSA_OVERRIDE_GFX_VERSION=10.3.0" in capsys.readouterr().err


def by_id(**more):
    return on_base(base=on_base().base | {"digest_kind": "config", "digest": BASE_IMAGE["id"]}, **more)


def test_a_base_known_by_its_id_alone_is_taken_from_the_engine_and_what_is_not_known_is_null(
    store, out, tmp_path, registries
):
    engine = engine_with(tmp_path, images={"mine:1": BASE_IMAGE | {"config": {"Env": ["B=1"]}}})
    engine.answers = [answered(), answered(Item("x", b"1"))]

    alone = builder.build(by_id(), engine, store, out=out / "a", progress=False)
    made = builder.build(by_id(debs=LOCK.debs), engine, store, out=out / "b", progress=False)

    documents.check(alone, "image-1")
    documents.check(made, "image-1")
    assert (alone["reference"], alone["image_id"]) == (BASE_IMAGE["id"], BASE_IMAGE["id"])
    assert {one["manifest_digest"] for one in (alone, made, alone["base"], made["base"])} == {None}
    assert made["diff_ids"][:1] == BASE_IMAGE["diff_ids"]
    assert made["base"]["reference"] == f"rocm/pytorch@{BASE_IMAGE['id']}"
    assert registries.asked == []


@pytest.mark.parametrize(
    ("more", "says"), [({}, "the engine has no image"), ({"about": {"storage": "containerd"}}, "containerd store")]
)
def test_a_base_known_by_its_id_alone_must_be_there(store, out, tmp_path, more, says):
    images = {"mine:1": BASE_IMAGE} if more else {}

    with pytest.raises(KitError, match=says):
        builder.build(by_id(), engine_with(tmp_path, images=images, **more), store, out=out, progress=False)


@pytest.mark.parametrize("told", [True, False])
def test_with_the_containerd_store_the_registry_tells_the_configuration(store, out, based, registries, told):
    based.description["storage"] = "containerd"
    based.images[f"rocm/pytorch@{DIGEST}"] = BASE_IMAGE | {"id": DIGEST}
    if told:
        made = builder.build(on_base(), based, store, out=out, progress=False)
        assert (made["image_id"], made["engine_id"]) == (BASE_IMAGE["id"], DIGEST)
    else:
        registries.images.clear()
        with pytest.raises(KitError, match="only its registry tells"):
            builder.build(on_base(), based, store, out=out, progress=False)


def test_a_base_that_no_registry_gives_is_named_by_digest(store, out, tmp_path, monkeypatch):
    monkeypatch.setattr(room, "BASE_BYTES", 0)

    with pytest.raises(KitError, match=DIGEST):
        builder.build(on_base(), engine_with(tmp_path), store, out=out, progress=False)


def test_dry_run_tells_inputs_sizes_and_steps(store, out):
    plan = builder.plan(LOCK, store, out)

    assert plan["inputs"] == {
        "files": 1, "bytes": len(DEB), "missing_files": 0, "missing_bytes": 0, "missing_of_unknown_size": 0,
    }  # fmt: skip
    assert plan["disk"]["work_free_bytes"] > 0
    assert "1 files" in builder.describe(plan)
    assert f"pull rocm/pytorch@{DIGEST}" in builder.describe(builder.plan(on_base(), store, out))
    assert not out.exists()


def test_dry_run_refuses_what_build_refuses(tmp_path):
    with pytest.raises(KitError, match="has no sha256 for pytorch_triton_rocm"):
        builder.plan(load(PINS / "wheel-rocm6.4-torch2.9.lock.yaml"), Store(tmp_path))


def test_dry_run_says_how_many_files_have_no_known_size(tmp_path):
    lock = load(PINS / "wheel-rocm7.2-torch2.12.lock.yaml")
    unsized = [wheel for wheel in lock.wheels if wheel["size"] is None]

    plan = builder.plan(lock, Store(tmp_path))

    assert plan["inputs"]["missing_of_unknown_size"] == len(unsized) > 0
    assert f"{len(unsized)} files whose size the lock does not know" in builder.describe(plan)


@pytest.mark.parametrize("engine", [None, KitError("no engine", "start one"), BuildingEngine(None)])
def test_dry_run_says_first_that_the_image_is_there(committed, store, out, tmp_path, monkeypatch, engine):
    monkeypatch.setattr(record.there, "__kwdefaults__", {"pins": tmp_path / "pins"})
    for asked, known in ((engine, None), (committed[0], committed[1]["image_id"])):
        plan = builder.plan(LOCK, store, out, engine=asked)

        assert plan["image"] == known
        assert builder.describe(plan).startswith(f"image   {known}\n        the engine has it" if known else "lock  ")
    assert not out.exists()


# With the real engine ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def minimal():
    """The minimal system of the committed lock, and a store with its packages."""
    whole = load(PINS / "debian13-hip5.7-torch2.6cpu.lock.yaml")
    debs = [item for item in whole.debs if item["bootstrap"]]
    lock = from_document(whole.document | {"name": "kit-test-minimal", "debs": debs})
    store = Store()
    try:
        fetch(lock, store, progress=False)
    except KitError as error:
        pytest.skip(f"the packages of the minimal system cannot be had: {error.message}")
    return lock, store


@pytest.mark.engine
def test_two_builds_of_a_minimal_debian_differ_in_nothing_but_the_date_that_a_recipe_writes(engine, minimal, tmp_path):
    lock, store = minimal
    out, recipe = tmp_path / "out", tmp_path / "Dockerfile"
    recipe.write_text(assemble.DOCKERFILE.read_text() + "RUN date +%s%N > /x\n")
    try:
        made = builder.check(lock, engine, store, out=out, dockerfile=recipe, progress=False)

        assert made["built_twice"] == {
            "identical": False,
            "differences": [{"path": "/x", "kind": "content", "class": "timestamp"}],
        }
        assert builder.exit_code(made) == 1
        assert engine.image(made["reference"])["id"] == made["engine_id"]
        assert engine.image(made["reference"])["diff_ids"] == made["diff_ids"]
        names = [name for found in engine.api.images() for name in found.get("RepoTags") or []]
        assert [name for name in names if ":kit-test-minimal" in name] == ["rocm-repro-kit:kit-test-minimal-custom"]
        assert left_in(out) == [".lock"]
    finally:
        engine.remove("rocm-repro-kit:kit-test-minimal-custom", force=True)


@pytest.mark.engine
def test_a_build_that_fails_leaves_no_step_in_the_engine(engine, minimal, tmp_path):
    lock, store = minimal
    recipe = tmp_path / "Dockerfile"
    recipe.write_text("FROM scratch\nADD first.tar /\nENV X=1\nRUN exit 7\n")

    with pytest.raises(KitError, match="non-zero code: 7"):
        builder.build(lock, engine, store, out=tmp_path / "out", dockerfile=recipe, progress=False)

    label = leftovers.label(tmp_path / "out")
    assert engine.api.images(all=True, filters={"label": label}) == []
    assert left_in(tmp_path / "out") == [".lock"]


BUILDING = """
import signal, sys
from pathlib import Path
from images import build as builder, engine as engines
from pins.lock import load
from pins.store import Store
for number in (signal.SIGTERM, signal.SIGHUP):  # as ./kit does
    signal.signal(number, lambda number, _frame: sys.exit(128 + number))
folder = Path(sys.argv[1])
lock, store = load(folder / "small.lock.yaml"), Store(folder / "cache")
builder.build(lock, engines.connect(), store, out=folder / "out", dockerfile=folder / "Dockerfile", progress=False)
"""


@pytest.fixture
def busy(tmp_path, busybox_file):
    """A lock of one package, which is busybox, and a recipe whose second step takes a minute."""
    data = deb([folder("./"), folder("./bin"), Item("./bin/busybox", busybox_file.read_bytes(), mode=0o755)])
    entry = LOCK.debs[0] | {"sha256": sha256(data), "size": len(data)}
    store = Store(tmp_path / "cache")
    store.part(sha256(data)).write_bytes(data)
    store.keep(sha256(data))
    write(document(debs=[entry]), tmp_path / "small.lock.yaml")
    (tmp_path / "Dockerfile").write_text('FROM scratch\nADD first.tar /\nRUN ["/bin/busybox", "sleep", "60"]\n')
    return tmp_path


def left_in_engine(engine, out):
    """Return the containers and the images that a build for `out` has in the engine."""
    wanted = {"label": leftovers.label(out)}
    return engine.api.containers(all=True, filters=wanted), engine.api.images(all=True, filters=wanted)


@pytest.mark.engine
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGKILL])
def test_a_build_that_is_ended_by_a_signal_leaves_nothing_or_the_next_command_clears_it(engine, busy, number):
    out = busy / "out"
    with subprocess.Popen([sys.executable, "-c", BUILDING, busy], cwd=ROOT, stderr=subprocess.DEVNULL) as kit:
        deadline = time.monotonic() + 60
        while not any("sleep" in item["Command"] for item in left_in_engine(engine, out)[0]):
            assert time.monotonic() < deadline, "the step never began"
            time.sleep(0.1)
        kit.send_signal(number)
        kit.wait(60)
    killed = number == signal.SIGKILL
    assert (left_in(out) == [".lock"]) is not killed
    if killed:
        assert builder.kept(LOCK, engine, out) is None

    assert left_in(out) == [".lock"]
    assert left_in_engine(engine, out) == ([], [])


# The committed image --------------------------------------------------------------------------------------------------


@pytest.fixture
def committed(store, tmp_path):
    """An engine in which somebody built the image, and its record, committed beside the lock; `out` knows neither."""
    engine = engine_with(tmp_path, saved(), saved())
    made = builder.build(LOCK, engine, store, out=tmp_path / "elsewhere", progress=False)
    made |= {"built_at": "2026-01-01T00:00:00Z", "built_twice": {"identical": True, "differences": []}}
    record.write(made, tmp_path / "pins" / "small.image.json")
    return engine, made


def adopt(engine, out, tmp_path):
    told = []
    return record.adopted(LOCK, engine, out, pins=tmp_path / "pins", tell=told.append), told


def test_the_committed_image_is_adopted_where_the_engine_has_it(committed, out, tmp_path):
    engine, made = committed

    found, told = adopt(engine, out, tmp_path)

    assert found == made | {"built_twice": None} == record.read(out / "image.json"), "nothing was built twice here"
    assert told == ["the engine has the very image committed in small.image.json: nothing is built"]
    assert len(engine.contexts) == 1
    assert record.answer(found, built=False)["built"] is False
    assert "identical" not in record.answer(found, built=False)


def test_where_an_image_comes_from_is_said(committed, store, out, tmp_path):
    engine, _ = committed
    found, _ = adopt(engine, out, tmp_path)
    engine.builds.append(saved())
    made = builder.build(LOCK, engine, store, out=out, progress=False, force=True)

    assert record.origin(found, tmp_path / "pins") == "as committed with the kit, not built here"
    assert record.origin(made, tmp_path / "pins") == f"built {made['built_at']}"
    assert record.origin(found, tmp_path / "none") == "built 2026-01-01T00:00:00Z"
    itself = found | {"base": {"config_digest": found["image_id"]}}
    assert record.origin(itself, tmp_path / "none") == "its base itself, found 2026-01-01T00:00:00Z"


def test_a_name_and_an_id_of_this_engine_are_the_record_s(committed, out, tmp_path):
    engine, made = committed
    found = engine.images.pop("rocm-repro-kit:small")
    engine.images["theirs:x"] = found | {"tags": ["theirs:x"], "id": made["manifest_digest"]}

    adopted, _ = adopt(engine, out, tmp_path)

    assert (adopted["reference"], adopted["engine_id"]) == ("theirs:x", made["manifest_digest"])
    assert {key: adopted[key] for key in record.IDENTITY} == {key: made[key] for key in record.IDENTITY}


@pytest.mark.parametrize("fault", ["no image", "other layers", "no name", "another lock", "nothing committed"])
def test_nothing_else_is_adopted(committed, out, tmp_path, fault):
    engine, made = committed
    path = tmp_path / "pins" / "small.image.json"
    if fault == "no image":
        engine.images.clear()
    elif fault == "other layers":
        engine.images["rocm-repro-kit:small"] |= {"diff_ids": ["sha256:" + "0" * 64]}
    elif fault == "no name":
        engine.images["rocm-repro-kit:small"] |= {"tags": []}
    elif fault == "another lock":
        record.write(made | {"lock_sha256": "0" * 64}, path)
    else:
        path.unlink()

    assert adopt(engine, out, tmp_path) == (None, [])
    assert not out.exists()


@pytest.mark.parametrize("adopted", [False, True])
def test_a_second_build_is_compared_with_one_made_here(committed, store, out, tmp_path, monkeypatch, adopted):
    engine, _ = committed
    engine.builds.append(saved())
    monkeypatch.setattr(record.as_committed, "__defaults__", (tmp_path / "pins",))
    if adopted:
        adopt(engine, out, tmp_path)

    builder.check(LOCK, engine, store, out=out, progress=False)

    assert len(engine.contexts) == 3, "what others built is no first build"
