"""What an engine's own words mean."""

import os

import pytest

from images.about import describe
from images.endpoint import Endpoint
from tests.fakes import ABOUT

LOCAL = Endpoint("unix:///var/run/docker.sock", "the default socket")
VERSION = {"Version": "28.5.2", "ApiVersion": "1.51", "Components": [{"Name": "Engine"}, {"Name": "containerd"}]}
INFO = {
    "Driver": "overlay2",
    "DriverStatus": [["Backing Filesystem", "extfs"]],
    "OperatingSystem": "Debian GNU/Linux 13 (trixie)",
    "MemTotal": 1 << 34,
    "NCPU": 8,
    "DockerRootDir": "/var/lib/docker",
    "Runtimes": {"runc": {}, "nvidia": {}},
    "SecurityOptions": ["name=seccomp,profile=builtin"],
}


def test_the_fake_engine_describes_itself_with_the_same_keys():
    assert set(describe(VERSION, INFO, LOCAL)) == set(ABOUT)


@pytest.mark.parametrize(
    ("version", "info", "where", "expected"),
    [
        pytest.param({}, {}, LOCAL, {"name": "docker", "storage": "overlay2", "remote": False}, id="Docker"),
        pytest.param({"Components": [{"Name": "Podman Engine"}]}, {}, LOCAL, {"name": "podman"}, id="Podman's socket"),
        pytest.param(
            {},
            {"Driver": "overlayfs", "DriverStatus": [["driver-type", "io.containerd.snapshotter.v1"]]},
            LOCAL,
            {"storage": "containerd"},
            id="containerd image store",
        ),
        pytest.param({}, {"SecurityOptions": ["name=rootless"]}, LOCAL, {"rootless": True}, id="rootless"),
        pytest.param({}, {"SecurityOptions": ["name=userns"]}, LOCAL, {"userns_remap": True}, id="mapped users"),
        pytest.param({}, {"OperatingSystem": "Docker Desktop"}, LOCAL, {"desktop": True}, id="Docker Desktop"),
        pytest.param({}, {}, Endpoint("ssh://a@b", "DOCKER_HOST"), {"remote": True}, id="remote"),
        pytest.param(
            {}, {"KernelVersion": os.uname().release}, LOCAL, {"remote": False}, id="a socket, and this kernel"
        ),
        pytest.param(
            {}, {"KernelVersion": "6.6.0-linuxkit"}, LOCAL, {"remote": True}, id="a socket that is forwarded, or a VM's"
        ),
        pytest.param({}, {"DiscoveredDevices": [{"ID": "amd.com/gpu=0"}]}, LOCAL, {"cdi": ["amd.com/gpu=0"]}, id="CDI"),
        pytest.param({}, {"MemTotal": 0}, LOCAL, {"memory_bytes": None}, id="unknown memory is no zero"),
    ],
)
def test_an_engine_is_recognised(version, info, where, expected):
    found = describe(VERSION | version, INFO | info, where)

    assert {key: found[key] for key in expected} == expected
