"""What is promised of a run, through Podman's Docker-compatible API: the same image, as little access, the same end."""

import os
import shlex
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from commands.image import buildable
from images import cargo
from images import engine as engines
from images.access import access
from images.containers import LABEL
from images.device import Device
from images.devices import USER
from images.endpoint import EngineError
from images.lines import docker_run_line
from pins.lock import from_document
from schema.errors import KitError
from tests import podman as podmans
from tests.conftest import SMALL, context
from tests.pins.fakes_archive import BASE, deb, document

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    started = podmans.Podman(podmans.program(tmp_path_factory.mktemp("packages")))
    yield started
    started.stop()


@pytest.fixture(scope="module")
def podman(service):
    found = engines.connect({"CONTAINER_HOST": service.url}, engine="podman")
    yield found
    found.close()


@pytest.fixture(scope="module")
def image(podman, engine, busybox):
    """The small image, as `docker save` gives it."""
    loaded = podman.load(engine.save(SMALL), SMALL)
    assert loaded["id"] == busybox, "an image is what its configuration's digest says, whichever engine has it"
    return loaded["id"]


@pytest.fixture(autouse=True)
def nothing_stays(podman):
    yield
    assert podman.api.containers(all=True, filters={"label": [LABEL]}) == []
    assert podman.api.volumes()["Volumes"] in (None, [])


def ran(podman, image, script, given=None, **more):
    lines, errors = [], []
    argv = ["sh", "-c", script] if isinstance(script, str) else script
    more = {"cargo": b"", "deadline_s": 60} | more
    code = podman.run(
        image,
        argv=argv,
        access=given or access("cpu", podman.about()),
        on_line=lines.append,
        on_stderr=errors.append,
        **more,
    )
    return lines, errors, code


def test_it_says_what_it_is(podman):
    about = podman.about()

    assert (about["name"], about["source"], about["remote"], about["rootless"]) == (
        "podman",
        "CONTAINER_HOST",
        False,
        False,
    )


def test_lines_noise_exit_code_and_cargo_are_as_with_docker(podman, image):
    data = cargo.archive({"deep/file.txt": b"hello\n"})
    lines, errors, code = ran(podman, image, "pwd; cat deep/file.txt; echo noise >&2; printf cut; exit 7", cargo=data)

    assert (lines, errors, code) == ([b"/kit", b"hello"], ["noise"], 7)


def test_privileges_are_the_least_as_the_kernel_tells_it(podman, image):
    lines, _, _ = ran(
        podman, image, "cat /proc/self/status; echo; ls /sys/class/net; touch /x || echo read-only; ulimit -c"
    )
    status = dict(line.split(b":", 1) for line in lines[: lines.index(b"")])
    rest = lines[lines.index(b"") + 1 :]

    assert [status[key].split() for key in (b"CapEff", b"CapBnd")] == [[b"0" * 16]] * 2
    assert [status[key].split() for key in (b"NoNewPrivs", b"Seccomp")] == [[b"1"], [b"2"]]
    assert status[b"Uid"].split() == [USER.split(":")[0].encode()] * 4
    assert b"eth0" not in rest
    assert rest[-2:] == [b"read-only", b"0"]


@pytest.mark.skipif(os.getuid() != 0, reason="only root can make device nodes")
def test_a_device_opens_by_its_numeric_group_and_by_nothing_else(podman, image, tmp_path):
    for name in ("kfd", "dri/renderD128", "dri/renderD129"):
        node = tmp_path / "dev" / name
        node.parent.mkdir(parents=True, exist_ok=True)
        os.mknod(node, 0o020660, os.makedev(1, 3))
        node.chmod(0o660)
        os.chown(node, 0, 992)
    given = access("rocm", podman.about(), Device(gpus="1"), root=tmp_path, environ={})
    lines, errors, code = ran(podman, image, "ls /dev/dri; id -G; : > /dev/kfd && : > /dev/dri/renderD129", given)

    assert (lines[0], set(lines[1].split()), errors, code) == (b"renderD129", {b"992", b"65532"}, [], 0)


def test_memory_shared_memory_and_user_are_as_asked(podman, image):
    given = access("cpu", podman.about(), Device(memory="600m", shm="100m", user="1234"))
    limit = "cd /sys/fs/cgroup; cat memory.max memory/memory.limit_in_bytes 2>/dev/null"  # of either version
    lines, _, _ = ran(podman, image, f"id -u; id -g; df -k /dev/shm | tail -n 1; {limit}", given)

    assert lines[:2] == [b"1234", b"1234"]
    assert lines[2].split()[1] == str(100 << 10).encode()
    assert lines[3:] == [str(600 << 20).encode()]


@pytest.mark.parametrize(
    ("argv", "nodes", "says"),
    [
        (["/nowhere"], (), "cannot run this command"),
        (["true"], (("/dev/nowhere", "/dev/nowhere"),), "no device /dev/nowhere"),
    ],
    ids=["a command that is not there", "a device that is not there"],
)
def test_what_does_not_start_says_why(argv, nodes, says, podman, image):
    given = access("cpu", podman.about())
    given = replace(given, devices=replace(given.devices, nodes=nodes))
    with pytest.raises(EngineError, match=says) as caught:
        ran(podman, image, argv, given)

    assert caught.value.hint


def test_the_pasted_line_really_runs(service, podman, image, tmp_path):
    (tmp_path / "cargo.tar").write_bytes(cargo.archive({"deep/file.txt": b"from the cargo\n"}))
    script = "cat deep/file.txt; id -u; grep CapEff /proc/self/status; touch /z || echo read-only"
    line = docker_run_line(access("cpu", podman.about()), image, ["sh", "-c", script], cargo=tmp_path / "cargo.tar")
    assert line.startswith("podman run ")
    command = line.replace("podman", shlex.join(service.command), 1)
    done = subprocess.run(
        ["sh", "-c", command], env=service.environ, capture_output=True, text=True, check=False, timeout=60
    )

    assert done.stdout.splitlines() == ["from the cargo", "65532", "CapEff:\t0000000000000000", "read-only"], (
        done.stderr
    )


def test_its_builder_stays_on_the_network_so_nothing_is_built_with_it(podman, image):
    recipe = f"FROM {SMALL}\nRUN wc -l < /proc/net/dev\n".encode()
    log = []
    built = podman.build(context(recipe), tag="kit-test:network", nocache=True, on_log=log.append)
    podman.remove(built, force=True)
    here = Path("/proc/net/dev").read_text(encoding="ascii").count("\n")

    assert str(here) in [line.strip() for line in log], "were it off the network, there would be three lines"
    with pytest.raises(KitError, match="does not stay off the network") as caught:
        buildable(from_document(document([deb("aa", b"a")])), podman)
    assert "podman load" in caught.value.hint
    buildable(from_document(document(base=BASE)), podman)  # in a container, whose network is off
    assert image
