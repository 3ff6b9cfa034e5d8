"""A Podman of our own: its service on a socket of its own, its images in a folder of its own."""

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

CONF = """[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
helper_binaries_dir = ["{usr}/lib/podman", "{usr}/libexec/podman", "/usr/lib/podman", "/usr/libexec/podman"]
conmon_path = ["{usr}/bin/conmon", "/usr/bin/conmon"]
[engine.runtimes]
runc = ["{usr}/sbin/runc", "{usr}/bin/runc", "/usr/sbin/runc", "/usr/bin/runc"]
crun = ["{usr}/bin/crun", "/usr/bin/crun"]
"""
POLICY = '{"default": [{"type": "insecureAcceptAnything"}]}\n'


def program(folder):
    """Podman and what it needs: installed, or Debian's packages, which apt fetches and nothing installs; as a root.

    Returned is the `usr` folder that they lie in.
    """
    if shutil.which("podman") and shutil.which("conmon"):
        return Path("/usr")
    if os.getuid() or not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        pytest.skip("no Podman on this host, and no apt, or not root, to fetch one")
    (folder / "partial").mkdir(parents=True)
    how = ["-o", f"Dir::Cache::archives={folder}", "--download-only", "--yes", "--no-install-recommends"]
    got = subprocess.run(["apt-get", *how, "install", "podman"], capture_output=True, check=False)
    packages = list(folder.glob("*.deb"))
    if not packages:
        pytest.skip(f"no Podman on this host, and apt fetched none: {got.stderr.decode()[-200:]}")
    for package in packages:
        subprocess.run(["dpkg-deb", "-x", package, folder / "root"], check=True)
    return folder / "root/usr"


class Podman:
    """A service that runs until `stop`; `url` is what CONTAINER_HOST takes. Its path is short: Podman wants that."""

    def __init__(self, usr):
        self.folder = folder = Path(tempfile.mkdtemp(prefix="kit-podman-"))
        self.url = f"unix://{folder}/podman.sock"
        home = folder / "home/.config/containers"
        home.mkdir(parents=True)
        (home / "policy.json").write_text(POLICY)
        (folder / "containers.conf").write_text(CONF.format(usr=usr))
        self.environ = os.environ | {
            "HOME": str(folder / "home"),
            "CONTAINERS_CONF": str(folder / "containers.conf"),
            "PATH": f"{usr}/bin:{usr}/sbin:{os.environ['PATH']}",
            "LD_LIBRARY_PATH": f"{usr}/lib/x86_64-linux-gnu",
        }
        # runc, since crun cannot work where version 1 and 2 of cgroups are mixed
        runtime = "crun" if Path("/sys/fs/cgroup/cgroup.controllers").exists() else "runc"
        places = ["--root", f"{folder}/root", "--runroot", f"{folder}/run"]
        self.command = [f"{usr}/bin/podman", *places, "--runtime", runtime]
        service = [*self.command, "system", "service", "--time", "0", self.url]
        with (folder / "log").open("wb") as log:
            self.process = subprocess.Popen(service, env=self.environ, stdout=log, stderr=log)
        deadline = time.monotonic() + 20
        while not (folder / "podman.sock").exists():
            if self.process.poll() is not None or time.monotonic() > deadline:
                said = (folder / "log").read_text()[-300:]
                self.stop()
                pytest.skip(f"Podman's service does not start here: {said}")
            time.sleep(0.05)

    def stop(self):
        self.process.terminate()
        self.process.wait(30)
        reset = [*self.command, "system", "reset", "--force"]
        subprocess.run(reset, env=self.environ, capture_output=True, check=False)
        shutil.rmtree(self.folder)
