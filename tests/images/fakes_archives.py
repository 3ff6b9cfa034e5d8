"""Layers, image archives in every form that engines save, and .debs, made here byte by byte."""

import gzip
import hashlib
import io
import json
import lzma
import tarfile
from dataclasses import dataclass, field

from tests.fakes import FakeEngine

EPOCH = 1_700_000_000
FORMS = ("legacy", "symlinked", "hard-linked", "oci", "oci gzipped", "oci without manifest.json")
TYPES = {
    "file": tarfile.REGTYPE,
    "folder": tarfile.DIRTYPE,
    "symlink": tarfile.SYMTYPE,
    "link": tarfile.LNKTYPE,
    "fifo": tarfile.FIFOTYPE,
    "device": tarfile.CHRTYPE,
}


@dataclass
class Item:
    """One member of a tar to be; a symlink or link says where to."""

    name: str
    data: bytes = b""
    kind: str = "file"
    to: str = ""
    mode: int = 0o644
    uid: int = 0
    gid: int = 0
    mtime: float = EPOCH - 1000
    pax: dict = field(default_factory=dict)


def folder(name, **more):
    return Item(name, kind="folder", **({"mode": 0o755} | more))


def symlink(name, to, **more):
    return Item(name, kind="symlink", to=to, mode=0o777, **more)


def link(name, to, **more):
    return Item(name, kind="link", to=to, **more)


def tar(items, form=tarfile.PAX_FORMAT):
    """Return a tar as Python's tarfile writes it, names of users and groups included."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form, errors="surrogateescape") as file:
        for item in items:
            info = tarfile.TarInfo(item.name)
            info.type, info.linkname = TYPES[item.kind], item.to
            info.mode, info.uid, info.gid, info.mtime = item.mode, item.uid, item.gid, item.mtime
            info.uname, info.gname = "somebody", "somegroup"
            info.size = len(item.data)
            info.pax_headers = dict(item.pax)
            file.addfile(info, io.BytesIO(item.data))
    return buffer.getvalue()


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def image(layers, form="legacy", config=None):
    """Return the archive of an image with these layers (tars), as some engine saves it."""
    document = {
        "architecture": "amd64",
        "os": "linux",
        "created": "2026-01-02T03:04:05.678Z",
        "docker_version": form,
        "container": sha256(form.encode()),
        "config": {"Hostname": form, "Env": ["A=b"], "Cmd": ["/bin/x"], "Image": "", "Labels": None} | (config or {}),
        "history": [{"created_by": form}],
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{sha256(layer)}" for layer in layers]},
    }
    return tar(_members(layers, json.dumps(document).encode(), form))


def _members(layers, config, form):
    if form.startswith("oci"):
        blobs = [gzip.compress(layer, mtime=7) if form == "oci gzipped" else layer for layer in layers]
        config_name, names = f"blobs/sha256/{sha256(config)}", [f"blobs/sha256/{sha256(blob)}" for blob in blobs]
        manifest = {
            "config": {"digest": f"sha256:{sha256(config)}"},
            "layers": [{"digest": f"sha256:{sha256(blob)}"} for blob in blobs],
        }
        data = json.dumps(manifest).encode()
        index = {"manifests": [{"digest": f"sha256:{sha256(data)}"}]}
        members = [Item(name, blob) for name, blob in zip(names, blobs, strict=True)]
        members += [Item(f"blobs/sha256/{sha256(data)}", data), Item("index.json", json.dumps(index).encode())]
    else:
        config_name, names = f"{sha256(config)}.json", [f"{number}/layer.tar" for number in range(len(layers))]
        members = [Item(name, layer) for name, layer in zip(names, layers, strict=True)]
        if form == "symlinked":
            members = [Item(f"{sha256(layer)}.tar", layer) for layer in layers]
            members += [symlink(name, f"../{sha256(layer)}.tar") for name, layer in zip(names, layers, strict=True)]
        if form == "hard-linked":
            members = [Item(f"{sha256(layer)}.tar", layer) for layer in layers]
            members += [link(name, f"{sha256(layer)}.tar") for name, layer in zip(names, layers, strict=True)]
    members.append(Item(config_name, config))
    if form != "oci without manifest.json":
        manifest = [{"Config": config_name, "RepoTags": ["x:y"], "Layers": names}]
        members.append(Item("manifest.json", json.dumps(manifest).encode()))
    return members


def deb(items, compression="xz", data=None, control=None):
    """Return a .deb whose data.tar holds these items (or is `data`)."""
    plain = tar(items, tarfile.GNU_FORMAT) if data is None else data
    packed = {"xz": lzma.compress, "gz": gzip.compress}.get(compression, bytes)(plain)
    members = [
        ("debian-binary", b"2.0\n"),
        ("control.tar.xz", lzma.compress(tar(control or [Item("./control", b"Package: x\n")]))),
        (f"data.tar{'.' if compression else ''}{compression}", packed),
    ]
    return b"!<arch>\n" + b"".join(
        f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n".encode() + content + b"\n" * (len(content) % 2)
        for name, content in members
    )


class BuildingEngine(FakeEngine):
    """A fake engine whose builds give the next of some archives, and which loads as a graph driver does."""

    def __init__(self, folder, *builds, **more):
        super().__init__(**more)
        self.folder = folder
        self.builds = list(builds)
        self.contexts = []
        self.tags = []

    def build(self, context, *, tag="", **more):
        self.contexts.append(context.read())
        self.tags.append(tag)
        built = self.builds.pop(0)
        if isinstance(built, BaseException):
            raise built
        if more.get("on_log"):
            more["on_log"]("Setting up x (1) ...")
        return self._add(built, tag)

    def load(self, archive, reference):
        data = b"".join(archive)
        with tarfile.open(fileobj=io.BytesIO(data)) as file:
            manifest = json.load(file.extractfile("manifest.json"))[0]
            config = file.extractfile(manifest["Config"]).read()
        identity, diff_ids = f"sha256:{sha256(config)}", json.loads(config)["rootfs"]["diff_ids"]
        names = [name for name, found in self.images.items() if found["id"] == identity] + manifest["RepoTags"]
        found = {"id": identity, "diff_ids": diff_ids, "size": len(data), "tags": sorted(set(names))}
        self.images |= dict.fromkeys(names, found | {"archive": data})
        return self.require(reference)
