"""Building on a base by digest with the real engine and Debian's registry: a small base with odd things in it."""

import hashlib
import io
import json
import os
import tarfile
import time
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from images import archive, leftovers
from images import build as builder
from images.access import access
from images.push import push
from pins.fetch import fetch
from pins.lock import PINS, from_document, load
from pins.mirror import mirror
from pins.store import Store
from schema.errors import KitError
from tests import tiny
from tests.images.fakes_archives import EPOCH, Item, deb, folder, link, sha256, tar
from tests.images.test_canonical import CAPABILITY
from tests.pins import fakes_registry

pytestmark = pytest.mark.engine

VENV_DEBS = frozenset(
    {
        "python3-venv", "python3.13-venv", "python3-pip-whl", "python3-setuptools-whl", "ca-certificates", "openssl",
        "libssl3t64", "openssl-provider-legacy", "libzstd1",
    }
)  # fmt: skip
ODD = [
    folder("odd"), folder("odd/replaced"), Item("odd/replaced/in", b"x"), folder("odd/file-soon"),
    Item("odd/file-soon/deep", b"x"), Item("odd/folder-soon", b"x"), Item("odd/gone", b"x"), folder("odd/gone-folder"),
    Item("odd/gone-folder/in", b"x"), Item("odd/linked-a", b"shared"), link("odd/linked-b", "odd/linked-a"),
    Item("odd/other", b"kept"), folder("odd/mode"), Item("odd/tool", b"x", mode=0o755, pax=CAPABILITY),
    Item("etc/shadow-", b"of the base"), folder("usr/lib/python3/dist-packages/torch"),
    Item("usr/lib/python3/dist-packages/torch/__init__.py", b""),
    Item("usr/lib/python3/dist-packages/torch/version.py", b"__version__ = '2.6.0'\nhip = cuda = None\n"),
]  # fmt: skip
CUDA_TORCH = {"torch/__init__.py": "", "torch/version.py": "__version__ = '2.6.0'\nhip = None\ncuda = '12.4'\n"}
ROCM_TORCH = {"torch/__init__.py": "", "torch/version.py": "__version__ = '2.6.0+rocm6'\nhip = '6'\ncuda = None\n"}
TRITON = {"triton/__init__.py": ""}
WITHOUT_NMS = {"torchvision/__init__.py": "raise RuntimeError('operator torchvision::nms does not exist')"}
POSTINST = b"""#!/bin/sh
set -e
cd /odd
rm -r replaced && mkdir replaced && echo new > replaced/new
rm -r file-soon && echo file > file-soon
rm folder-soon && mkdir folder-soon && echo in > folder-soon/in
rm -r gone gone-folder
ln other across && ln tool tool-again && echo changed > linked-b
chmod 700 mode
touch -d 1960-01-01 before-1970 && mkfifo pipe && ln -s /nowhere dangling
printf x > "$(printf 'caf\\303\\251')" && printf x > "$(printf 'not-utf8-\\377')"
touch other && date > /tmp/left && date > /var/log/today.log
"""


def package(name="kit-odd", version="1", postinst=POSTINST):
    control = f"Package: {name}\nVersion: {version}\nArchitecture: all\nMaintainer: t <t@t>\nDescription: t\n"
    members = [Item("./control", control.encode()), Item("./postinst", postinst, mode=0o755)]
    return deb(
        [folder("./"), folder("./usr"), folder("./usr/share"), Item("./usr/share/kit-odd", b"1")], control=members
    )


def wheel(name, version, files, requires=()):
    """Return a wheel with these files; its RECORD is complete."""
    about = f"{name}-{version}.dist-info"
    files = {
        **files,
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        + "".join(f"Requires-Dist: {one}\n" for one in requires),
        f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{about}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{about}/RECORD"])
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as packed:
        for path, text in files.items():
            packed.writestr(path, text)
    return buffer.getvalue()


@dataclass
class Ground:
    """The engine, a registry with the base, a store, and the lock's document."""

    engine: object
    registry: object
    store: Store
    lock: dict
    folder: Path
    made: set = field(default_factory=set)

    def deb(self, data, name="kit-odd", version="1"):
        return self._kept(data) | {
            "name": name, "version": version, "architecture": "all", "archive": "debian",
            "snapshot": "20260101T000000Z", "path": f"pool/main/k/{name}_{version}_all.deb", "bootstrap": False,
        }  # fmt: skip

    def wheel(self, name, version, files, **more):
        file = f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
        data = wheel(name.replace("-", "_"), version, files, **more)
        return self._kept(data) | {"name": name, "version": version, "file": file, "index": "pypi"}

    def _kept(self, data):
        self.store.part(sha256(data)).write_bytes(data)
        self.store.keep(sha256(data))
        return {"sha256": sha256(data), "size": len(data)}

    def make(self, how=builder.build, **more):
        lock = from_document(self.lock | more)
        fetch(lock, self.store, progress=False)
        made = how(lock, self.engine, self.store, out=self.folder / "out" / lock.name, progress=False)
        self.made.add(made["engine_id"])
        return made

    def layer(self, made):
        """Return {name: TarInfo} of our layer, from the archive that was kept."""
        with tarfile.open(self.folder / "out" / made["name"] / "image.tar") as kept:
            data = kept.extractfile("blobs/sha256/" + made["diff_ids"][-1].removeprefix("sha256:")).read()
        with tarfile.open(fileobj=io.BytesIO(data), errors="surrogateescape") as ours:
            return {info.name: info for info in ours}

    def left(self, name):
        """Return what builds for a lock left in the engine on their way."""
        ours = {"label": leftovers.label(self.folder / "out" / name)}
        return self.engine.api.images(all=True, filters=ours) + self.engine.api.containers(all=True, filters=ours)

    def inside(self, made, script):
        lines = []
        argv, granted = ["sh", "-ec", script], access("cpu", self.engine.about())
        code = self.engine.run(made["engine_id"], b"", argv, granted, deadline_s=60, on_line=lines.append)
        assert code == 0
        return [line.decode(errors="replace").strip() for line in lines]


@pytest.fixture(scope="module")
def ground(engine, tmp_path_factory):
    folder_, store = tmp_path_factory.mktemp("on-base"), Store()
    try:
        lock = tiny.fetched()
    except KitError as error:
        pytest.skip(f"the packages of the small image cannot be had: {error.message}")
    small = builder.build(lock, engine, store, out=folder_ / "out" / lock.name, progress=False)
    saved = folder_ / "saved.tar"
    with saved.open("wb") as file:
        file.writelines(engine.save(small["engine_id"]))
    with archive.opened(saved) as opened:
        plain = os.pread(opened.layers[0].fd, opened.layers[0].size, opened.layers[0].offset)
        config = opened.config
    layers = (plain, tar(ODD))
    rootfs = {"type": "layers", "diff_ids": [f"sha256:{sha256(one)}" for one in layers]}
    base = fakes_registry.Image(layers, docker=True, config=config | {"rootfs": rootfs})
    registry = fakes_registry.Debian(fakes_registry.program(folder_), folder_ / "registry")
    registry.put(base, "kit/odd", "1")
    named = {
        "repo": f"{registry.host}/kit/odd", "tag": "1", "digest": fakes_registry.digest(base.manifest),
        "digest_kind": "manifest", "status": "recorded", "sources": ["a test"], "recorded": "2026-12-01",
    }  # fmt: skip
    document = lock.document | {
        "name": "kit-test-on-base", "channel": "amd", "base": named, "debs": [], "environment": {},
        "source_date_epoch": EPOCH,
    }  # fmt: skip
    ground = Ground(engine, registry, store, document, folder_)
    yield ground
    registry.stop()
    for name in (*ground.made, f"{named['repo']}@{named['digest']}"):
        engine.remove(name, force=True)


def test_odd_things_on_a_base_come_out_as_one_layer_twice_the_same(ground):
    made = ground.make(builder.check, debs=[ground.deb(package())])

    assert made["built_twice"] == {"identical": True, "differences": []}
    infos = {name: info for name, info in ground.layer(made).items() if name.startswith("odd")}
    assert sorted(infos, key=os.fsencode) == [
        "odd/.wh.gone", "odd/.wh.gone-folder", "odd/across", "odd/before-1970", "odd/caf\u00e9",
        "odd/dangling", "odd/file-soon", "odd/folder-soon", "odd/folder-soon/in", "odd/linked-b", "odd/mode",
        "odd/not-utf8-\udcff", "odd/other", "odd/pipe", "odd/replaced/.wh.in", "odd/replaced/new", "odd/tool",
        "odd/tool-again",
    ]  # fmt: skip
    assert (infos["odd/other"].linkname, infos["odd/tool-again"].linkname) == ("odd/across", "odd/tool")
    assert "SCHILY.xattr.security.capability" in infos["odd/tool"].pax_headers
    assert (infos["odd/mode"].mode, infos["odd/before-1970"].mtime) == (0o700, -315619200)
    assert not {"tmp/left", "var/log/today.log", "etc/shadow-", "kit-build"} & set(ground.layer(made))
    seen = ground.inside(
        made, "cd /odd; cat linked-a linked-b across file-soon folder-soon/in; ls; ls replaced; dpkg --audit"
    )
    assert seen == [
        "sharedchanged", "keptfile", "in", *sorted(
            ["across", "before-1970", "caf\u00e9", "dangling", "file-soon", "folder-soon",
             "linked-a", "linked-b", "mode", "not-utf8-\ufffd", "other", "pipe", "replaced", "tool", "tool-again"],
        ), "new",
    ]  # fmt: skip


def test_what_a_registry_has_of_the_base_is_what_the_manifest_names(ground):
    made = ground.make(debs=[ground.deb(package())])

    _, _, told = ground.registry.request("GET", f"/v2/kit/odd/manifests/{ground.lock['base']['digest']}")
    with tarfile.open(ground.folder / "out" / made["name"] / "image.tar") as kept:
        names = kept.getnames()
        ours = json.load(kept.extractfile("blobs/sha256/" + made["manifest_digest"].removeprefix("sha256:")))
    below = [(layer["digest"], layer["size"]) for layer in json.loads(told)["layers"]]
    assert [(layer["digest"], layer["size"]) for layer in ours["layers"]][:2] == below
    assert not [digest for digest, _ in below if "blobs/sha256/" + digest.removeprefix("sha256:") in names]
    assert made["base"]["manifest_digest"] == ground.lock["base"]["digest"]


def test_nothing_is_left_in_the_engine_but_the_image(ground):
    made = ground.make(builder.check, environment={"NEW": "1"}, debs=[ground.deb(package())])

    assert ground.left(made["name"]) == []
    assert ground.inside(made, "echo $NEW") == ["1"]


def test_it_is_pushed_by_what_is_added_and_pulled_by_the_recorded_digest(ground):
    made = ground.make(debs=[ground.deb(package())])

    done = push(
        made, ground.engine, f"{ground.registry.host}/kit/ours:1",
        out=ground.folder / "out" / made["name"], store=ground.store, progress=False,
    )  # fmt: skip

    assert done.pull == f"{ground.registry.host}/kit/ours@{made['manifest_digest']}"
    assert done.mounted_bytes > 100 * done.sent_bytes > 0, "the base was not sent"
    ground.engine.remove(made["reference"], force=True)
    assert ground.engine.image(made["image_id"]) is None
    pulled = ground.engine.pull(done.pull)
    assert (pulled["id"], pulled["diff_ids"]) == (made["image_id"], made["diff_ids"])
    ground.engine.remove(done.pull, force=True)


def test_its_base_comes_from_a_mirror_when_its_own_registry_is_gone(ground, tmp_path, monkeypatch):
    lock = from_document(ground.lock | {"environment": {"NEW": "1"}})
    theirs = f"{ground.lock['base']['repo']}@{ground.lock['base']['digest']}"
    other = fakes_registry.Debian(ground.registry.child.args[0], tmp_path / "mirror")
    address = f"oci://{other.host}/kit/mirror"
    try:
        mirror(lock, ground.store, address, progress=False)
        ground.engine.remove(theirs, force=True)
        monkeypatch.setenv("KIT_SOURCE", address)
        gone = ground.lock["base"] | {"repo": "127.0.0.1:1/kit/odd"}
        moved = from_document(lock.document | {"name": "kit-test-mirrored", "base": gone})

        out, store = ground.folder / "out" / moved.name, Store(tmp_path / "cache")
        made = builder.build(moved, ground.engine, store, out=out, progress=False)

        assert ground.inside(made, "echo $NEW") == ["1"]
        assert made["base"]["reference"] == f"127.0.0.1:1/kit/odd@{gone['digest']}"
        assert made["manifest_digest"] == ground.make(environment={"NEW": "1"})["manifest_digest"]
    finally:
        for name in ("rocm-repro-kit:kit-test-mirrored", f"{other.host}/kit/mirror@{ground.lock['base']['digest']}"):
            ground.engine.remove(name, force=True)
        other.stop()


def test_variables_alone_make_no_layer(ground):
    made = ground.make(environment={"NEW": "1"})

    assert made["diff_ids"] == made["base"]["diff_ids"]
    assert ground.inside(made, "echo $NEW") == ["1"]


@pytest.mark.parametrize(
    ("script", "says"),
    [
        (b"#!/bin/sh\necho the reason >&2\nexit 3\n", "the reason"),
        (b"#!/bin/sh\ncat /sys/class/net/eth0/address\n", "eth0"),
    ],
    ids=["a script that fails", "one that looks for a network"],
)
def test_a_step_that_fails_is_shown_and_leaves_nothing(ground, script, says):
    with pytest.raises(KitError, match=says):
        ground.make(debs=[ground.deb(package(postinst=script))], name="kit-test-failing")

    assert sorted(path.name for path in (ground.folder / "out/kit-test-failing").iterdir()) == [".lock"]
    assert ground.left("kit-test-failing") == []


def venv_debs():
    return [item for item in load(PINS / "debian13-hip5.7-torch2.6cpu.lock.yaml").debs if item["name"] in VENV_DEBS]


def test_wheels_lie_beside_the_python_of_the_base_twice_the_same(ground):
    files = {"kitted/__init__.py": "VALUE = 7\n", "kitted/bad.py": "def (:\n", "kitted/data.txt": "x"}
    wheels = [ground.wheel("kit-ted", "1.0+local", files)]

    made = ground.make(builder.check, debs=venv_debs(), wheels=wheels)

    assert made["built_twice"] == {"identical": True, "differences": []}
    said = ground.inside(
        made, "command -v python3; for p in python3 /usr/bin/python3; do $p -c 'import kitted' && echo $p; done; true"
    )
    assert said == ["/opt/venv/bin/python3", "python3"]
    layer = ground.layer(made)
    assert not [
        name for name in layer if name.endswith("direct_url.json") or name.startswith(("kit-build", "root", "tmp"))
    ]
    assert [name for name in layer if "kitted" in name and name.endswith(".pyc")]
    dists = {name.split("/")[5] for name in layer if name.startswith("opt/venv/lib/") and ".dist-info" in name}
    assert dists == {"kit_ted-1.0+local.dist-info"}, "pip installed it, and no lock names pip"
    flags = ground.inside(
        made, "head -c 8 /opt/venv/lib/python3*/site-packages/kitted/__pycache__/__init__*.pyc | od -An -tx1"
    )
    assert flags[0].split()[4] == "01", "unchecked hash: no time of a build is in it"


@pytest.mark.parametrize(
    ("wheels", "more", "says"),
    [
        pytest.param(
            [("torch", "2.6.0", CUDA_TORCH)],
            {"torch": {"version": "2.6.0", "build": "rocm"}},
            r"(?s)built for cuda, not rocm.*torch 2.6.0 has no \+rocm",
            id="torch for CUDA in a lock for ROCm",
        ),
        pytest.param(
            [("nvidia-nccl-cu12", "2.27.3", {"nvidia/nccl/x": ""}), ("torch", "2.6.0+rocm6", ROCM_TORCH)],
            {"torch": {"version": "2.6.0", "build": "rocm"}},
            "packages of NVIDIA's in an image for ROCm: nvidia-nccl-cu12",
            id="a package of NVIDIA's",
        ),
        pytest.param(
            [("triton", "3", TRITON), ("pytorch-triton", "3", TRITON)],
            {},
            r"(?s)triton/__init__.py belongs to pytorch-triton and triton",
            id="two owners of one file",
        ),
        pytest.param(
            [("torchvision", "0.21", WITHOUT_NMS)],
            {},
            "import torchvision: RuntimeError: operator torchvision::nms",
            id="a member that cannot be imported",
        ),
    ],
)  # fmt: skip
def test_a_family_that_is_not_of_one_build_makes_no_image(ground, wheels, more, says):
    named = sorted((ground.wheel(*one) for one in wheels), key=lambda item: item["name"])

    with pytest.raises(KitError, match=says):
        ground.make(debs=venv_debs(), wheels=named, name="kit-test-family", **more)
    assert not (ground.folder / "out/kit-test-family/image.json").exists()


def test_a_base_with_another_python_is_refused_in_seconds(ground):
    began = time.monotonic()
    with pytest.raises(KitError, match=r"has Python 3\.13\.\d+, and the lock says 3\.10"):
        ground.make(python="3.10", debs=[ground.deb(package())], name="kit-test-python")
    assert time.monotonic() - began < 20


def test_a_base_with_volumes_is_refused_by_their_names_before_anything_is_built(ground):
    _, _, told = ground.registry.request("GET", f"/v2/kit/odd/manifests/{ground.lock['base']['digest']}")
    manifest = json.loads(told)
    blobs = [
        ground.registry.request("GET", f"/v2/kit/odd/blobs/{item['digest']}")[2]
        for item in (*manifest["layers"], manifest["config"])
    ]
    config = json.loads(blobs.pop())
    config["config"] = (config.get("config") or {}) | {"Volumes": {"/usr/share": {}, "/data": {}}}
    base = fakes_registry.Image(tuple(blobs), docker=True, config=config)
    ground.registry.put(base, "kit/volumes", "1")
    named = ground.lock["base"] | {
        "repo": f"{ground.registry.host}/kit/volumes", "digest": fakes_registry.digest(base.manifest),
    }  # fmt: skip
    ground.made.add(f"{named['repo']}@{named['digest']}")

    with pytest.raises(KitError, match=r"declares volumes, .*: /data, /usr/share"):
        ground.make(base=named, debs=[ground.deb(package())], name="kit-test-volumes")

    assert ground.inside(ground.make(base=named, environment={"NEW": "1"}, name="kit-test-kept"), "echo $NEW") == ["1"]


def test_a_base_without_a_python_is_refused(ground, busybox_file):
    root = tar([folder("bin"), Item("bin/busybox", busybox_file.read_bytes(), mode=0o755)])
    base = fakes_registry.Image((root,))
    ground.registry.put(base, "kit/bare", "1")
    bare = ground.lock["base"] | {
        "repo": f"{ground.registry.host}/kit/bare", "digest": "sha256:" + hashlib.sha256(base.manifest).hexdigest(),
    }  # fmt: skip
    try:
        with pytest.raises(KitError, match="the image has no python3"):
            ground.make(base=bare, environment={"A": "1"}, name="kit-test-bare")
    finally:
        ground.engine.remove(f"{bare['repo']}@{bare['digest']}", force=True)
