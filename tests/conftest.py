"""What tests of several packages share: the real engine, and a small image for it."""

import io
import os
import shutil
import signal
import subprocess
import tarfile
from pathlib import Path

import pytest

from images import engine as engines
from schema.errors import KitError
from tests.pins import fakes_registry

# Whoever runs the tests with nohup, or in the background of a shell, leaves signals ignored, for children too.
signal.signal(signal.SIGINT, signal.default_int_handler)
for number in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_DFL)

SMALL = "rocm-repro-kit-test:busybox"
DOCKERFILE = b'FROM scratch\nADD root.tar /\nENV PATH=/bin\nENTRYPOINT ["/bin/echo", "the image\'s own entrypoint"]\n'


@pytest.fixture(scope="session")
def engine():
    """The engine of this machine."""
    try:
        found = engines.connect()
    except KitError as error:
        pytest.skip(f"no container engine here: {error.message}")
    yield found
    found.close()


@pytest.fixture(scope="session")
def busybox_file(tmp_path_factory):
    """A static busybox: the host's, or Debian's package, which apt fetches and nothing installs."""
    for name in ("/bin/busybox", "/usr/bin/busybox"):
        if Path(name).exists() and b"/ld-linux" not in Path(name).read_bytes()[:4096]:
            return Path(name)
    folder = tmp_path_factory.mktemp("busybox")
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        pytest.skip("no static busybox on this host, and no apt to fetch one")
    got = subprocess.run(["apt-get", "download", "busybox-static"], cwd=folder, capture_output=True, check=False)
    packages = list(folder.glob("*.deb"))
    if not packages:
        pytest.skip(f"no static busybox on this host, and apt fetched none: {got.stderr.decode()[-200:]}")
    subprocess.run(["dpkg-deb", "-x", packages[0], folder], check=True)
    return next(path for path in (folder / "bin/busybox", folder / "usr/bin/busybox") if path.exists())


@pytest.fixture(scope="session")
def busybox(engine, busybox_file):
    """The id of a small image with a shell, made without any registry."""
    names = subprocess.run([busybox_file, "--list"], capture_output=True, text=True, check=True).stdout.split()
    root = io.BytesIO()
    with tarfile.open(fileobj=root, mode="w") as tar:
        entry = tarfile.TarInfo("bin/busybox")
        entry.mode, entry.size = 0o755, busybox_file.stat().st_size
        with busybox_file.open("rb") as file:
            tar.addfile(entry, file)
        for name in names:
            if name != "busybox":
                link = tarfile.TarInfo(f"bin/{name}")
                link.type, link.linkname = tarfile.SYMTYPE, "busybox"
                tar.addfile(link)
    image = engine.build(context(DOCKERFILE, {"root.tar": root.getvalue()}), tag=SMALL)
    yield image
    engine.remove(SMALL, force=True)


@pytest.fixture(scope="session")
def registry_program(tmp_path_factory):
    """Debian's docker-registry; where it is not installed apt fetches it, and nothing installs it."""
    return fakes_registry.program(tmp_path_factory.mktemp("docker-registry"))


@pytest.fixture
def debian(registry_program, tmp_path):
    """A registry of our own on 127.0.0.1."""
    started = fakes_registry.Debian(registry_program, tmp_path / "registry")
    yield started
    started.stop()


@pytest.fixture
def closed(tmp_path):
    """A folder into which this process may not look; root is nobody meanwhile."""
    folder, user = tmp_path / "closed", os.geteuid()
    folder.mkdir(mode=0)
    if user == 0:
        os.seteuid(65534)
    yield folder
    os.seteuid(user)
    folder.chmod(0o700)


def context(dockerfile, files=None):
    """Return a build context as a file."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, data in {"Dockerfile": dockerfile, **(files or {})}.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    buffer.seek(0)
    return buffer
