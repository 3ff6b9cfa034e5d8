import io
import json
import os
import random
import shutil
import tarfile
from pathlib import Path

import pytest

from images import archive, compare
from images.canonical import Addition, Below, above, rewrite
from images.tar import Tar
from pins.registry_documents import Descriptor
from schema.errors import KitError
from tests.conftest import context
from tests.images.fakes_archives import EPOCH, FORMS, Item, folder, image, link, sha256, symlink, tar

CAPABILITY = {"SCHILY.xattr.security.capability": "\x01\0\0\x02\x00\x20\0\0\0\0\0\0\0\0\0\0\0\0\0\0"}
BELOW = [
    folder("etc"),
    Item("etc/machine-id", b"0123456789abcdef\n"),
    Item("etc/shadow", b"root:*:20500:0:99999:7:::\nold:*:100:0:::::\n", mode=0o640, gid=42),
    Item("etc/resolv.conf", b"nameserver 10.0.0.1\n"),
    folder("gone"),
    Item("gone/in", b"x"),
    folder("turned"),
    Item("turned/in", b"x"),
    Item("was-file", b"x"),
    folder("var"),
    folder("var/log"),
    folder("var/log/apt"),
    Item("var/log/apt/history.log", b"Start-Date: today"),
    folder("run"),
    folder("run/lock"),
    folder("tmp", mode=0o1777),
    Item("tmp/left", b"x"),
]
ABOVE = [
    Item(".wh.gone"),
    Item("turned", b"a file now"),
    folder("was-file"),
    Item("was-file/in", b"y"),
    folder("new"),
    Item("new/.wh..wh..opq"),
    Item("new/z-first", b"shared", mtime=EPOCH + 99),
    link("new/a-second", "new/z-first"),
    Item("new/tool", b"\x7fELF", mode=0o4755, pax=CAPABILITY),
    Item("new/pipe", kind="fifo"),
    Item("new/sparse", bytes(100_000)),
    Item("new/before-1970", b"", mtime=-86400.5),
    Item("new/" + "long" * 50, b"l"),
    Item("new/\N{SNOWMAN} \N{GREEK SMALL LETTER ALPHA}", b"u"),
    Item("new/not-utf8-\udcff", b"b"),
    symlink("new/link", "../etc/machine-id"),
]


@pytest.fixture
def rewritten(tmp_path):
    """Rewrite the image of some layers; return (identity, {name: TarInfo} of our layer, {name: data})."""

    def do(layers, form="legacy", *, config=None, name="x", **more):
        tars = [layer if isinstance(layer, bytes) else tar(layer) for layer in layers]
        source, target = tmp_path / f"{name}-saved.tar", tmp_path / f"{name}.tar"
        source.write_bytes(image(tars, form, config))
        identity = rewrite(source, target, epoch=EPOCH, reference="kit:test", **more)
        infos, data = read_layer(target, identity.diff_ids[-1])
        return identity, infos, data

    return do


def read_layer(path, digest):
    with tarfile.open(path) as outer:
        layer = outer.extractfile("blobs/sha256/" + digest.removeprefix("sha256:")).read()
    assert f"sha256:{sha256(layer)}" == digest
    with tarfile.open(fileobj=io.BytesIO(layer), errors="surrogateescape") as inner:
        infos = inner.getmembers()
        assert [os.fsencode(i.name) for i in infos] == sorted(os.fsencode(i.name) for i in infos)
        return {i.name: i for i in infos}, {i.name: inner.extractfile(i).read() for i in infos if i.isreg()}


def test_a_nasty_tree_comes_out_merged_sorted_and_normal(rewritten):
    identity, infos, data = rewritten([BELOW, ABOVE])

    assert set(infos) == {
        *("etc", "etc/machine-id", "etc/shadow", "turned", "was-file", "was-file/in"),
        *("var", "var/log", "var/log/apt", "run", "tmp", "new", "new/a-second", "new/z-first", "new/tool", "new/pipe"),
        *("new/sparse", "new/before-1970", "new/" + "long" * 50, "new/\N{SNOWMAN} \N{GREEK SMALL LETTER ALPHA}"),
        *("new/not-utf8-\udcff", "new/link"),
    }
    assert data["etc/machine-id"] == b""
    assert data["etc/shadow"] == b"root:*:19675:0:99999:7:::\nold:*:100:0:::::\n"
    assert data["new/a-second"] == b"shared", "the first path in order holds the data"
    assert (infos["new/z-first"].type, infos["new/z-first"].linkname) == (tarfile.LNKTYPE, "new/a-second")
    assert infos["new/tool"].mode == 0o4755
    assert {key: value for key, value in infos["new/tool"].pax_headers.items() if key in CAPABILITY} == CAPABILITY
    assert infos["new/pipe"].isfifo()
    assert infos["new/before-1970"].mtime == -86401
    assert max(info.mtime for info in infos.values()) == EPOCH
    assert {info.mtime for info in infos.values() if info.isdir()} == {EPOCH}, "engines disagree on directories' times"
    assert {(info.uname, info.gname) for info in infos.values()} == {("", "")}
    assert infos["etc/shadow"].gid == 42
    assert len(identity.diff_ids) == 1


PACKED = Descriptor("application/vnd.oci.image.layer.v1.tar+gzip", "sha256:" + "5" * 64, 1234)
BASE = Below(["sha256:" + "4" * 64], [PACKED], PACKED.size)


@pytest.fixture
def added(tmp_path):
    """Put a layer on a base of which nothing is there; return (identity, entries, {name: document or names})."""

    def do(items, below=BASE, config=None, **more):
        (tmp_path / "layer.tar").write_bytes(tar(items))
        target = tmp_path / "above.tar"
        with (tmp_path / "layer.tar").open("rb") as file:
            tars = [Tar(file.fileno(), 0, (tmp_path / "layer.tar").stat().st_size)] if items else []
            addition = Addition(tars, **more)
            identity = above(target, config or {}, below, addition, epoch=EPOCH, reference="kit:test")
        infos = read_layer(target, identity.diff_ids[-1])[0] if len(identity.diff_ids) > len(below.diff_ids) else {}
        with tarfile.open(target) as file:
            read = {name: file.extractfile(name).read() for name in file.getnames()}
        return identity, infos, read

    return do


def blob(read, digest):
    return json.loads(read["blobs/sha256/" + digest.removeprefix("sha256:")])


def test_a_layer_on_a_base_holds_what_was_added_in_normal_form_and_hides_what_is_gone(added):
    layer = [
        folder("etc", mtime=5), Item("etc/.wh.gone"), Item("etc/shadow-", b"x"), Item("etc/machine-id", b"1\n"),
        Item("etc/.wh.passwd-"), Item("tmp/.wh.x"), Item("var/log/.wh.apt.log"), Item("var/log/new.log", b"today"),
        Item(".wh.top"), Item("usr/b", b"shared"), link("usr/a", "usr/b"), Item("later", b"", mtime=EPOCH + 9),
    ]  # fmt: skip

    _, infos, _ = added(layer)

    assert list(infos) == [".wh.top", "etc", "etc/.wh.gone", "etc/machine-id", "later", "usr/a", "usr/b"]
    assert (infos["usr/a"].size, infos["usr/b"].linkname) == (6, "usr/a")
    assert (infos["etc/machine-id"].size, infos["etc"].mtime, infos["later"].mtime) == (0, EPOCH, EPOCH)


@pytest.mark.parametrize(
    ("layer", "there"),
    [
        pytest.param([Item("turned", b"file"), Item("turned/.wh.in")], ["turned"], id="a directory became a file"),
        pytest.param([folder("turned"), Item("turned/.wh.in")], ["turned", "turned/.wh.in"], id="it is one still"),
        pytest.param([Item("x", b"new"), Item(".wh.x")], ["x"], id="hidden and there again"),
    ],
)
def test_nothing_is_hidden_below_what_is_no_directory_any_more(added, layer, there):
    assert list(added(layer)[1]) == there


def test_the_manifest_names_the_base_as_its_registry_has_it_and_only_our_layer_is_there(added):
    identity, _, read = added([Item("x", b"1")])

    ours = "blobs/sha256/" + identity.diff_ids[1].removeprefix("sha256:")
    manifest = blob(read, identity.manifest_digest)
    assert manifest["layers"] == [
        {"mediaType": PACKED.media_type, "digest": PACKED.digest, "size": PACKED.size},
        {
            "mediaType": "application/vnd.oci.image.layer.v1.tar",
            "digest": identity.diff_ids[1],
            "size": len(read[ours]),
        },
    ]
    assert (
        blob(read, identity.image_id)["rootfs"]["diff_ids"]
        == identity.diff_ids
        == [*BASE.diff_ids, identity.diff_ids[1]]
    )
    assert identity.size_bytes == PACKED.size + len(read[ours])
    assert len([name for name in read if name.startswith("blobs/")]) == 3


def test_variables_alone_make_a_configuration_and_no_layer(added):
    config = {"config": {"Env": ["PATH=/bin", "A=old", "Z=1"], "Cmd": ["sh"]}, "architecture": "amd64", "os": "linux"}

    identity, _, read = added([], config=config, variables={"NEW": "x", "A": "b"})

    assert identity.diff_ids == BASE.diff_ids
    assert blob(read, identity.image_id)["config"] == {"Cmd": ["sh"], "Env": ["PATH=/bin", "A=b", "Z=1", "NEW=x"]}


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        (["PATH=/opt/conda/bin:/bin"], ["PATH=/opt/venv/bin:/opt/conda/bin:/bin", "VIRTUAL_ENV=/opt/venv"]),
        (
            None,
            [
                "PATH=/opt/venv/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                "VIRTUAL_ENV=/opt/venv",
            ],
        ),
    ],
)
def test_an_environment_of_pythons_comes_first_on_the_path(added, env, expected):
    identity, _, read = added([Item("x", b"")], config={"config": {"Env": env}}, venv="/opt/venv")

    assert blob(read, identity.image_id)["config"]["Env"] == expected


def test_what_no_registry_told_is_not_made_up(added):
    identity, _, read = added([Item("x", b"")], below=Below(["sha256:" + "4" * 64], None, 99))

    assert identity.manifest_digest is None
    assert "manifest.json" in read
    assert not {"index.json", "oci-layout"} & set(read)


def test_what_comes_on_top_of_a_saved_image_is_merged_into_it(rewritten, tmp_path):
    more = [Item("etc/.wh.shadow"), Item("new/z-first", b"other")]
    (tmp_path / "more.tar").write_bytes(tar(more))
    with (tmp_path / "more.tar").open("rb") as file:
        extra = Addition([Tar(file.fileno(), 0, (tmp_path / "more.tar").stat().st_size)])
        made = rewritten([BELOW, ABOVE], more=extra)

    assert made[0] == rewritten([BELOW, ABOVE, more], name="y")[0]


def test_every_form_of_archive_gives_the_same_identity(rewritten):
    identities = {rewritten([BELOW, ABOVE], form, name=form.replace(" ", "-"))[0].image_id for form in FORMS}

    assert len(identities) == 1


@pytest.mark.parametrize("seed", range(8))
def test_the_order_of_members_does_not_matter(rewritten, seed):
    shuffled = [random.Random(seed).sample(layer, len(layer)) for layer in (BELOW, ABOVE)]

    assert rewritten(shuffled, name="shuffled")[0] == rewritten([BELOW, ABOVE])[0]


def test_the_tar_format_the_layering_later_times_and_times_of_directories_do_not_matter(rewritten):
    later = [folder("new", mtime=5) if item.name == "new" else item for item in ABOVE]
    later = [Item(**{**vars(item), "mtime": EPOCH + 1000}) if item.mtime == EPOCH + 99 else item for item in later]
    split = [
        tar(BELOW, tarfile.GNU_FORMAT),
        tar([Item("etc/gone-again", b"x")]),
        tar([Item("etc/.wh.gone-again"), *later]),
    ]

    assert rewritten(split, name="split")[0] == rewritten([BELOW, ABOVE])[0]


@pytest.mark.parametrize(
    "change",
    [{"data": b"sharee"}, {"mode": 0o600}, {"uid": 1}, {"mtime": EPOCH - 1}, {"pax": CAPABILITY}],
    ids=["content", "mode", "owner", "time", "extended attribute"],
)
def test_whatever_is_part_of_a_file_is_part_of_the_identity(rewritten, change):
    changed = [Item(**{**vars(item), **change}) if item.name == "new/z-first" else item for item in ABOVE]

    assert rewritten([BELOW, changed], name="changed")[0].image_id != rewritten([BELOW, ABOVE])[0].image_id


def test_rewriting_what_was_rewritten_changes_nothing(rewritten, tmp_path):
    first, _, _ = rewritten([BELOW, ABOVE])

    again = rewrite(tmp_path / "x.tar", tmp_path / "again.tar", epoch=EPOCH, reference="kit:test")

    assert again == first
    assert (tmp_path / "again.tar").read_bytes() == (tmp_path / "x.tar").read_bytes()


def test_the_configuration_keeps_what_a_container_needs_and_nothing_else(rewritten, tmp_path):
    settings = {
        "Hostname": "0ab1", "User": "", "Env": ["B=2", "A=1"], "Cmd": None, "WorkingDir": "/", "Entrypoint": ["/e"],
        "Labels": {"io.buildah.version": "1.28", "rocm-repro-kit.building": "x", "who": "me"},
        "ArgsEscaped": True, "OnBuild": None,
    }  # fmt: skip
    identity, _, _ = rewritten([BELOW], config=settings)

    with tarfile.open(tmp_path / "x.tar") as file:
        config = json.load(file.extractfile("blobs/sha256/" + identity.image_id.removeprefix("sha256:")))
    assert config == {
        "architecture": "amd64",
        "config": {"Entrypoint": ["/e"], "Env": ["B=2", "A=1"], "Labels": {"who": "me"}},
        "created": "2023-11-14T22:13:20Z",
        "history": [{"created": "2023-11-14T22:13:20Z", "created_by": "rocm-repro-kit"}],
        "os": "linux",
        "rootfs": {"type": "layers", "diff_ids": identity.diff_ids},
    }


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (image([tar([Item("../../etc/cron.d/x", b"x")])]), "leaves its root"),
        (image([tar([Item("/abs", b"x")])]), "leaves its root"),
        (image([tar([link("x", "nothing")])]), "hard link to nothing"),
        (image([tar([Item("etc/shadow", bytes(2 << 20))])]), "not what its name says"),
        (image([b"\x28\xb5\x2f\xfd" + bytes(600)]), "zstd"),
        (image([tar(BELOW)])[:5000], "cut off"),
        (tar([Item("manifest.json", b"[]")]), "0 images, not one"),
        (tar([Item("manifest.json", b'[{"Config":"c","Layers":["l"]}]')]), "no file 'c'"),
        (tar([Item("manifest.json", b'[{"Config":"c","Layers":7}]')]), "Layers is not a list"),
        (tar([Item("manifest.json", b'[{"Config":"../c","Layers":[]}]')]), "leaves its root"),
        (tar([Item("manifest.json", b"not json")]), "not strict JSON"),
        (tar([symlink("manifest.json", "manifest.json")]), "no file 'manifest.json'"),
        (tar([Item("other", b"")]), "no file 'index.json'"),
        (tar([Item("manifest.json", bytes(9 << 20))]), "bytes"),
        (b"", "no file"),
        (b"rubbish" * 1000, "not a tar"),
    ],
)
def test_hostile_and_broken_archives_are_refused(data, message, tmp_path):
    (tmp_path / "saved.tar").write_bytes(data)

    with pytest.raises(KitError, match=message):
        rewrite(tmp_path / "saved.tar", tmp_path / "out.tar", epoch=EPOCH, reference="kit:test")
    assert not (tmp_path / "out.tar").exists()


def test_a_gzipped_layer_must_be_what_its_digest_says(tmp_path):
    data = bytearray(image([tar(BELOW)], "oci gzipped"))
    data[512 + 4] ^= 1  # a time in the gzip header: the digest of the blob changes, what it unpacks to does not
    good, bad = bytes(data), bytes(data).replace(sha256(tar(BELOW)).encode(), b"0" * 64)
    for content, fine in ((good, True), (bad, False)):
        (tmp_path / "saved.tar").write_bytes(content)
        if fine:
            rewrite(tmp_path / "saved.tar", tmp_path / "out.tar", epoch=EPOCH, reference="kit:test")
        else:
            with pytest.raises(KitError, match="the image's configuration says"):
                rewrite(tmp_path / "saved.tar", tmp_path / "out.tar", epoch=EPOCH, reference="kit:test")


def test_a_bomb_is_defused(tmp_path, monkeypatch):
    monkeypatch.setattr("images.archive.MAX_LAYER_BYTES", 1 << 20)
    (tmp_path / "saved.tar").write_bytes(image([tar([Item("zeros", bytes(20 << 20))])], "oci gzipped"))

    with pytest.raises(KitError, match="unpacks to more than"):
        rewrite(tmp_path / "saved.tar", tmp_path / "out.tar", epoch=EPOCH, reference="kit:test")


def test_a_full_disk_is_said(tmp_path):
    (tmp_path / "saved.tar").write_bytes(image([tar(BELOW)]))
    with pytest.raises(KitError, match="No space left"):
        rewrite(tmp_path / "saved.tar", Path("/dev/full"), epoch=EPOCH, reference="x:y")


NASTY = b"""
RUN mkdir -p /a/old /b /hard && echo 1 > /a/old/x && echo 2 > /a/y && echo data > /hard/z && ln /hard/z /hard/c
RUN rm -r /a/old && rm /a/y && echo file > /a/old && rm -r /b && echo file > /b
RUN rm /b && mkdir /b && echo new > /b/x && mkfifo /b/pipe && dd if=/dev/zero of=/b/sparse bs=1 count=0 seek=1000000 \
 && touch -d 1960-01-01 /b/before-1970 && chmod 4755 /hard/z && mkdir -p /var/log /tmp && date > /var/log/x.log \
 && date > /tmp/x && echo > "/b/long-$(printf '%0200d' 7)" && echo > "/b/$(printf '\\342\\230\\203')" && chown 7:9 /b/x
"""


def save(engine, reference, path):
    with path.open("wb") as file:
        file.writelines(engine.save(reference))


@pytest.mark.engine
@pytest.mark.usefixtures("busybox")
def test_an_image_of_a_real_engine_is_rewritten_loaded_and_the_same_but_for_what_is_dropped(engine, tmp_path):
    recipe = b"FROM rocm-repro-kit-test:busybox\nADD cap.tar /cap/\n" + NASTY.lstrip()
    files = {"cap.tar": tar([Item("tool", b"x", mode=0o755, pax=CAPABILITY)])}
    built = engine.build(context(recipe, files), tag="rocm-repro-kit-test:nasty", nocache=True)
    canonical = "rocm-repro-kit-test:canonical"
    try:
        save(engine, built, tmp_path / "saved.tar")
        identity = rewrite(tmp_path / "saved.tar", tmp_path / "new.tar", epoch=EPOCH, reference=canonical)
        with (tmp_path / "new.tar").open("rb") as file:
            loaded = engine.load(file, canonical)
        assert loaded["id"] in {identity.image_id, identity.manifest_digest}
        assert loaded["diff_ids"] == identity.diff_ids
        save(engine, canonical, tmp_path / "back.tar")
        found = compare.compare(tmp_path / "saved.tar", tmp_path / "back.tar")
        differences = {(one["path"], one["kind"]) for one in found if one["kind"] not in {"mtime", "config"}}
        assert differences == {("/tmp/x", "missing"), ("/var/log/x.log", "missing")}
        assert rewrite(tmp_path / "back.tar", tmp_path / "b.tar", epoch=EPOCH, reference=canonical) == identity
        with archive.opened(tmp_path / "new.tar") as image_again:
            assert len(image_again.layers) == 1
    finally:
        engine.remove("rocm-repro-kit-test:nasty", force=True)
        engine.remove(canonical, force=True)
        shutil.rmtree(tmp_path, ignore_errors=True)
