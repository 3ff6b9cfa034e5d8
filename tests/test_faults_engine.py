"""Faults of an engine, of its images and containers, and of disks: the second half of the table of faults.

A small image is built, by the real engine, through a socket of our own where that engine has to die in the middle.
"""

import os
import shutil
import subprocess
import threading
import time
from contextlib import ExitStack

import pytest

from schema import documents
from schema.errors import KitError
from tests import tiny
from tests.pins.fakes_archive import Archive
from tests.proxy import Proxy
from tests.world import Fault, World, told

pytestmark = pytest.mark.engine

BUILD = "build --json --lock {}/tiny.lock.yaml"
VALIDATE = "validate --lock {}/tiny.lock.yaml"
FETCH = "fetch --lock {}/small.lock.yaml"
#: The small image has no torch, which is what its validation says when all else is well.
NO_TORCH = 1


class EngineWorld(World):
    """A world whose engine is the real one, behind a socket of our own, with the small image in it."""

    def prepare(self, engine, proxy, disks):
        self.engine, self.proxy, self.disks = engine, proxy, disks
        self.write_lock(tiny.document(), "tiny")
        for name in ("KIT_CACHE", "KIT_SOURCE", "KIT_SNAPSHOT"):
            del self.environ[name]
        self.environ["DOCKER_HOST"] = proxy.url

    def remove_image(self):
        self.engine.remove(f"rocm-repro-kit:{tiny.NAME}", force=True)

    def strike(self, *argv):
        """End our container as soon as there is one."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            for found in self.engine.api.containers(filters={"status": "running", "label": "rocm-repro-kit.run"}):
                if subprocess.run(["docker", *argv, found["Id"]], capture_output=True, check=False).returncode == 0:
                    return

    def disk(self, name, options):
        """Put a disk of its own under a folder, until it is mended."""
        path = self.folder / name
        mount = ["mount", "-t", "tmpfs", "-o", options, "kit-test", path]
        if os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
            pytest.skip("this user cannot mount a small disk here")
        self.disks.callback(subprocess.run, ["umount", path], check=True)

    def mend(self):
        self.proxy.live()
        self.disks.close()
        super().mend()


def dies(pattern, after=0):
    """Let the engine be gone once it has given so many bytes to a request."""
    return lambda world: world.proxy.die_at(pattern, after)


def not_built(*more):
    """Take the image away first."""
    return lambda world: [arrange(world) for arrange in (EngineWorld.remove_image, *more)]


def struck(*argv):
    return lambda world: threading.Thread(target=world.strike, args=argv, daemon=True).start()


def disk(name, options):
    return lambda world: world.disk(name, options)


def own_cache(*more):
    """Use a cache of the world's own, and its web server."""

    def arrange(world):
        world.environ |= {"KIT_CACHE": str(world.folder / "cache"), "KIT_SOURCE": world.archive.url}
        for one in more:
            one(world)

    return arrange


ENGINE_FAULTS = (
    Fault("an image that somebody removed", BUILD, 0, '"built": true', not_built()),
    Fault("an engine that dies while it builds", BUILD, 2, "engine", not_built(dies(r"POST \S*/build", 3000)), 0),
    Fault("an engine that dies while it saves", BUILD, 2, "engine", not_built(dies(r"GET \S*/get", 1 << 24)), 0),
    Fault("an engine that dies while it loads", BUILD, 2, "engine", not_built(dies(r"POST \S*/images/load")), 0),
    Fault("an engine that dies before a container starts", VALIDATE, 2, "closed", dies(r"POST \S*/start"), NO_TORCH),
    Fault("an engine that dies while a container runs", VALIDATE, 2, "engine", dies(r"POST \S*/attach", 900), NO_TORCH),
    Fault("a container that somebody killed", VALIDATE, 2, "killed", struck("kill"), NO_TORCH),
    Fault("a container that somebody removed", VALIDATE, 2, "killed", struck("rm", "-f"), NO_TORCH),
    Fault("a full disk under the outputs", BUILD, 2, "out", not_built(disk("out", "size=60m")), 0),
    Fault("a read-only disk under the outputs", VALIDATE, 2, "out", disk("out", "ro"), NO_TORCH),
    Fault("a full disk under the cache", FETCH, 2, "cache", own_cache(disk("cache", "size=100k")), 0),
    Fault("a read-only disk under the cache", FETCH, 2, "cache", own_cache(disk("cache", "ro")), 0),
)


@pytest.fixture(scope="module")
def lock():
    try:
        return tiny.fetched()
    except KitError as error:
        pytest.skip(f"the packages of the small image cannot be had: {error.message}")


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    """Where the record of the image that is there is kept between two worlds."""
    return tmp_path_factory.mktemp("records")


@pytest.fixture
def world(engine, lock, records, tmp_path):  # noqa: ARG001 -- without the lock's packages there is no world
    address = engine.about()["address"]
    if not address.startswith("unix://"):
        pytest.skip(f"the engine is at {address}: no socket to stand in for")
    with Archive() as archive, Proxy(address, tmp_path / "engine.sock") as proxy, ExitStack() as disks:
        world = EngineWorld(tmp_path, archive)
        world.prepare(engine, proxy, disks)
        if (records / "out").exists():
            shutil.copytree(records / "out", tmp_path / "out", dirs_exist_ok=True)
        there = world.kit(BUILD)
        assert there.returncode == 0, there.stderr
        shutil.copytree(tmp_path / "out", records / "out", dirs_exist_ok=True)
        yield world


def ours(engine):
    """Return the containers and volumes of ours that are in the engine."""
    containers = engine.api.containers(all=True, filters={"label": "rocm-repro-kit.run"})
    return [found["Id"] for found in containers]


@pytest.mark.parametrize("fault", ENGINE_FAULTS, ids=lambda fault: fault.what)
def test_a_fault_is_told_with_one_remedy_and_the_same_command_succeeds_once_it_is_mended(fault, world):
    identity = documents.read_json(world.folder / "out" / tiny.NAME / "image.json")["image_id"]
    fault.arrange(world)

    told(world.kit(fault.command), fault.code, fault.says)

    if fault.then is not None:
        world.mend()
        told(world.kit(fault.command), fault.then)
    assert world.halves() == []
    assert ours(world.engine) == []
    assert documents.read_json(world.folder / "out" / tiny.NAME / "image.json")["image_id"] == identity
