import json

import pytest

from tests.validate.fakes_node import (
    LOCK,
    SWITCHES,
    TORCH_CPU,
    TORCH_ROCM,
    by_code,
    instinct,
    laptop,
    nvidia,
    statuses,
    torch_answer,
)
from validate.checks import torch_build

CUDA = {**TORCH_CPU, "version": "2.6.0", "build": "cuda", "cuda": "12.4"}
NONE = {"version": None, "build": None, "error": "ModuleNotFoundError: No module named 'torch'"}
FACTS = {
    "backend": "rocm",
    "runtime": "container",
    "torch": TORCH_ROCM,
    "switches": SWITCHES,
    "torches": ["2.6.0"],
    "gpus": [{"pci": "x", "gfx": "gfx942"}],
    "nvidia": False,
    "hiding": [],
    "devices": [{"gfx": "gfx942:sramecc+:xnack-"}],
}


@pytest.mark.parametrize(
    ("facts", "lock", "code", "status"),
    [
        ({}, LOCK, "torch_build.build", "pass"),
        ({"torch": CUDA}, LOCK, "torch_build.build", "fail"),
        ({"torch": TORCH_CPU}, LOCK, "torch_build.build", "fail"),
        ({"torch": TORCH_CPU}, None, "torch_build.silent_cpu", "fail"),
        ({"torch": CUDA, "nvidia": True}, None, "torch_build.build", "pass"),
        ({"torch": TORCH_CPU, "gpus": []}, None, "torch_build.build", "pass"),
        ({"devices": []}, LOCK, "torch_build.gpu_unseen", "fail"),
        ({"torch": CUDA, "nvidia": True, "devices": []}, None, "torch_build.gpu_unseen", "fail"),
        ({"torch": {**TORCH_ROCM, "version": "2.6.0"}}, LOCK, "torch_build.version", "pass"),
        ({"torch": {**TORCH_ROCM, "version": "2.60.0"}}, LOCK, "torch_build.version", "fail"),
        ({"torches": ["2.6.0+rocm6.4.1", "2.7.0"]}, LOCK, "torch_build.several", "warn"),
        (
            {"torch": {"version": None, "build": None, "error": "ImportError: libMIOpen.so.1"}},
            LOCK,
            "torch_build.import",
            "fail",
        ),
        ({}, LOCK, "torch_build.arch", "pass"),
        ({"gpus": [{"pci": "x", "gfx": "gfx1102"}]}, LOCK, "torch_build.arch", "fail"),
        ({"gpus": [], "devices": []}, LOCK, "torch_build.arch", "skip"),
        ({"torch": {**TORCH_ROCM, "arch_list": []}}, LOCK, "torch_build.arch", "warn"),
        ({}, LOCK, "torch_build.cudnn_switch", "pass"),
        ({"switches": {"cudnn_enabled": False}}, LOCK, "torch_build.cudnn_switch", "fail"),
    ],
    ids=[
        "the lock's",
        "a CUDA wheel",
        "a CPU wheel",
        "CPU build beside an AMD GPU",
        "CUDA build on an NVIDIA machine with an AMD GPU",
        "CPU build without a GPU",
        "ROCm build that sees no GPU",
        "CUDA build that sees no GPU",
        "same version",
        "2.60 is not 2.6",
        "two on the path",
        "does not import",
        "kernels for the GPU",
        "no kernels for the GPU",
        "nothing to compare",
        "does not tell",
        "MIOpen on",
        "MIOpen off",
    ],
)
def test_the_build_is_judged(facts, lock, code, status):
    assert statuses(torch_build.judge({**FACTS, **facts}, lock))[code] == status


IMAGE = "run inside the image that was built from this lock: `./kit build --force`, then `./kit validate`"


@pytest.mark.parametrize(
    ("runtime", "version", "remedy"),
    [
        ("host", "2.6.0+rocm6.2.4", "torch==2.6.0+rocm6.2.4 --index-url https://download.pytorch.org/whl/rocm6.2.4"),
        ("host", "2.11.0+cu128", "torch==2.11.0+cu128 --index-url https://download.pytorch.org/whl/cu128"),
        ("host", "2.11.0+cpu", "torch==2.11.0+cpu --index-url https://download.pytorch.org/whl/cpu"),
        ("host", "2.6.0+rocm6.4.1.git1ded221d", IMAGE),
        ("host", "2.13.0+rocm10.0.0", IMAGE),
        ("host", "2.6.0+rocm9.9", IMAGE),
        ("host", "2.13.0+rocm7.2", "torch==2.13.0+rocm7.2 --index-url https://download.pytorch.org/whl/rocm7.2"),
        ("host", "2.6.0+debian", IMAGE),
        ("host", "2.6.0", IMAGE),
        ("container", "2.11.0+cu128", IMAGE),
    ],
)
@pytest.mark.parametrize("code", ["torch_build.build", "torch_build.version"])
def test_a_wrong_torch_is_mended_from_the_index_that_has_the_right_one_or_by_the_image(runtime, version, remedy, code):
    lock = {**LOCK, "torch": {"version": version, "build": "rocm"}}
    facts = {**FACTS, "runtime": runtime, "torch": {**CUDA, "version": "1.0"}}

    found = by_code(torch_build.judge(facts, lock))[code].remedy

    assert found == remedy if remedy is IMAGE else found.endswith(remedy)


@pytest.mark.parametrize("lock", [None, LOCK], ids=["no lock", "a lock"])
@pytest.mark.parametrize(
    "more",
    [
        {"torch": CUDA},
        {"torch": TORCH_CPU},
        {"torches": ["1", "2"]},
        {"torch": {**TORCH_ROCM, "version": "2.60.0"}},
        {"torch": NONE},
    ],
    ids=["CUDA", "CPU", "two", "another version", "none"],
)
def test_nothing_is_installed_into_a_container(more, lock):
    remedies = [outcome.remedy for outcome in torch_build.judge({**FACTS, **more}, lock) if outcome.remedy]

    assert not [remedy for remedy in remedies if "pip" in remedy]


@pytest.mark.parametrize(
    ("hardware", "installs"),
    [
        ({}, "torch --index-url https://download.pytorch.org/whl/rocm7.2"),
        ({"gpus": [], "nvidia": True}, "torch"),
        ({"nvidia": True}, "torch"),
        ({"gpus": []}, "torch --index-url https://download.pytorch.org/whl/cpu"),
    ],
    ids=["AMD", "NVIDIA", "both", "neither"],
)
def test_a_host_is_told_to_install_the_build_for_its_hardware(hardware, installs):
    (outcome,) = torch_build.judge({**FACTS, "runtime": "host", "torch": NONE, "devices": [], **hardware}, None)

    assert outcome.remedy == f"python3 -m pip install {installs}   # or run this with a Python that has PyTorch"


def test_hidden_gpus_are_shown_again():
    machine = instinct(env={"HIP_VISIBLE_DEVICES": ""}, probes={"devices": json.dumps(torch_answer(order=()))})

    outcome = by_code(torch_build.judge(torch_build.gather(machine, None), None))["torch_build.gpu_unseen"]

    assert outcome.remedy == "unset HIP_VISIBLE_DEVICES"


def test_a_missing_architecture_is_never_answered_with_an_override():
    outcome = by_code(torch_build.judge({**FACTS, "gpus": [{"pci": "x", "gfx": "gfx1102"}]}, LOCK))["torch_build.arch"]

    assert "HSA_OVERRIDE" not in outcome.remedy
    assert "gfx1102" in outcome.remedy


def test_a_probe_that_died_is_a_torch_that_cannot_be_imported():
    facts = torch_build.gather(laptop(probes={}), None)

    outcome = torch_build.judge(facts, None)[0]

    assert (outcome.code, outcome.status.value) == ("torch_build.import", "fail")
    assert "not installed" in outcome.reason


@pytest.mark.parametrize("machine", [instinct(), nvidia(), laptop()], ids=["rocm", "cuda", "cpu"])
def test_what_is_in_order_passes(machine):
    assert set(statuses(torch_build.judge(torch_build.gather(machine, None), None)).values()) <= {"pass"}


def test_a_cuda_build_may_serve_a_newer_card_than_it_lists():
    machine = nvidia()
    answer = json.loads(machine.runs["python3 -m validate.probes.devices"])
    answer["torch"]["arch_list"] = ["sm_80"]
    machine.runs["python3 -m validate.probes.devices"] = json.dumps(answer)

    assert "torch_build.arch" not in statuses(torch_build.judge(torch_build.gather(machine, None), None))
