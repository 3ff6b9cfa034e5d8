"""A container engine in memory: the real interface (a test holds the signatures equal), scripted runs."""

# ruff: noqa: ARG002 -- a fake takes whatever the real thing takes

import hashlib
import io
import tarfile
from dataclasses import dataclass, field

from images.endpoint import EngineError

ABOUT = {
    "name": "docker",
    "version": "20.10.24",
    "storage": "overlay2",
    "api": "1.41",
    "address": "unix:///var/run/docker.sock",
    "source": "the default socket",
    "remote": False,
    "rootless": False,
    "userns_remap": False,
    "desktop": False,
    "data_root": "/",
    "memory_bytes": 16 << 30,
    "cpus": 4,
    "oci_runtime": "runc",
    "runtimes": ["runc"],
    "cdi": [],
}


@dataclass
class Script:
    """What one run prints and how it ends: `error` is raised after the lines, in place of an exit code."""

    lines: list = field(default_factory=list)
    stderr: list = field(default_factory=list)
    code: int = 0
    error: Exception | None = None


class FakeEngine:
    """Images as {reference: {id, archive, ...}}; each run takes the next script, or a function of (files, argv)."""

    def __init__(self, *scripts, about=None, images=None):
        self.scripts = list(scripts)
        self.description = ABOUT | (about or {})
        self.images = dict(images or {})
        self.ran = []
        self.pruned = []
        self.swept = 0
        self.answers = []
        self.worked = []

    def close(self):
        pass

    def about(self):
        return dict(self.description)

    def image(self, reference):
        found = self.images.get(reference)
        return dict(found) if found else next((dict(i) for i in self.images.values() if i["id"] == reference), None)

    def require(self, reference):
        found = self.image(reference)
        if found is None:
            raise EngineError(f"the engine has no image {reference}", "./kit build", code="absent", status=404)
        return found

    def build(self, context, *, tag="", nocache=False, on_log=None):
        if on_log:
            on_log("Step 1/1 : FROM scratch")
        return self._add(context.read(), tag)

    def work(self, image, argv, inputs, answer, *, bounds, folder, label, on_log):
        """Answer with the next of `answers`: a tar with `out/`, or what is raised."""
        self.require(image)
        files = {name.removeprefix(folder[1:] + "/"): data for name, data in unpack(inputs.read()).items()}
        self.worked.append({"image": image, "argv": argv, "files": files, "label": label, "bounds": bounds})
        answered = self.answers.pop(0)
        if isinstance(answered, BaseException):
            raise answered
        answer.write(answered)
        answer.flush()

    def save(self, reference):
        return iter([self.require(reference)["archive"]])

    def load(self, archive, reference):
        self._add(b"".join(archive), reference)
        return self.require(reference)

    def pull(self, reference, *, on_progress=None):
        if on_progress:
            on_progress(1, 1)
        return self.require(reference)

    def remove(self, reference, *, force=False):
        return self.images.pop(reference, None) is not None

    def prune(self, label, *, older_s=0):
        self.pruned.append((label, older_s))

    def sweep(self):
        self.swept += 1
        return 0

    def run(self, image, cargo, argv, access, *, deadline_s, on_line, on_stderr=None):
        files = unpack(cargo)
        self.ran.append({"image": image, "files": files, "argv": argv, "access": access, "deadline_s": deadline_s})
        script = self.scripts.pop(0)
        if callable(script):
            script = script(files, argv)
        for line in script.stderr:
            if on_stderr:
                on_stderr(line)
        for line in script.lines:
            on_line(line)
        if script.error:
            raise script.error
        return script.code

    def _add(self, data, tag):
        identity = f"sha256:{hashlib.sha256(data).hexdigest()}"
        found = {"id": identity, "diff_ids": [identity], "size": len(data), "tags": [tag]}
        self.images[tag or identity] = found | {"archive": data}
        return identity


def unpack(cargo):
    """Return the files of a tar."""
    if not cargo:
        return {}
    with tarfile.open(fileobj=io.BytesIO(cargo)) as tar:
        return {entry.name: tar.extractfile(entry).read() for entry in tar if entry.isfile()}
