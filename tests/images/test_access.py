"""What a container may use: the least, by number, and the line that a person can paste says the same."""

import json
import os
import re
import shlex
import shutil
import subprocess

import pytest

from images import cargo
from images.access import access
from images.devices import ACCESS, ROOT_USER, USER
from images.lines import docker_run_line
from schema.documents import load_schema
from schema.errors import KitError
from tests.fakes import ABOUT

NEVER = ("--privileged", "seccomp=unconfined", "--ipc=host", "--network=host", "chmod", "--group-add=render")
AS_ROOT = pytest.mark.skipif(os.getuid() != 0, reason="only root can make device nodes and give files away")


def tree(root, nodes):
    """Make device nodes {path: (mode, gid)}: numbers of /dev/null, which opens and answers nothing."""
    for path, (mode, gid) in nodes.items():
        place = root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        os.mknod(place, 0o020000 | mode, os.makedev(1, 3))
        place.chmod(mode)
        os.chown(place, 0, gid)
    return root


def vendor(root, name, text):
    place = root / "sys/class/drm" / name / "device/vendor"
    place.parent.mkdir(parents=True)
    place.write_text(text + "\n")


def test_the_table_has_the_backends_of_the_schema():
    assert sorted(ACCESS) == sorted(load_schema("shared-1")["$defs"]["backend"]["enum"])


def test_a_cpu_run_gets_no_device_no_group_and_no_network():
    config = access("cpu", ABOUT).host_config

    assert (config["Devices"], config["GroupAdd"], config["DeviceRequests"]) == ([], [], [])
    assert (config["NetworkMode"], config["CapDrop"], config["ReadonlyRootfs"]) == ("none", ["ALL"], True)
    assert config["SecurityOpt"] == ["no-new-privileges"]


def test_limits_follow_the_engine_s_machine_and_leave_it_air():
    total = 64 << 30
    found = access("cpu", ABOUT | {"memory_bytes": total, "cpus": 128})

    assert 0.8 * total < found.memory_bytes < total - (1 << 30)
    assert found.processes == 128 * 128
    assert 1 << 30 <= found.shared_bytes <= found.memory_bytes


def test_temporary_places_can_run_what_compilers_write_there():
    for options in access("cpu", ABOUT).tmpfs.values():
        assert options.startswith("rw,exec,nosuid,nodev,mode=1777,size=")


def test_a_user_without_a_name_is_given_all_that_torch_asks_for():
    wanted = {"HOME", "USER", "LOGNAME", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "MIOPEN_USER_DB_PATH"}
    line = docker_run_line(access("cpu", ABOUT), "image", ["x"])

    assert wanted | {"MIOPEN_CUSTOM_CACHE_DIR"} <= set(re.findall(r"--env=(\w+)=", line))


@AS_ROOT
@pytest.mark.parametrize(
    ("nodes", "groups", "user"),
    [
        pytest.param({"/dev/kfd": (0o660, 992), "/dev/dri/renderD128": (0o660, 992)}, ("992",), USER, id="one group"),
        pytest.param(
            {"/dev/kfd": (0o660, 992), "/dev/dri/renderD128": (0o660, 44)}, ("44", "992"), USER, id="two groups"
        ),
        pytest.param({"/dev/kfd": (0o666, 992), "/dev/dri/renderD128": (0o666, 44)}, (), USER, id="open to all: none"),
        pytest.param(
            {"/dev/kfd": (0o600, 0), "/dev/dri/renderD128": (0o660, 44)}, ("44",), ROOT_USER, id="owner alone"
        ),
    ],
)
def test_groups_are_the_numbers_on_the_nodes_once_each(nodes, groups, user, tmp_path):
    found = access("rocm", ABOUT, root=tree(tmp_path, nodes))

    assert (found.devices.groups, found.devices.user) == (groups, user)
    assert [inside for _, inside in found.devices.nodes] == list(nodes)


@AS_ROOT
def test_render_nodes_of_other_makers_stay_outside(tmp_path):
    nodes = dict.fromkeys(["/dev/kfd", "/dev/dri/renderD128", "/dev/dri/renderD129"], (0o660, 992))
    vendor(tree(tmp_path, nodes), "renderD128", "0x8086")
    vendor(tmp_path, "renderD129", "0x1002")

    found = access("rocm", ABOUT, root=tmp_path)

    assert [inside for _, inside in found.devices.nodes] == ["/dev/kfd", "/dev/dri/renderD129"]


def test_a_missing_node_is_refused_before_any_container_is_made(tmp_path):
    with pytest.raises(KitError, match=r"no /dev/kfd") as caught:
        access("rocm", ABOUT, root=tmp_path)

    assert "doctor" in caught.value.hint


@AS_ROOT
@pytest.mark.parametrize("where", ["remote", "desktop"])
def test_no_group_of_this_host_goes_to_an_engine_elsewhere(where, tmp_path):
    root = tree(tmp_path, {"/dev/kfd": (0o660, 992), "/dev/dri/renderD128": (0o660, 992)})
    found = access("rocm", ABOUT | {where: True}, root=root)

    assert (found.devices.groups, found.devices.user) == ((), ROOT_USER)
    assert "cannot be judged" in found.devices.notes[0]


@AS_ROOT
@pytest.mark.parametrize(
    ("about", "groups"),
    [
        ({"name": "docker"}, ()),
        ({"name": "podman", "oci_runtime": "runc"}, ()),
        ({"name": "podman", "oci_runtime": "crun"}, ("keep-groups",)),
    ],
    ids=["Docker", "Podman with runc", "Podman with crun"],
)
def test_a_rootless_engine_gets_no_number_that_means_nothing_to_it(about, groups, tmp_path):
    root = tree(tmp_path, {"/dev/kfd": (0o660, 992), "/dev/dri/renderD128": (0o660, 992)})

    assert access("rocm", ABOUT | about | {"rootless": True}, root=root).devices.groups == groups


@AS_ROOT
@pytest.mark.parametrize(
    ("backend", "nodes", "closed"),
    [
        ("rocm", {"/dev/kfd": (0o666, 992), "/dev/dri/renderD128": (0o660, 992)}, "/dev/dri/renderD128"),
        ("rocm", {"/dev/kfd": (0o600, 0), "/dev/dri/renderD128": (0o666, 992)}, "/dev/kfd"),
        ("rocm", {"/dev/kfd": (0o666, 992), "/dev/dri/renderD128": (0o666, 992)}, ""),
        ("cuda", {"/dev/nvidiactl": (0o660, 44)}, "/dev/nvidiactl"),
        ("cuda", {"/dev/nvidiactl": (0o666, 44)}, ""),
    ],
    ids=["a group's", "its owner's", "open to all", "NVIDIA's, a group's", "NVIDIA's, open to all"],
)
def test_an_engine_that_maps_users_is_refused_a_node_that_nobody_inside_can_open(backend, nodes, closed, tmp_path):
    root, about = tree(tmp_path, nodes), ABOUT | {"userns_remap": True}
    if not closed:
        devices = access(backend, about, root=root).devices
        assert (devices.groups, devices.user) == ((), USER)
        return

    with pytest.raises(KitError, match=f"userns-remap.*{closed}") as caught:
        access(backend, about, root=root)
    assert "--runtime host" in caught.value.hint


def test_an_nvidia_run_never_asks_for_kfd(tmp_path):
    config = access("cuda", ABOUT, root=tmp_path).host_config

    assert config["Devices"] == []
    assert config["DeviceRequests"] == [{"Driver": "", "Capabilities": [["gpu"]], "Count": -1}]


def test_cdi_is_used_where_the_engine_has_it(tmp_path):
    found = access("cuda", ABOUT | {"cdi": ["nvidia.com/gpu=all"]}, root=tmp_path)

    assert found.devices.requests == ({"Driver": "cdi", "Count": 0, "DeviceIDs": ["nvidia.com/gpu=all"]},)
    assert "--device=nvidia.com/gpu=all" in docker_run_line(found, "x", ["y"])


@AS_ROOT
def test_the_line_gives_groups_by_number_and_nothing_that_opens_more(tmp_path):
    nodes = {"/dev/kfd": (0o660, 992), "/dev/dri/renderD128": (0o660, 44)}
    line = docker_run_line(access("rocm", ABOUT, root=tree(tmp_path, nodes)), "image", ["python3", "-m", "validate"])

    assert re.findall(r"--group-add=\S+", line) == ["--group-add=44", "--group-add=992"]
    assert not [word for word in NEVER if word in line]


def test_the_line_survives_odd_arguments(tmp_path):
    argv = ["python3", "-c", "print('a b; $HOME')"]
    line = docker_run_line(access("cpu", ABOUT), "image", argv, cargo=tmp_path / "a b.tar")
    words = shlex.split(line.replace("\\\n", ""))

    assert words[words.index("image") + 1 :] == [
        *("-c", 'cd /kit && tar -xof - && exec "$@"', "sh", *argv),
        *("<", str(tmp_path / "a b.tar")),
    ]


def client():
    found = shutil.which("docker")
    return found or pytest.skip("no docker client to paste the line to")


@pytest.mark.engine
def test_the_pasted_line_really_runs(engine, busybox, tmp_path):
    client()
    data = cargo.archive({"deep/file.txt": b"from the cargo\n"})
    tmp_path.joinpath("cargo.tar").write_bytes(data)
    script = (
        "cat deep/file.txt; id -u; grep CapEff /proc/self/status; touch /tmp/x /cache/y; touch /z || echo read-only"
    )
    line = docker_run_line(access("cpu", engine.about()), busybox, ["sh", "-c", script], cargo=tmp_path / "cargo.tar")
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False, timeout=60)

    assert done.stderr == "touch: /z: Read-only file system\n"
    assert done.stdout.splitlines() == ["from the cargo", "65532", "CapEff:\t0000000000000000", "read-only"]


@AS_ROOT
@pytest.mark.engine
def test_the_pasted_line_makes_the_container_that_the_engine_door_makes(engine, busybox, tmp_path):
    nodes = {"/dev/kfd": (0o660, 992), "/dev/dri/renderD128": (0o660, 44)}
    found = access("rocm", engine.about(), root=tree(tmp_path, nodes))
    line = docker_run_line(found, busybox, ["sh"]).replace("docker run", f"{client()} create")
    pasted = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=True).stdout.strip()
    ours = engine.api.create_container(busybox, host_config=found.host_config)["Id"]
    try:
        seen = [engine.api.inspect_container(name)["HostConfig"] for name in (pasted, ours)]
    finally:
        for name in (pasted, ours):
            engine.api.remove_container(name, v=True, force=True)
    words = [{key: config[key] or None for key in found.host_config} for config in seen]

    assert json.dumps(words[0], sort_keys=True) == json.dumps(words[1], sort_keys=True)
