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


def test_paths_under_a_home_are_not_published():
    answer = torch_answer(torch=TORCH_CPU, order=(), libraries={"libtorch_cpu": ["/home/bob/v/libtorch_cpu.so"]})
    machine = laptop(probes={"devices": json.dumps(answer)}, env={"HOME": "/home/bob"})

    assert libraries.gather(machine, LOCK)["libraries"] == {"libtorch_cpu": ["~/v/libtorch_cpu.so"]}
