"""What is pushed has the recorded digest, whatever engine has the image, and a second push sends nothing."""

import json

import pytest

from images.canonical import rewrite
from images.push import push
from pins import registry, registry_client
from pins.registry_documents import Descriptor
from pins.store import Store
from schema.errors import KitError
from tests.fakes import FakeEngine
from tests.images import fakes_archives
from tests.images.fakes_archives import FORMS, Item, folder, tar
from tests.pins.fakes_registry import DOCKER, MANIFEST, Debian, Image, digest

ENGINES = [form for form in FORMS if form != "oci gzipped"]  # no engine compresses what it was given plain
LOWER, UPPER, OURS = (tar([folder(name), Item(f"{name}/file", name.encode() * 5000)]) for name in ("a", "b", "ours"))
NAME = "amd-rocm7.2-torch2.10"


REGISTRY = registry.image  # the real one: here a real registry answers


@pytest.fixture(autouse=True)
def apart(monkeypatch, registries, tmp_path):
    assert registries.asked == []
    monkeypatch.setattr(registry, "image", REGISTRY)
    monkeypatch.setattr(registry_client, "BACK_OFF_S", 0.001)
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "docker"))
    monkeypatch.setenv("KIT_CACHE", str(tmp_path / "cache"))
    (tmp_path / "out").mkdir()


def configuration(archive):
    import io
    import tarfile

    with tarfile.open(fileobj=io.BytesIO(archive)) as file:
        for member in file:
            data = file.extractfile(member).read() if member.isreg() else b""
            if data.startswith(b"{") and b"rootfs" in data:
                return data
    raise AssertionError


def world(form="legacy", *, base=None, layers=(OURS,)):
    """An engine that has an image (on a `base`, a name by digest and its image), and the record of it."""
    below = [] if base is None else [LOWER, UPPER]
    archive = fakes_archives.image([*below, *layers], form)
    config = configuration(archive)
    entries = [] if base is None else base[1].document["layers"]
    oci = [
        entry
        | {"mediaType": entry["mediaType"].replace(f"{DOCKER}.image.rootfs.diff", "application/vnd.oci.image.layer.v1")}
        for entry in entries
    ]
    manifest = json.dumps(
        {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": {
                "mediaType": "application/vnd.oci.image.config.v1+json",
                "digest": digest(config),
                "size": len(config),
            },
            "layers": [
                *oci,
                *(
                    {"mediaType": "application/vnd.oci.image.layer.v1.tar", "digest": digest(one), "size": len(one)}
                    for one in layers
                ),
            ],
        },
        sort_keys=True,
        separators=(",", ":"),
    ).encode()
    record = {
        "name": NAME,
        "image_id": digest(config),
        "engine_id": digest(config),
        "manifest_digest": digest(manifest),
        "diff_ids": [digest(one) for one in (*below, *layers)],
        "base": base
        and {
            "reference": base[0],
            "digest": digest(base[1].manifest),
            "manifest_digest": digest(base[1].manifest),
            "config_digest": digest(base[1].config),
            "diff_ids": [digest(one) for one in below],
        },
    }
    engine = FakeEngine(images={"x": {"id": digest(config), "archive": archive}})
    return record, engine, manifest


def base_in(registry, repository="their/base", *, docker=False):
    """Put a base with compressed layers there, and return its name by digest and itself."""
    compressed = (b"gzip of a", b"gzip of b")  # nobody here unpacks them
    platform = {"os": "linux", "architecture": "amd64"}
    config = platform | {"rootfs": {"type": "layers", "diff_ids": [digest(LOWER), digest(UPPER)]}}
    there = Image(compressed, config=config, docker=docker)
    registry.put(there, repository)
    return f"{registry.host}/{repository}@{digest(there.manifest)}", there


def pushed(tmp_path, record, engine, where):
    return push(record, engine, where, out=tmp_path / "out", store=Store(), progress=False)


@pytest.mark.parametrize("form", ENGINES)
def test_the_registry_has_the_recorded_manifest_whatever_the_engine_saves(debian, tmp_path, form):
    record, engine, manifest = world(form)

    done = pushed(tmp_path, record, engine, f"{debian.host}/ours/image:1")

    assert done.pull == f"{debian.host}/ours/image@{digest(manifest)}"
    found = registry.image(done.pull, store=Store(tmp_path / "nothing"))
    assert (found.manifest.digest, found.config.digest) == (record["manifest_digest"], record["image_id"])
    assert found.layers == [Descriptor("application/vnd.oci.image.layer.v1.tar", digest(OURS), len(OURS))]
    assert debian.request("GET", f"/v2/ours/image/blobs/{digest(OURS)}")[2] == OURS
    assert registry.image(f"{debian.host}/ours/image:1").manifest.digest == digest(manifest)
    assert not list((tmp_path / "out").iterdir()), "nothing is left"


@pytest.mark.parametrize("form", ENGINES)
def test_a_base_in_the_same_registry_is_mounted_and_only_our_layer_sent(debian, tmp_path, form):
    record, engine, manifest = world(form, base=base_in(debian))

    done = pushed(tmp_path, record, engine, f"{debian.host}/ours/image")

    config = len(configuration(engine.images["x"]["archive"]))
    assert (done.tag, done.sent_bytes, done.mounted_bytes) == (
        NAME,
        len(OURS) + config,
        len(b"gzip of a" + b"gzip of b"),
    )
    assert registry.image(done.pull, store=Store(tmp_path / "nothing")).manifest_document == json.loads(manifest)


@pytest.mark.parametrize("docker", [False, True], ids=["OCI's media types", "Docker's media types"])
def test_a_base_in_another_registry_is_copied_by_digest(debian, registry_program, tmp_path, docker):
    record, engine, _ = world(base=base_in(debian, docker=docker))
    other = Debian(registry_program, tmp_path / "other")
    try:
        done = pushed(tmp_path, record, engine, f"{other.host}/ours/image:1")

        assert done.mounted_bytes == 0
        assert other.request("GET", f"/v2/ours/image/blobs/{digest(b'gzip of a')}")[2] == b"gzip of a"
        assert registry.image(done.pull, store=Store(tmp_path / "nothing")).config.digest == record["image_id"]
    finally:
        other.stop()


def test_a_second_push_sends_nothing_and_does_not_ask_the_engine(debian, tmp_path):
    record, engine, _ = world(base=base_in(debian))
    pushed(tmp_path, record, engine, f"{debian.host}/ours/image:1")
    engine.images.clear()

    done = pushed(tmp_path, record, engine, f"{debian.host}/ours/image:2")

    assert (done.sent_bytes, done.mounted_bytes) == (0, 0)
    assert registry.image(f"{debian.host}/ours/image:2").manifest.digest == record["manifest_digest"]


@pytest.mark.parametrize("kept", ["its archive", "that of another build"])
def test_what_a_build_on_a_base_keeps_spares_the_engine_its_archive(debian, tmp_path, kept):
    record, engine, _ = world("oci", base=base_in(debian))
    archive = engine.images["x"]["archive"]
    (tmp_path / "out/image.tar").write_bytes(archive if kept == "its archive" else fakes_archives.image([LOWER], "oci"))
    if kept == "its archive":
        engine.images.clear()

    pushed(tmp_path, record, engine, f"{debian.host}/ours/image:1")

    assert registry.image(f"{debian.host}/ours/image:1").manifest.digest == record["manifest_digest"]


def test_a_push_that_was_cut_off_goes_on_when_it_is_repeated(debian, tmp_path):
    record, engine, _ = world()
    debian.put_blob(OURS, "ours/image", digest(OURS))

    done = pushed(tmp_path, record, engine, f"{debian.host}/ours/image:1")

    assert done.sent_bytes == len(configuration(engine.images["x"]["archive"]))


def test_an_image_that_only_sets_variables_on_its_base_has_no_layer_of_ours(debian, tmp_path):
    record, engine, _ = world(base=base_in(debian), layers=())

    done = pushed(tmp_path, record, engine, f"{debian.host}/ours/image")

    assert registry.image(done.pull).diff_ids == [digest(LOWER), digest(UPPER)]


@pytest.mark.parametrize("with_base", [False, True], ids=["all ours", "on a base"])
def test_a_folder_gets_an_oci_layout(debian, tmp_path, with_base):
    record, engine, manifest = world(base=base_in(debian) if with_base else None)

    done = pushed(tmp_path, record, engine, f"oci:{tmp_path}/layout")

    assert done.pull == f"oci:{tmp_path}/layout:{NAME}"
    index = json.loads((tmp_path / "layout/index.json").read_bytes())
    assert [entry["digest"] for entry in index["manifests"]] == [digest(manifest)]
    for entry in (json.loads(manifest)["config"], *json.loads(manifest)["layers"]):
        path = tmp_path / "layout/blobs/sha256" / entry["digest"].removeprefix("sha256:")
        assert (digest(path.read_bytes()), path.stat().st_size) == (entry["digest"], entry["size"])
    assert pushed(tmp_path, record, engine, f"oci:{tmp_path}/layout").sent_bytes == 0


REFUSED = {  # sentence: (changes to the record, words)
    "an image whose manifest would be another": ({"manifest_digest": digest(b"x")}, "not the recorded one"),
    "an image of other layers": ({"diff_ids": [digest(b"x")]}, "does not have sha256:.*, which the record says"),
    "an image of another configuration": ({"image_id": digest(b"x")}, "does not have sha256:"),
}


@pytest.mark.parametrize(("changes", "words"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_the_recorded_image_is_not_pushed(debian, tmp_path, changes, words):
    record, engine, _ = world()

    with pytest.raises(KitError, match=words) as caught:
        pushed(tmp_path, record | changes, engine, f"{debian.host}/ours/image:1")

    assert caught.value.hint
    assert not list((tmp_path / "out").iterdir())
    with pytest.raises(KitError, match="has no repository"):
        registry.image(f"{debian.host}/ours/image:1")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"manifest_digest": None}, "no registry is known to have the base"),
        ({"image_id": "the base's"}, "to which nothing was added"),
    ],
    ids=["a base that no registry has", "a base alone"],
)
def test_what_has_no_manifest_of_ours_is_not_pushed(debian, tmp_path, changes, words):
    record, engine, _ = world(base=base_in(debian))
    if changes.get("image_id"):
        changes = {"image_id": record["base"]["config_digest"]}

    with pytest.raises(KitError, match=words) as caught:
        pushed(tmp_path, record | changes, engine, f"{debian.host}/ours/image:1")
    assert caught.value.hint


def test_a_base_that_is_gone_from_its_registry_is_said_before_anything_is_sent(debian, tmp_path):
    record, engine, _ = world(base=base_in(debian))
    debian.request("DELETE", f"/v2/their/base/manifests/{record['base']['digest']}")

    with pytest.raises(KitError, match=f"has no manifest {record['base']['digest']}"):
        pushed(tmp_path, record, engine, f"{debian.host}/ours/image:1")


@pytest.mark.parametrize("where", ["oci:", "x@sha256:" + "a" * 64, "http://x/y", "oci://x/y", "X/Y"])
def test_where_an_image_cannot_go_is_said(tmp_path, where):
    record, engine, _ = world()

    with pytest.raises(KitError) as caught:
        pushed(tmp_path, record, engine, where)
    assert caught.value.hint


def test_an_archive_that_is_none_is_said(debian, tmp_path):
    record, engine, _ = world()
    engine.images["x"]["archive"] = b"no tar" * 200

    with pytest.raises(KitError, match="archive of the image cannot be read"):
        pushed(tmp_path, record, engine, f"{debian.host}/ours/image:1")


@pytest.mark.engine
def test_an_engine_pulls_by_the_recorded_digest_what_was_pushed(engine, busybox, debian, tmp_path):
    """The real engine's archive, the real registry, and the pull that everybody else makes."""
    reference = "rocm-repro-kit-test:pushed"
    (tmp_path / "saved.tar").write_bytes(b"".join(engine.save(busybox)))
    identity = rewrite(tmp_path / "saved.tar", tmp_path / "image.tar", epoch=1_700_000_000, reference=reference)
    loaded = engine.load(iter([(tmp_path / "image.tar").read_bytes()]), reference)
    record = {"name": "pushed", "engine_id": loaded["id"], "base": None}
    record |= {key: getattr(identity, key) for key in ("image_id", "manifest_digest", "diff_ids")}
    try:
        done = pushed(tmp_path, record, engine, f"{debian.host}/ours/image:1")
    finally:
        engine.remove(reference, force=True)
    assert engine.image(identity.image_id) is None

    pulled = engine.pull(done.pull)
    try:
        assert pulled["id"] in {identity.image_id, identity.manifest_digest}
        assert pulled["diff_ids"] == identity.diff_ids
    finally:
        engine.remove(done.pull, force=True)


@pytest.mark.parametrize("where", ["127.0.0.1:5990", "user4-app:1", "some/image"])
def test_without_a_host_nothing_goes_to_docker_hub(tmp_path, where):
    record, engine, _ = world()

    with pytest.raises(KitError, match="names no registry"):
        pushed(tmp_path, record, engine, where)
