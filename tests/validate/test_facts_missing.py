"""Nothing follows from facts that are missing or are no such thing: least of all a pass."""

import copy
import functools
import json

import pytest

from tests.validate.fakes_node import LOCK, instinct, laptop, nvidia
from tests.validate.test_hip_compile import ALL
from validate import checking, checks

GONE = object()
ODD = [GONE, None, "", [], {}]
#: (check, fact) -> the codes that stand on it. A fact that only tells, or without which nothing is worse, has none.
PROVES = {
    "driver": {"driver": ["loaded", "range"], "amdgpu_version": ["range"]},
    "device_nodes": {"opens": ["kfd", "render"], "gpus": ["render"]},
    "groups": {"opens": ["numeric"], "nodes": ["numeric"]},
    "environment": {"variables": ["clean"]},
    "torch_build": {
        "torch": ["build", "version", "arch"],
        "devices": ["build"],
        "switches": ["cudnn_switch"],
    },
    "torch_family": {key: ["one_build"] for key in ("torch", "distributions", "shared", "imports", "triton_backends")},
    "device_counts": {"kernel": ["agree"], "runtime": ["agree"], "torch": ["agree", "computes"], "proof": ["computes"]},
    "versions": {"sources": ["python"]},
    "inventory": {"debs": ["deb"], "wheels": ["wheel"]},
    "libraries": {"libraries": ["one_place"]},
    "hip_compile": {"objects": ["objects"], "form": ["objects"], "wanted": ["objects"], "run": ["runs"]},
    "numerics": {"rows": ["matmul.float16"], "devices": ["matmul.float16"]},
    "telemetry": {"devices": ["readable"]},
    "processes": {"cards": ["free"]},
    "host_state": {"numa_balancing": ["numa_balancing"], "governor": ["governor"], "gpus": ["power_cap"]},
}
#: Nothing is what there may well be: no variable, no mask, no package of this kind, no torchvision; no rocminfo.
LEGITIMATE = {
    ("environment", "variables", "{}"),
    ("inventory", "debs", "{}"),
    ("inventory", "wheels", "[]"),
    ("device_counts", "runtime", "null"),
    ("torch_family", "shared", "{}"),
    ("torch_family", "imports", "{}"),
    ("torch_family", "triton_backends", "[]"),
}


def label(odd):
    return "gone" if odd is GONE else json.dumps(odd)


def good_machine():
    """A node on which every check has something to pass."""
    files = {
        "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance",
        "/sys/class/kfd/kfd/proc": "",
        "/scratch/add.co": ALL,
    }
    machine = instinct(files=files)
    machine.runs["hipcc"] = ""
    machine.runs["/scratch/add"] = "checked 1000003 wrong 0"
    machine.runs["dpkg-query"] = "ii \trocminfo\t6.4.1\tamd64\n"
    return machine


MACHINES = {"rocm": good_machine, "cuda": nvidia, "cpu": laptop}


@functools.cache
def gathered(backend):
    machine = MACHINES[backend]()
    return {name: checking.gather(check, machine, LOCK).facts for name, check in checking.BY_NAME.items()}


def facts_of(name, backend="rocm"):
    return copy.deepcopy(gathered(backend)[name])


def replaced(facts, key, odd):
    changed = copy.deepcopy(facts)
    changed.pop(key)
    return changed if odd is GONE else {**changed, key: odd}


def passes(name, facts):
    return {finding.code.split(".", 1)[1] for finding in checking.judge(name, facts, LOCK) if finding.status == "pass"}


@pytest.mark.parametrize("name", PROVES)
def test_on_a_good_node_everything_that_is_proved_passes(name):
    wanted = {code for codes in PROVES[name].values() for code in codes}

    assert wanted <= passes(name, facts_of(name))


def test_every_check_is_in_the_table():
    assert list(PROVES) == [checking.name_of(check) for check in checks.CHECKS]


@pytest.mark.parametrize(
    ("name", "key", "odd"),
    [
        pytest.param(name, key, odd, id=f"{name} {key} {label(odd)}")
        for name, keys in PROVES.items()
        for key in keys
        for odd in ODD
        if (name, key, label(odd)) not in LEGITIMATE
    ],
)
def test_what_is_missing_proves_nothing(name, key, odd):
    found = passes(name, replaced(facts_of(name), key, odd))

    assert found & set(PROVES[name][key]) == set()


@pytest.mark.parametrize("odd", ODD, ids=label)
@pytest.mark.parametrize("backend", MACHINES)
@pytest.mark.parametrize("name", PROVES)
def test_what_is_missing_ends_in_findings(name, backend, odd):
    facts = facts_of(name, backend)

    for key in facts:
        found = checking.judge(name, replaced(facts, key, odd), LOCK)
        assert found or name == "host_state", key


@pytest.mark.parametrize("odd", ODD, ids=label)
@pytest.mark.parametrize(
    "key", ["op", "dtype", "shape", "distribution", "status", "nonfinite", "shape_ok", "relative", "worst", "device"]
)
def test_a_computed_row_without_its_result_is_no_result(key, odd):
    facts = facts_of("numerics")
    facts["rows"] = [replaced(row, key, odd) for row in facts["rows"]]

    assert passes("numerics", facts) == set()
