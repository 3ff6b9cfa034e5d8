import json

import pytest

from tests.validate.fakes_node import LOCK, TORCH_CPU, by_code, laptop, statuses, torch_answer
from validate.checks import libraries

ONE = {"libamdhip64": ["/opt/rocm/lib/libamdhip64.so.6"]}
TWO = {"libamdhip64": ["/opt/rocm-5.7.0/lib/libamdhip64.so.5", "/w/torch/lib/libamdhip64.so.6"]}
INJECTED = {"libamdhip64": ["/.singularity.d/libs/libamdhip64.so.6"]}


@pytest.mark.parametrize(
    ("found", "pinned", "expected"),
    [
        (ONE, True, {"libraries.one_place": "pass"}),
        (TWO, True, {"libraries.mixed": "fail"}),
        ({"libgomp": ["/a/libgomp.so.1", "/b/libgomp.so.1"]}, True, {"libraries.mixed": "warn"}),
        (INJECTED, True, {"libraries.injected": "fail"}),
        (INJECTED, False, {"libraries.one_place": "pass"}),
        ({}, True, {"libraries.unknown": "skip"}),
    ],
    ids=["one", "two HIPs", "two OpenMPs", "Apptainer's", "Apptainer's, nothing pinned", "nothing loaded"],
)
def test_one_process_has_one_copy(found, pinned, expected):
    assert statuses(libraries.judge({"libraries": found, "pinned": pinned}, None)) == expected


def test_both_places_are_named():
    assert by_code(libraries.judge({"libraries": TWO, "pinned": True}, None))["libraries.mixed"].seen == TWO


TORCH = {"libtorch_cpu": ["site-packages/torch/lib/libtorch_cpu.so"]}


@pytest.mark.parametrize(
    ("paths", "removed", "kept"),
    [
        (["/opt/rocm/lib/libamdhip64.so.6", "site-packages/torch/lib/libamdhip64.so"], 0, 1),
        (["site-packages/torch/lib/libamdhip64.so", "/zoo/libamdhip64.so.6"], 1, 0),
    ],
    ids=["torch's sorts last", "torch's sorts first"],
)
def test_the_copy_beside_torch_is_the_one_to_keep_wherever_it_sorts(paths, removed, kept):
    facts = {"libraries": {**TORCH, "libamdhip64": paths}, "pinned": True}

    remedy = by_code(libraries.judge(facts, None))["libraries.mixed"].remedy

    assert f"remove {paths[removed]}: torch brings {paths[kept]}" in remedy


def test_where_torch_brings_none_both_are_named_and_none_is_removed():
    remedy = by_code(libraries.judge({"libraries": TWO, "pinned": True}, None))["libraries.mixed"].remedy

    assert all(path in remedy for path in TWO["libamdhip64"])
    assert "remove" not in remedy


WHEEL, SYSTEM = "/v/site-packages/torch/lib", "/opt/rocm-6.0.0/lib"
SDK = "/v/site-packages/_rocm_sdk"


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ({"libamdhip64": [f"{WHEEL}/libamdhip64.so"], "librocblas": [f"{WHEEL}/librocblas.so"]}, "one_place"),
        ({"libamdhip64": [f"{WHEEL}/libamdhip64.so"], "librocblas": [f"{SYSTEM}/librocblas.so.4"]}, "stacks"),
        ({"libhsa-runtime64": [f"{SYSTEM}/x.so"], "libMIOpen": ["/opt/rocm-6.2.0/lib/libMIOpen.so"]}, "stacks"),
        ({"libamdhip64": [f"{SYSTEM}/x.so"], "librocblas": ["/opt/rocm-6.0.0/lib/rocblas/lib/y.so"]}, "one_place"),
        ({"libamdhip64": [f"{SDK}_core/lib/a.so"], "librocblas": [f"{SDK}_libraries_gfx94X/lib/b.so"]}, "one_place"),
        ({"libamdhip64": [f"{SDK}_core/lib/a.so"], "librocblas": [f"{SYSTEM}/b.so"]}, "stacks"),
        ({"libamdhip64": [f"{WHEEL}/a.so"], "libamd_smi": [f"{SYSTEM}/libamd_smi.so"]}, "one_place"),
        ({"libamdhip64": [f"{WHEEL}/a.so"], "libgomp": ["/usr/lib/libgomp.so.1"]}, "one_place"),
        ({"libcudart": ["/a/libcudart.so"], "libcublas": ["/b/libcublas.so"]}, "one_place"),
    ],
    ids=[
        "a wheel's",
        "a wheel's and a system's",
        "two releases",
        "a folder deeper",
        "wheels made for each other",
        "those and a system's",
        "sensors",
        "not ROCm's",
        "CUDA's",
    ],
)
def test_rocms_libraries_are_of_one_installation(found, expected):
    assert list(statuses(libraries.judge({"libraries": found, "pinned": True}, None))) == [f"libraries.{expected}"]


def test_nobody_is_told_to_run_without_his_gpu():
    assert (
        "--nv"
        not in by_code(libraries.judge({"libraries": INJECTED, "pinned": True}, None))["libraries.injected"].remedy
    )


@pytest.mark.parametrize(
    ("path", "published"),
    [
        (
            "/data/team7/venvs/x/lib/python3.12/site-packages/torch/lib/libtorch_cpu.so",
            "site-packages/torch/lib/libtorch_cpu.so",
        ),
        ("/usr/lib/python3/dist-packages/torch/lib/libtorch_cpu.so", "dist-packages/torch/lib/libtorch_cpu.so"),
        ("/opt/rocm-6.4.1/lib/libamdhip64.so.6", "/opt/rocm-6.4.1/lib/libamdhip64.so.6"),
    ],
    ids=["an environment", "Debian's", "ROCm's"],
)
def test_the_folders_above_python_packages_are_not_published(path, published):
    answer = torch_answer(torch=TORCH_CPU, order=(), libraries={"libtorch_cpu": [path]})

    facts = libraries.gather(laptop(probes={"devices": json.dumps(answer)}), LOCK)

    assert facts["libraries"] == {"libtorch_cpu": [published]}


def test_paths_under_a_home_are_not_published():
    answer = torch_answer(torch=TORCH_CPU, order=(), libraries={"libtorch_cpu": ["/home/bob/v/libtorch_cpu.so"]})
    machine = laptop(probes={"devices": json.dumps(answer)}, env={"HOME": "/home/bob"})

    assert libraries.gather(machine, LOCK)["libraries"] == {"libtorch_cpu": ["~/v/libtorch_cpu.so"]}
