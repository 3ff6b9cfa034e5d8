"""Faults that people reported in public, each with its own inputs: the finding, what it says, and what it must not."""

import errno
import json

import pytest

from tests.validate.fakes_node import LOCK, TORCH_ROCM, by_code, family, instinct, laptop, torch_answer
from validate import backends
from validate.checks import device_nodes, groups, libraries, torch_build, torch_family, versions
from validate.machine import Ran

KFD, RENDER = "/dev/kfd", "/dev/dri/renderD128"
IDLE = {"probes": {"devices": json.dumps(torch_answer(order=(), available=False))}}


def found(check, machine, lock=None):
    return by_code(check.judge(check.gather(machine, lock), lock))


def unmapped(**more):
    """A rootless container: the nodes' group is not mapped, and root inside is somebody outside."""
    node = {"mode": "0660", "uid": 65534, "gid": 65534, "kind": "device"}
    return instinct(
        1,
        stats={KFD: node, RENDER: node},
        opens={KFD: errno.EACCES, RENDER: errno.EACCES},
        files={"/proc/self/uid_map": "0 1000 1\n1 100000 65536"},
        identity={"uid": 0, "groups": [0, 65534]},
        **more,
    )


@pytest.mark.parametrize("check", [device_nodes, groups], ids=["device_nodes", "groups"])
@pytest.mark.parametrize("more", [{}, {"context": False, **IDLE}], ids=["started by the kit", "started by hand"])
def test_ob_02_a_group_that_the_user_namespace_does_not_map(check, more):
    outcomes = found(check, unmapped(**more)).values()

    refused = [outcome for outcome in outcomes if outcome.code.endswith("userns")]
    assert refused, outcomes
    for outcome in refused:
        assert outcome.status.value == "fail"
        assert "user namespace" in outcome.reason
        assert {"crun", "keep-groups"} <= set(outcome.remedy.replace("`", " ").split())
        assert "usermod" not in outcome.remedy
        assert "nogroup" not in outcome.remedy


@pytest.mark.parametrize("variable", ["APPTAINER_CONTAINER", "SINGULARITY_CONTAINER"])
def test_ob_06_apptainer_without_the_nodes_and_with_the_hosts_libraries(variable):
    mapped = {
        "libamdhip64": ["/.singularity.d/libs/libamdhip64.so.6"],
        "librocblas": ["/opt/rocm-5.7.0/lib/librocblas.so.3"],
    }
    answer = torch_answer(order=(), available=False) | {"libraries": mapped}
    absent = {KFD: errno.ENOENT, RENDER: errno.ENOENT}
    machine = instinct(
        1,
        context=False,
        opens=absent,
        files={"/sys/class/kfd/kfd/dev": "240:0"},
        env={variable: "/scratch/p1/rocm.sif"},
        probes={"devices": json.dumps(answer)},
    )

    nodes, loaded = found(device_nodes, machine, LOCK), found(libraries, machine, LOCK)

    assert {code: outcome.status.value for code, outcome in nodes.items()} == {
        "device_nodes.not_passed": "fail",
        "device_nodes.render_absent": "fail",
    }
    for outcome in nodes.values():
        assert "--bind /dev/kfd,/dev/dri" in outcome.remedy
        assert "--device" not in outcome.remedy
    assert list(loaded) == ["libraries.injected"]
    assert loaded["libraries.injected"].status.value == "fail"
    assert "/scratch/p1" not in json.dumps(device_nodes.gather(machine, LOCK))


def test_ob_10_the_release_is_read_from_the_header_where_the_usual_file_is_gone():
    lock = {**LOCK, "rocm": "6.2", "torch": {"version": "2.5.0", "build": "rocm"}}
    torch = {**TORCH_ROCM, "version": "2.5.0", "hip": "6.2.41133-dd7f95766"}
    machine = instinct(
        links={"/opt/rocm": "/opt/rocm-6.2.1"},
        files={"/opt/rocm/include/rocm-core/rocm_version.h": '#define ROCM_BUILD_INFO "6.2.1.0-96-a1b2c3d"'},
        probes={"devices": json.dumps(torch_answer(torch=torch))},
    )
    machine.runs |= {
        "dpkg-query": "ii \trocm-core\t6.2.1.60201-96~22.04\tamd64\n",
        "hipconfig --version": "6.2.41133-dd7f",
    }

    facts = versions.gather(machine, lock)
    outcomes = by_code(versions.judge(facts, lock))

    assert [source for source, _ in facts["sources"]["rocm"]] == [
        "/opt/rocm/include/rocm-core/rocm_version.h",
        "realpath of /opt/rocm",
        "package rocm-core",
    ]
    assert {outcome.status.value for outcome in outcomes.values()} == {"pass"}


@pytest.mark.parametrize("lock", [LOCK, None], ids=["a lock", "no lock"])
def test_ob_10_where_nothing_tells_the_release_it_is_unknown_and_said(lock):
    machine = instinct(probes={"devices": json.dumps(torch_answer(torch={**TORCH_ROCM, "version": "2.6.0"}))})

    outcome = found(versions, machine, lock)["versions.rocm"]

    assert (outcome.status.value, outcome.seen) == ("warn", None)


def test_ob_10_two_releases_are_a_conflict_that_names_both():
    machine = instinct(links={"/opt/rocm": "/opt/rocm-6.2.1"}, files={"/opt/rocm/.info/version": "6.4.1-83"})

    outcome = found(versions, machine)["versions.conflict"]

    assert outcome.status.value == "fail"
    assert {"6.2.1", "6.4.1-83"} <= set(outcome.seen.values())


def test_ob_11_a_wheels_hip_with_the_systems_rocblas():
    mapped = {
        "libamdhip64": ["/venv/lib/python3.10/site-packages/torch/lib/libamdhip64.so"],
        "librocblas": ["/opt/rocm-6.0.0/lib/librocblas.so.4"],
    }
    machine = instinct(probes={"devices": json.dumps(torch_answer() | {"libraries": mapped})})

    outcome = found(libraries, machine, LOCK)["libraries.stacks"]

    assert outcome.status.value == "fail"
    for place in ("site-packages/torch/lib", "/opt/rocm-6.0.0"):
        assert place in outcome.reason
    assert "unset LD_LIBRARY_PATH" in outcome.remedy


def test_ob_12_a_dependency_that_brought_torch_for_cuda():
    lock = {**LOCK, "rocm": "7.2", "torch": {"version": "2.9.1+rocm7.2.1", "build": "rocm"}}
    torch = {**TORCH_ROCM, "version": "2.9.1", "build": "cuda", "hip": None, "cuda": "12.8"}
    after = family(
        ("2.9.1", ["nvidia-cublas-cu12==12.8.4.1", "nvidia-nccl-cu12==2.27.3", "triton==3.5.1"]),
        vllm=("0.22.1", ["torch==2.9.1"]),
        nvidia_cublas_cu12="12.8.4.1",
        nvidia_nccl_cu12="2.27.3",
        triton="3.5.1",
    )
    machine = instinct(probes={"devices": json.dumps(torch_answer(torch=torch, order=())), "family": json.dumps(after)})
    machine.runs["python3 -c import triton"] = ""

    family_outcome = found(torch_family, machine, lock)["torch_family.foreign"]

    assert set(family_outcome.seen) == {"torch", "vllm", "nvidia-cublas-cu12", "nvidia-nccl-cu12"}
    assert family_outcome.seen["nvidia-nccl-cu12"]["required_by"] == ["torch"]
    assert found(torch_build, machine, lock)["torch_build.build"].status.value == "fail"


def test_ob_12_bindings_alone_are_a_warning():
    machine = instinct(probes={"family": json.dumps(family("2.6.0+rocm6.4.1", nvidia_ml_py="12.535"))})

    assert found(torch_family, machine, LOCK)["torch_family.bindings"].status.value == "warn"


def test_ob_13_a_torchvision_without_its_operators_and_two_owners_of_triton():
    names = {"torchvision": "0.24.1", "pytorch_triton_rocm": "3.5.1", "triton": "3.5.1"}
    there = family("2.9.1+rocm7.2.1.lw.gitabc1234", **names)
    there["shared"] = {"triton/__init__.py": ["pytorch-triton-rocm", "triton"]}
    machine = instinct(probes={"family": json.dumps(there)})
    machine.runs["python3 -c import triton"] = ""
    machine.runs["python3 -c import torchvision"] = Ran(
        ("python3",), 1, "", "RuntimeError: operator torchvision::nms does not exist\n"
    )

    outcomes = found(torch_family, machine, LOCK)

    assert {code: outcome.status.value for code, outcome in outcomes.items()} == {
        "torch_family.shared": "fail",
        "torch_family.import": "fail",
    }
    assert "pytorch-triton-rocm and triton" in outcomes["torch_family.shared"].reason
    assert "torchvision::nms" in outcomes["torch_family.import"].reason


def test_who_hides_no_gpu_but_has_none_is_asked_for_no_node():
    assert backends.missed(laptop(**IDLE)) is False
    assert backends.missed(instinct(context=False)) is False
    assert backends.missed(instinct(**IDLE)) is False, "the host said what computes"
    assert backends.missed(instinct(context=False, **IDLE)) is True
