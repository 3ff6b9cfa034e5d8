import json

import pytest

from tests.validate.fakes_node import address, by_code, instinct, laptop, nvidia, statuses, torch_answer
from validate.checks import device_counts

GPU = {"pci": "0000:0c:00.0", "gfx": "gfx942"}
FACTS = {
    "backend": "rocm",
    "build": "rocm",
    "kernel": [GPU, GPU],
    "runtime": [GPU, GPU],
    "torch": [GPU, GPU],
    "masks": {},
    "proof": [],
    "torch_error": None,
    "runtime_error": "",
}


@pytest.mark.parametrize(
    ("facts", "code", "status"),
    [
        ({}, "device_counts.agree", "pass"),
        ({"torch": [GPU]}, "device_counts.differ", "warn"),
        ({"torch": [GPU], "masks": {"HIP_VISIBLE_DEVICES": "1"}}, "device_counts.agree", "pass"),
        ({"torch": []}, "device_counts.torch_none", "fail"),
        ({"masks": {"HIP_VISIBLE_DEVICES": ""}}, "device_counts.mask_hides", "fail"),
        ({"masks": {"CUDA_VISIBLE_DEVICES": "-1"}}, "device_counts.mask_hides", "fail"),
        ({"masks": {"HIP_VISIBLE_DEVICES": "0,2"}}, "device_counts.mask_range", "fail"),
        ({"masks": {"ROCR_VISIBLE_DEVICES": "GPU-0123456789ab"}}, "device_counts.agree", "pass"),
        ({"masks": {"HIP_VISIBLE_DEVICES": "first"}}, "device_counts.mask_form", "fail"),
        ({"torch": [GPU, {**GPU, "gfx": "gfx1036"}]}, "device_counts.mixed", "warn"),
        (
            {"proof": [{"device": "cuda:0", "error": "RuntimeError: invalid device function"}]},
            "device_counts.computes",
            "fail",
        ),
        ({"proof": [{"device": "cuda:0", "total": 0.0, "expected": 262144.0}]}, "device_counts.computes", "fail"),
        ({"proof": [{"device": "cuda:0", "total": 262144.0, "expected": 262144.0}]}, "device_counts.computes", "pass"),
    ],
    ids=[
        "all agree",
        "torch sees fewer",
        "fewer by a mask",
        "torch sees none",
        "an empty mask",
        "-1",
        "index beyond the last",
        "by id",
        "no index",
        "an integrated GPU beside",
        "first kernel fails",
        "silent zero",
        "computes",
    ],
)
def test_the_counts_are_judged(facts, code, status):
    assert statuses(device_counts.judge({**FACTS, **facts}, None))[code] == status


def test_a_mask_that_hides_all_is_the_remedy_and_not_the_driver():
    facts = {**FACTS, "torch": [], "masks": {"HIP_VISIBLE_DEVICES": " "}}

    assert by_code(device_counts.judge(facts, None))["device_counts.torch_none"].remedy == "unset HIP_VISIBLE_DEVICES"


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ({}, "dmesg"),
        ({"build": "cpu"}, "torch_build"),
        ({"kernel": []}, "device_nodes"),
    ],
    ids=["right build", "wrong build", "no node opens"],
)
def test_when_torch_sees_none_the_remedy_follows_the_cause(facts, says):
    found = by_code(device_counts.judge({**FACTS, "torch": [], **facts}, None))

    assert says in found["device_counts.torch_none"].remedy


def test_each_layer_is_asked_by_itself_and_torchs_order_is_its_own():
    machine = instinct(probes={"devices": json.dumps(torch_answer(order=(1, 0)))})

    facts = device_counts.gather(machine, None)

    assert [gpu["pci"] for gpu in facts["torch"]] == [address(1), address(0)]
    assert [gpu["pci"] for gpu in facts["kernel"]] == [address(0), address(1)]
    assert [gpu["pci"] for gpu in facts["runtime"]] == [address(0), address(1)]
    assert statuses(device_counts.judge(facts, None)) == {
        "device_counts.agree": "pass",
        "device_counts.computes": "pass",
    }


def test_a_missing_rocminfo_is_no_fault():
    facts = device_counts.gather(instinct(runs={}), None)

    assert facts["runtime"] is None
    assert statuses(device_counts.judge(facts, None))["device_counts.agree"] == "pass"


def test_ids_of_cards_are_not_published():
    machine = instinct(env={"ROCR_VISIBLE_DEVICES": "GPU-0123456789abcdef"})

    assert "0123456789abcdef" not in str(device_counts.gather(machine, None))


def test_nvidia_is_counted_by_its_own_library():
    assert statuses(device_counts.judge(device_counts.gather(nvidia(), None), None))["device_counts.agree"] == "pass"


def test_a_cpu_has_nothing_to_count():
    assert statuses(device_counts.judge(device_counts.gather(laptop(), None), None)) == {
        "device_counts.not_here": "skip"
    }
