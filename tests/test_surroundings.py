"""The same lock gives the same image, bit for bit, whatever surrounds the build.

A small image is built with each Python from 3.10 on that is found here, every time with another user, locale, time
zone, umask, folder for temporary files, number of processors and environment; each build has another host name and
another time by itself. `KIT_OTHER_ENGINES` names further engines (`unix:///...`, separated by blanks) that build it,
too, and an image of a recipe with everything that engines do differently; without it those tests skip, and say so. On
2026-11-30 they ran with 26.1.5 (overlay2) and 26.1.5 (containerd store) beside Docker 20.10.24 (overlay2): one
identity each.
"""

import hashlib
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import pytest

from images import assemble
from images.context import Context
from images.normal import DROPPED, EMPTIED, REWRITTEN, WITHOUT_FILES
from pins.lock import load
from pins.progress import Progress
from pins.store import Store
from schema.errors import KitError
from tests import tiny
from tests.pythons import found

pytestmark = pytest.mark.engine
ROOT = Path(__file__).parent.parent
PYTHONS = found((3, 10), (3, 14))
OTHERS = os.environ.get("KIT_OTHER_ENGINES", "").split()
IDENTITY = ("image_id", "manifest_digest", "diff_ids")

#: By version of Python: what else is different in its build.
SURROUNDINGS = {
    "3.10": {"umask": 0o077, "cpus": 1, "environ": {"LC_ALL": "C", "TZ": "Asia/Kathmandu", "PYTHONHASHSEED": "1"}},
    "3.11": {"umask": 0o002, "cpus": 2, "environ": {"LANG": "tr_TR.UTF-8", "TZ": "America/St_Johns"}},
    "3.12": {"umask": 0o022, "cpus": 1, "environ": {"SOURCE_DATE_EPOCH": "1", "PYTHONOPTIMIZE": "1"}, "nobody": True},
    "3.13": {"umask": 0o027, "cpus": 2, "environ": {"LANGUAGE": "de", "TZ": "UTC+3", "LC_ALL": "POSIX"}},
    "3.14": {"umask": 0o007, "cpus": 1, "environ": {"PYTHONUTF8": "0", "DEBIAN_FRONTEND": "readline"}},
}
#: What engines and storage drivers keep in different ways: all of it on top of the small image's own recipe.
NASTY = r"""
RUN mkdir -p /n/became-file/deep /n/replaced/old && touch /n/became-file/deep/x /n/replaced/old/y /n/gone
RUN rm -r /n/became-file && echo now a file > /n/became-file
RUN rm -r /n/replaced /n/gone /etc/skel && mkdir -p /n/replaced && touch /n/replaced/new
RUN echo one > /n/a && ln /n/a /n/z && ln /n/a /n/m && ln -s /n/nowhere /n/dangling && ln -s ../etc /n/up
RUN mkfifo /n/fifo && truncate --size 5M /n/sparse && touch -d '1960-02-03 04:05:06.7' /n/before-the-epoch
RUN touch "/n/$(printf 'l%.0s' $(seq 1 250))" "/n/grün-日本-\n" && cp /bin/true /n/setuid && chmod 6755 /n/setuid
RUN chown 70000:70000 /n/m && mkdir -m 1777 /n/sticky && cp /bin/true /n/capable
RUN python3 -c "import os; os.setxattr('/n/capable', 'security.capability', bytes([1, 0, 0, 2, 0, 4] + 14 * [0]))"
"""


@pytest.fixture(scope="module")
def lock(tmp_path_factory):
    """The small image's lock in a file."""
    try:
        tiny.fetched()
    except KitError as error:
        pytest.skip(f"the packages of the small image cannot be had: {error.message}")
    path = tmp_path_factory.mktemp("lock") / "tiny.lock.yaml"
    path.write_text(json.dumps(tiny.document()), encoding="utf-8")
    path.chmod(0o644)
    path.parent.chmod(0o755)
    return path


def build(lock, folder, *argv, python=sys.executable, before=(), umask=-1, **environ):
    """Build by the command line, outputs in a folder; return the answer."""
    command = [*before, python, "-X", "utf8", ROOT / "tasks.py", "build", "--force", "--json", "--lock", lock, *argv]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        env=os.environ | {"KIT_OUT": str(folder / "out")} | environ,
        cwd=folder,
        umask=umask,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout)


def identity(answer):
    return {key: answer[key] for key in IDENTITY}


@pytest.fixture(scope="module")
def expected(engine, lock, tmp_path_factory):  # noqa: ARG001 -- without an engine there is nothing to expect
    return identity(build(lock, tmp_path_factory.mktemp("reference")))


@pytest.fixture(scope="module")
def nasty(lock, tmp_path_factory):
    """A recipe with everything that engines do differently, and what this engine makes of it."""
    folder = tmp_path_factory.mktemp("nasty")
    head, last = assemble.DOCKERFILE.read_text(encoding="utf-8").rsplit("\nCMD", 1)
    (folder / "Dockerfile").write_text(f"{head}\n{NASTY}CMD{last}", encoding="utf-8")
    return folder / "Dockerfile", build(lock, folder, "--dockerfile", folder / "Dockerfile")


def as_nobody():
    """Return what runs a command as another user, who may read what root may, and talk to the engine."""
    if os.geteuid():
        return []
    group = Path("/var/run/docker.sock").stat().st_gid if Path("/var/run/docker.sock").exists() else 65534
    may_read = [f"--{kind}-caps=+dac_read_search" for kind in ("inh", "ambient")]
    return ["setpriv", "--reuid=65534", "--regid=65534", f"--groups={group}", *may_read]


@pytest.mark.parametrize("version", SURROUNDINGS)
def test_the_same_image_comes_out_whatever_surrounds_its_build(version, lock, expected, tmp_path):
    if version not in PYTHONS:
        pytest.skip(f"there is no Python {version} here")
    around = SURROUNDINGS[version]
    subprocess.run([PYTHONS[version], "-m", "venv", tmp_path / "venv"], check=True)
    python = tmp_path / "venv/bin/python"
    wanted = ["--require-hashes", "--only-binary=:all:", "-r", ROOT / "requirements/run.txt"]
    got = subprocess.run([python, "-m", "pip", "install", "-qq", *wanted], capture_output=True, text=True, check=False)
    if got.returncode:
        pytest.skip(f"the kit's packages cannot be had for Python {version}: {got.stderr[-300:]}")
    before = [*(as_nobody() if around.get("nobody") else []), "taskset", "--cpu-list", f"0-{around['cpus'] - 1}"]
    (tmp_path / "temporary").mkdir()
    for path in (tmp_path, tmp_path / "temporary"):
        path.chmod(0o777)

    made = build(
        lock,
        tmp_path,
        python=python,
        before=before,
        umask=around["umask"],
        TMPDIR=str(tmp_path / "temporary"),
        **around["environ"],
    )

    assert identity(made) == expected


@pytest.mark.parametrize("address", OTHERS or [""])
def test_every_engine_and_image_store_gives_the_same_identities(address, lock, expected, nasty, tmp_path):
    if not address:
        pytest.skip("KIT_OTHER_ENGINES names no other engine to build with")

    assert identity(build(lock, tmp_path, DOCKER_HOST=address)) == expected
    recipe, made = nasty
    assert identity(build(lock, tmp_path, "--dockerfile", recipe, DOCKER_HOST=address)) == identity(made)


def exported(engine, image, epoch):
    """Return, by path, all that a container of an image holds, as its engine exports it."""
    container = engine.api.create_container(image, ["/bin/true"])["Id"]
    found = {}
    try:
        with tempfile.TemporaryFile() as file:
            for piece in engine.api.export(container):
                file.write(piece)
            file.seek(0)
            with tarfile.open(fileobj=file) as tar:
                for member in tar:
                    target = tar.getmember(member.linkname) if member.islnk() else member
                    data = hashlib.sha256(tar.extractfile(target).read()).hexdigest() if target.isreg() else ""
                    attributes = sorted((k, v) for k, v in target.pax_headers.items() if k.startswith("SCHILY.xattr."))
                    time = 0 if target.isdir() else min(target.mtime // 1, epoch)
                    about = (target.type, target.mode, target.uid, target.gid, target.size, target.linkname, attributes)
                    found[member.name.rstrip("/")] = (*about, data, time)
    finally:
        engine.api.remove_container(container, force=True, v=True)
    return found


def kept(path):
    """Say whether the canonical form keeps a path as it is, by the table of `images.normal`."""
    name = path.encode()
    mine = name in DROPPED or name in REWRITTEN or name.startswith((*EMPTIED, *WITHOUT_FILES))
    engines_own = path in {"dev", "proc", "sys"} or path.startswith(("dev/", "proc/", "sys/"))
    return not (mine or engines_own)


def test_an_engines_export_of_the_canonical_image_is_that_of_the_original_but_for_the_table(
    engine, nasty, lock, tmp_path
):
    recipe, made = nasty
    name = "rocm-repro-kit:kit-test-original"
    job = assemble.Job(load(lock), engine, Store(), tmp_path, recipe, Progress("build", shown=False))
    engine.build(Context(assemble._context(job, tmp_path), job.lock.epoch), tag=name, nocache=True)
    try:
        before, after = (exported(engine, image, job.lock.epoch) for image in (name, made["engine_id"]))
    finally:
        engine.remove(name, force=True)

    assert {path for path in before.keys() ^ after.keys() if kept(path)} == set()
    assert {path: (before[path], after[path]) for path in after if kept(path) and before[path] != after[path]} == {}
    assert {"n/became-file", "n/replaced/new", "n/z", "n/fifo", "n/sparse", "n/capable"} <= after.keys()
    assert {"n/gone", "n/replaced/old", "n/became-file/deep"} & after.keys() == set()
    assert dict(after["n/capable"][6])["SCHILY.xattr.security.capability"]
