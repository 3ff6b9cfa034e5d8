"""Which GPUs a run gets: numbered as the runtime numbers them, by option or by the caller's variables, or refused."""

import errno
import os
from pathlib import Path

import pytest

from images import gpus
from images.access import access
from images.device import Device
from images.lines import docker_run_line
from schema.errors import KitError
from tests.fakes import ABOUT

#: KFD's order is not the order of the render nodes: node 1 is the second card, as on some boards.
KFD = (
    {"drm_render_minor": 129, "location_id": 0xC100, "domain": 0, "unique_id": 0xABC, "gfx_target_version": 90402},
    {"drm_render_minor": 128, "location_id": 0x8100, "domain": 0, "unique_id": 0xDEF, "gfx_target_version": 90402},
    {"drm_render_minor": 130, "location_id": 0x0508, "domain": 1, "unique_id": 0x123, "gfx_target_version": 90402},
)
NODES = {128: "0000:81:00.0", 129: "0000:c1:00.0", 130: "0001:05:01.0"}


def amd(root, kfd=KFD):
    """Write a host with a CPU node, then GPUs; device nodes are plain files that all may open."""
    for index, facts in enumerate([{"drm_render_minor": 0, "gfx_target_version": 0}, *kfd]):
        place = root / f"sys/class/kfd/kfd/topology/nodes/{index}"
        place.mkdir(parents=True)
        place.joinpath("properties").write_text("".join(f"{name} {value}\n" for name, value in facts.items()))
    (root / "dev/dri").mkdir(parents=True)
    for name in ("kfd", *(f"dri/renderD{number}" for number in NODES)):
        (root / "dev" / name).touch()
        (root / "dev" / name).chmod(0o666)
    for number, address in NODES.items():
        device = root / "sys/devices" / address
        device.mkdir(parents=True)
        (root / f"sys/class/drm/renderD{number}").mkdir(parents=True)
        (root / f"sys/class/drm/renderD{number}/device").symlink_to(device)
    return root


def nvidia(root, models=("H200", "H200")):
    for number, model in enumerate(models):
        place = root / f"proc/driver/nvidia/gpus/0000:{number + 1}1:00.0"
        place.mkdir(parents=True)
        place.joinpath("information").write_text(
            f"Model: \t\t {model}\nGPU UUID:\t GPU-{number}0000000-aaaa\nDevice Minor: \t {number}\n"
        )
        (root / f"dev/nvidia{number}").parent.mkdir(exist_ok=True)
        (root / f"dev/nvidia{number}").touch()
    return root


def given(root, backend="rocm", about=None, environ=None, **asked):
    return access(backend, ABOUT | (about or {}), Device(**asked), root=root, environ=environ or {})


def nodes(found):
    return [Path(inside).name for _, inside in found.devices.nodes]


def test_gpus_are_numbered_in_the_order_of_the_topology_with_their_addresses(tmp_path):
    assert [gpu.text for gpu in gpus.listed("rocm", amd(tmp_path))] == [
        "0: 0000:c1:00.0 (renderD129)",
        "1: 0000:81:00.0 (renderD128)",
        "2: 0001:05:01.0 (renderD130)",
    ]


def test_without_a_topology_the_render_nodes_are_numbered(tmp_path):
    assert [gpu.text for gpu in gpus.listed("rocm", amd(tmp_path, kfd=()))] == [
        "0: 0000:81:00.0 (renderD128)",
        "1: 0000:c1:00.0 (renderD129)",
        "2: 0001:05:01.0 (renderD130)",
    ]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("", ["kfd", "renderD128", "renderD129", "renderD130"]),
        ("all", ["kfd", "renderD128", "renderD129", "renderD130"]),
        ("0", ["kfd", "renderD129"]),
        ("2,0", ["kfd", "renderD130", "renderD129"]),
        ("0000:81:00.0", ["kfd", "renderD128"]),
        ("81:00.0, 0001:05:01.0", ["kfd", "renderD128", "renderD130"]),
        ("0000:C1:00.0", ["kfd", "renderD129"]),
    ],
)
def test_only_the_nodes_of_the_gpus_that_were_asked_for_go_in(asked, expected, tmp_path):
    assert nodes(given(amd(tmp_path), gpus=asked)) == expected


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"ROCR_VISIBLE_DEVICES": "1"}, ["renderD128"]),
        ({"HIP_VISIBLE_DEVICES": "2,0"}, ["renderD130", "renderD129"]),
        ({"CUDA_VISIBLE_DEVICES": "0"}, ["renderD129"]),
        ({"GPU_DEVICE_ORDINAL": "0"}, ["renderD129"]),
        ({"ROCR_VISIBLE_DEVICES": "GPU-0000000000000def"}, ["renderD128"]),
        ({"HIP_VISIBLE_DEVICES": "1", "CUDA_VISIBLE_DEVICES": "0"}, ["renderD128"]),
        ({"ROCR_VISIBLE_DEVICES": "1,2", "HIP_VISIBLE_DEVICES": "1"}, ["renderD130"]),
    ],
    ids=str,
)
def test_what_the_caller_s_variables_leave_is_what_the_run_gets_and_is_told(environ, expected, tmp_path):
    found = given(amd(tmp_path), environ=environ)

    assert nodes(found)[1:] == expected
    assert next(iter(environ)) in found.devices.notes[0]


@pytest.mark.parametrize(
    ("environ", "says"),
    [
        ({"HIP_VISIBLE_DEVICES": ""}, "hides every GPU"),
        ({"ROCR_VISIBLE_DEVICES": "-1"}, "hides every GPU"),
        ({"HIP_VISIBLE_DEVICES": "3"}, "no GPU '3'"),
        ({"CUDA_VISIBLE_DEVICES": "NoDevFiles"}, "no GPU 'NoDevFiles'"),
        ({"HIP_VISIBLE_DEVICES": "0,0"}, "twice"),
        ({"ROCR_VISIBLE_DEVICES": "1", "HIP_VISIBLE_DEVICES": "1"}, "HIP_VISIBLE_DEVICES=1: there is no GPU '1'"),
    ],
    ids=str,
)
def test_variables_that_leave_nothing_or_name_what_is_not_there_are_refused(environ, says, tmp_path):
    with pytest.raises(KitError, match=says) as caught:
        given(amd(tmp_path), environ=environ)

    assert "--gpus" in caught.value.hint
    assert nodes(given(tmp_path, environ=environ, gpus="1"))[1:] == ["renderD128"], "the option goes before them"


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ("3", "no GPU '3' here; there are: 0: 0000:c1:00.0"),
        ("0,,1", "an empty item"),
        ("0,0", "GPU 0 twice"),
        ("0,0000:c1:00.0", "GPU 0000:c1:00.0 twice"),
        ("-1", "no GPU '-1'"),
        ("gfx942", "no GPU 'gfx942'"),
        ("0,amd.com/gpu=1", "mixes CDI names"),
        ("amd.com/gpu=9", "the engine has no device amd.com/gpu=9; it has: amd.com/gpu=0"),
    ],
)
def test_a_gpu_that_is_not_there_is_refused_with_what_is(asked, says, tmp_path):
    with pytest.raises(KitError, match=says):
        given(amd(tmp_path), about={"cdi": ["amd.com/gpu=0"]}, gpus=asked)


def test_gpus_that_the_cgroup_of_this_job_refuses_are_nobody_s(tmp_path, monkeypatch):
    refused = {"renderD129"}
    monkeypatch.setattr(gpus, "open_errno", lambda path: errno.EPERM if path.name in refused else 0)
    amd(tmp_path)

    assert nodes(given(tmp_path)) == ["kfd", "renderD128", "renderD130"]
    assert nodes(given(tmp_path, environ={"ROCR_VISIBLE_DEVICES": "0"})) == ["kfd", "renderD128"]
    refused |= {"renderD128", "renderD130"}
    with pytest.raises(KitError, match="refuses every GPU") as caught:
        given(tmp_path)
    assert "srun" in caught.value.hint


def test_a_cdi_name_is_a_device_request_and_brings_no_node_by_path(tmp_path):
    found = given(amd(tmp_path), about={"cdi": ["amd.com/gpu=0", "amd.com/gpu=1"]}, gpus="amd.com/gpu=0,amd.com/gpu=1")

    assert (found.devices.nodes, found.devices.requests[0]["DeviceIDs"]) == ((), ["amd.com/gpu=0", "amd.com/gpu=1"])
    line = docker_run_line(found, "x", ["y"])
    assert "--device=amd.com/gpu=0" in line
    assert "--device=amd.com/gpu=1" in line


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
def test_a_cdi_device_is_opened_by_the_groups_of_the_nodes_here(tmp_path):
    os.chown(amd(tmp_path) / "dev/kfd", 0, 992)
    (tmp_path / "dev/kfd").chmod(0o660)

    assert given(tmp_path, about={"cdi": ["amd.com/gpu=0"]}, gpus="amd.com/gpu=0").devices.groups == ("992",)


@pytest.mark.parametrize("where", ["remote", "desktop"])
def test_single_gpus_of_an_engine_elsewhere_go_by_cdi_or_not_at_all(where, tmp_path):
    far = {where: True, "cdi": ["amd.com/gpu=0", "amd.com/gpu=1"]}

    assert given(tmp_path, about=far, gpus="1").devices.requests[0]["DeviceIDs"] == ["amd.com/gpu=1"]
    assert given(tmp_path, about=far, environ={"HIP_VISIBLE_DEVICES": ""}).devices.nodes, "those mean this machine"
    with pytest.raises(KitError, match=r"no device amd\.com/gpu=0; it has: no CDI device") as caught:
        given(tmp_path, about={where: True}, gpus="0")
    assert "own machine" in caught.value.hint


@pytest.mark.parametrize(
    ("asked", "environ", "ids"),
    [
        ("1", {}, ["GPU-10000000-aaaa"]),
        ("0000:11:00.0", {}, ["GPU-00000000-aaaa"]),
        ("00000000:11:00.0", {}, ["GPU-00000000-aaaa"]),
        ("", {"CUDA_VISIBLE_DEVICES": "1,0"}, ["GPU-10000000-aaaa", "GPU-00000000-aaaa"]),
        ("", {"CUDA_VISIBLE_DEVICES": "GPU-10000000-aaaa"}, ["GPU-10000000-aaaa"]),
        ("", {"HIP_VISIBLE_DEVICES": "1"}, None),
    ],
    ids=str,
)
def test_nvidia_gpus_are_requested_by_their_ids(asked, environ, ids, tmp_path):
    request = given(nvidia(tmp_path), "cuda", environ=environ, gpus=asked).devices.requests[0]

    assert (request.get("DeviceIDs"), request.get("Count")) == (ids, None if ids else -1)


def test_several_nvidia_gpus_are_one_flag_of_the_client(tmp_path):
    line = docker_run_line(given(nvidia(tmp_path), "cuda", gpus="0,1"), "x", ["y"])

    assert """'--gpus="device=GPU-00000000-aaaa,GPU-10000000-aaaa"'""" in line


def test_an_index_among_unlike_nvidia_gpus_is_refused_unless_they_are_ordered_by_address(tmp_path):
    nvidia(tmp_path, ("H200", "T4"))
    with pytest.raises(KitError, match="fastest GPU first"):
        given(tmp_path, "cuda", environ={"CUDA_VISIBLE_DEVICES": "0"})

    environ = {"CUDA_VISIBLE_DEVICES": "1", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    assert given(tmp_path, "cuda", environ=environ).devices.requests[0]["DeviceIDs"] == ["GPU-10000000-aaaa"]


@pytest.mark.parametrize(
    ("version", "gpus_", "ids"),
    [
        ("5.4.2", "", ["nvidia.com/gpu=all"]),
        ("5.8.6", "1", ["nvidia.com/gpu=1"]),
        ("6.0.0-dev", "", ["nvidia.com/gpu=all"]),
    ],
)
def test_podman_takes_nvidia_gpus_by_cdi(version, gpus_, ids, tmp_path):
    found = given(nvidia(tmp_path), "cuda", {"name": "podman", "version": version}, gpus=gpus_)

    assert found.devices.requests == ({"Driver": "cdi", "Count": 0, "DeviceIDs": ids},)


@pytest.mark.parametrize("version", ["4.3.1", "4.9.3", "5.3.9", ""])
def test_a_podman_that_drops_device_requests_without_a_word_is_refused(version, tmp_path):
    with pytest.raises(KitError, match="no CDI devices over its API") as caught:
        given(nvidia(tmp_path), "cuda", {"name": "podman", "version": version})

    assert "Podman 5.4" in caught.value.hint


def test_a_run_on_the_cpu_has_no_gpus_to_choose_from(tmp_path):
    with pytest.raises(KitError, match="computes on the CPU"):
        given(tmp_path, "cpu", gpus="0")

    assert given(tmp_path, "cpu", environ={"HIP_VISIBLE_DEVICES": ""}).devices.nodes == ()
