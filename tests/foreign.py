"""Images that the kit did not make: the small image's packages unpacked and imported, with a stand-in for torch."""

import hashlib
import io
import json
import shutil
import subprocess
import tarfile

import pytest

from pins.store import Store
from schema.errors import KitError
from tests import tiny

#: As much of torch as a validation touches: it computes nothing, and the numerics say so.
TORCH = """
from types import SimpleNamespace

__version__ = "{version}"
version = SimpleNamespace(hip={hip!r}, cuda=None, git_version="0")
_C = SimpleNamespace(_cuda_getArchFlags=lambda: "{arch}")
cuda = SimpleNamespace(is_available=lambda: False, device_count=lambda: 0)
_off = SimpleNamespace(is_available=lambda: False)
backends = SimpleNamespace(
    cudnn=SimpleNamespace(enabled=True, allow_tf32=False),
    cuda=SimpleNamespace(matmul=SimpleNamespace(allow_tf32=False)),
    mkldnn=_off,
    mkl=_off,
)


def get_num_threads():
    return 1
"""
SITE = "usr/lib/python3/dist-packages"


def torch(version="2.6.0+cpu", *, hip=None, arch=""):
    """Return the files of a stand-in for torch, by path."""
    text = TORCH.format(version=version, hip=hip, arch=arch)
    return {f"{SITE}/torch/__init__.py": text, **distribution("torch", version)}


def distribution(name, version):
    """Return the files by which pip knows a distribution."""
    folder = f"{SITE}/{name.replace('-', '_')}-{version}.dist-info"
    return {f"{folder}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"}


def system(folder):
    """Return a tar of the packages' files, and of what dpkg would know of them; skip where they cannot be had."""
    if not shutil.which("dpkg-deb"):
        pytest.skip("no dpkg-deb here to unpack packages with")
    try:
        lock = tiny.fetched()
    except KitError as error:
        pytest.skip(f"the packages of the small image cannot be had: {error.message}")
    root, status = folder / "root", []
    for deb in sorted(lock.debs, key=lambda item: item["name"] != "base-files"):  # whose links the others go through
        path = Store().path(deb["sha256"])
        subprocess.run(["dpkg-deb", "--extract", path, root], check=True)
        control = subprocess.run(["dpkg-deb", "--field", path], capture_output=True, text=True, check=True).stdout
        status.append(f"{control.rstrip()}\nStatus: install ok installed\n")
    (root / "var/lib/dpkg").mkdir(parents=True, exist_ok=True)
    (root / "var/lib/dpkg/status").write_text("\n".join(status), encoding="utf-8")
    packed = folder / "root.tar"
    with tarfile.open(packed, "w") as tar:
        tar.add(root, arcname=".")
    shutil.rmtree(root)
    return packed


def imported(engine, packed, name):
    """Import a tar as an image that nothing else is known of; return its id."""
    repository, _, tag = name.partition(":")
    answer = engine.slow.import_image_from_file(str(packed), repository=repository, tag=tag)
    return json.loads(answer.splitlines()[-1])["status"]


def added(engine, base, name, files, *instructions):
    """Build an image on another, with more files and instructions, by a plain Dockerfile; return its id."""
    recipe = "\n".join([f"FROM {base}", *(["ADD files.tar /"] if files else []), *instructions])
    parts = {"Dockerfile": recipe.encode()}
    if files:
        parts["files.tar"] = tar_of(files)
    return engine.build(io.BytesIO(tar_of(parts)), tag=name)


def tar_of(files):
    """Return a tar of files by path: texts or bytes."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for path, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(data), 0o755
            tar.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


def loaded(engine, name, architecture):
    """Load an image of one file for another machine."""
    layer = tar_of({"hello": "x"})
    diff_id = "sha256:" + hashlib.sha256(layer).hexdigest()
    config = {
        "os": "linux",
        "architecture": architecture,
        "config": {},
        "rootfs": {"type": "layers", "diff_ids": [diff_id]},
    }
    manifest = [{"Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"]}]
    files = {"config.json": json.dumps(config), "layer.tar": layer, "manifest.json": json.dumps(manifest)}
    return engine.load(iter([tar_of(files)]), name)["id"]
