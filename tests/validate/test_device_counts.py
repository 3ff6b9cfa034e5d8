import json

import pytest

from tests.validate.fakes_node import address, by_code, instinct, laptop, nvidia, statuses, torch_answer
from validate.checks import device_counts


def gpu(index, **more):
    return {"pci": address(index), "gfx": "gfx942", **more}


def proof(count):
    return [{"device": f"cuda:{index}", "total": 262144.0, "expected": 262144.0} for index in range(count)]


FACTS = {
    "backend": "rocm",
    "build": "rocm",
    "kernel": [gpu(0), gpu(1)],
    "runtime": [gpu(0), gpu(1)],
    "torch": [gpu(0), gpu(1)],
    "masks": {},
    "proof": proof(2),
    "torch_error": None,
    "runtime_error": "",
}
ROCR, HIP, CUDA = "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, {"agree": "pass"}),
        ({"torch": [gpu(1), gpu(0)]}, {"agree": "pass"}),
        ({"torch": [gpu(0)]}, {"differ": "warn"}),
        ({"runtime": [gpu(0)]}, {"differ": "warn"}),
        ({"runtime": [], "runtime_error": "/dev/kfd: Permission denied"}, {"differ": "warn"}),
        ({"runtime": None}, {"agree": "pass"}),
        ({"torch": [gpu(4), gpu(5)]}, {"differ": "fail"}),
        ({"runtime": [gpu(4), gpu(5)]}, {"differ": "fail"}),
        ({"torch": [gpu(0), gpu(0)]}, {"differ": "fail"}),
        ({"torch": [gpu(0, pci=None), gpu(1, pci=None)]}, {"agree": "pass"}),
        ({"torch": []}, {"torch_none": "fail"}),
        ({"masks": {HIP: "1"}, "torch": [gpu(1)]}, {"agree": "pass"}),
        ({"masks": {HIP: "1"}, "torch": [gpu(0)]}, {"differ": "fail"}),
        ({"masks": {HIP: "0"}}, {"differ": "fail"}),
        ({"masks": {HIP: "0,1"}, "torch": [gpu(0)]}, {"differ": "warn"}),
        ({"masks": {CUDA: "1"}, "torch": [gpu(1)]}, {"agree": "pass"}),
        ({"masks": {ROCR: "1"}, "runtime": [gpu(1)], "torch": [gpu(1)]}, {"agree": "pass"}),
        ({"masks": {ROCR: "1"}, "torch": [gpu(1)]}, {"differ": "fail"}),
        ({"masks": {ROCR: "GPU-0123456789ab"}, "runtime": [gpu(1)], "torch": [gpu(1)]}, {"agree": "pass"}),
        ({"masks": {ROCR: "GPU-0123456789ab"}}, {"differ": "fail"}),
        (
            {"masks": {ROCR: "1", HIP: "0"}, "runtime": [gpu(1)], "torch": [gpu(1)]},
            {"agree": "pass", "mask_both": "warn"},
        ),
        (
            {"masks": {ROCR: "1", HIP: "1"}, "runtime": [gpu(1)], "torch": []},
            {"torch_none": "fail", "mask_both": "warn", "mask_range": "fail"},
        ),
        ({"masks": {HIP: "1", CUDA: "0"}, "torch": [gpu(1)]}, {"agree": "pass", "mask_both": "warn"}),
        ({"masks": {HIP: ""}, "torch": []}, {"torch_none": "fail", "mask_hides": "fail"}),
        ({"masks": {CUDA: "-1"}, "torch": []}, {"torch_none": "fail", "mask_hides": "fail"}),
        ({"masks": {CUDA: "-1"}}, {"differ": "fail", "mask_hides": "fail"}),
        ({"masks": {HIP: "0,2"}, "torch": [gpu(0)]}, {"agree": "pass", "mask_range": "fail"}),
        ({"masks": {HIP: "first"}, "torch": []}, {"torch_none": "fail", "mask_form": "fail"}),
        ({"masks": {HIP: "0,0"}, "torch": [gpu(0)]}, {"differ": "warn", "mask_form": "fail"}),
        ({"torch": [gpu(0), gpu(1, gfx="gfx1036")]}, {"agree": "pass", "mixed": "warn"}),
        ({"backend": "cuda", "runtime": None, "masks": {CUDA: "1"}, "torch": [gpu(0)]}, {"agree": "pass"}),
        ({"backend": "cuda", "runtime": None, "masks": {HIP: "1"}}, {"agree": "pass"}),
    ],
    ids=[
        "all agree",
        "torch orders otherwise",
        "torch sees fewer",
        "the runtime sees fewer",
        "the runtime sees none and says why",
        "no rocminfo",
        "torch sees others",
        "the runtime sees others",
        "torch sees one twice",
        "an old torch tells no addresses",
        "torch sees none",
        "the second by a mask",
        "another than the mask's",
        "a mask without effect",
        "a mask's second is missing",
        "CUDA's name for HIP's mask",
        "the runtime's mask",
        "the runtime's mask has no effect on it",
        "by id",
        "by id, without effect",
        "the first of what is left",
        "the second of what is left",
        "HIP's goes before CUDA's",
        "an empty mask",
        "-1",
        "-1 without effect",
        "index beyond the last",
        "no index",
        "one twice",
        "an integrated GPU beside",
        "NVIDIA numbers otherwise",
        "AMD's mask on NVIDIA",
    ],
)
def test_the_layers_are_compared_through_the_masks(more, expected):
    found = statuses(device_counts.judge({**FACTS, **more}, None))

    found.pop("device_counts.computes", None)
    assert found == {f"device_counts.{what}": status for what, status in expected.items()}


@pytest.mark.parametrize(
    ("proofs", "status"),
    [
        (proof(2), {"pass"}),
        (proof(1), {"pass", "fail"}),
        ([], {"fail"}),
        ([{"device": "cpu", "total": 262144.0}], {"fail"}),
        ([*proof(1), {"device": "cuda:1", "error": "RuntimeError: invalid device function"}], {"pass", "fail"}),
        ([*proof(1), {"device": "cuda:1", "total": 0.0, "expected": 0.0}], {"pass", "fail"}),
    ],
    ids=[
        "both",
        "one was left out",
        "none",
        "the processor's",
        "first kernel fails",
        "a silent zero that was expected",
    ],
)
def test_a_device_that_is_counted_must_compute(proofs, status):
    outcomes = device_counts.judge({**FACTS, "proof": proofs}, None)

    computes = [outcome for outcome in outcomes if outcome.code == "device_counts.computes"]
    assert {outcome.status.value for outcome in computes} == status
    assert len(computes) == 2


def test_a_runtime_that_fails_is_told_in_its_own_words():
    facts = {**FACTS, "runtime": [], "runtime_error": "/dev/kfd: Permission denied"}

    assert "Permission denied" in by_code(device_counts.judge(facts, None))["device_counts.differ"].reason


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
