"""Every way in which a node does not open has its own remedy, and the popular wrong ones are never printed."""

import errno

import pytest

from tests.validate.fakes_node import by_code, instinct, laptop, nvidia, statuses
from validate.checks import device_nodes, groups

KFD = "/dev/kfd"
WRONG = ("nogroup", "--privileged", "chmod", "10.3.0", "reinstall", "65534", "seccomp")
UNMAPPED = {"mode": "0660", "uid": 65534, "gid": 65534, "kind": "device"}


def kfd_outcome(machine):
    return device_nodes.judge(device_nodes.gather(machine, None), None)[0]


@pytest.mark.parametrize(
    ("code", "finding", "says", "not_says"),
    [
        (errno.EACCES, "device_nodes.permission_group", "--group-add 992", "dmesg"),
        (errno.EPERM, "device_nodes.forbidden", "--device /dev/kfd", "group-add"),
        (errno.EINVAL, "device_nodes.driver", "dmesg", "group-add"),
        (errno.ENOMEM, "device_nodes.driver", "names the GPU", "group-add"),
        (errno.ENODEV, "device_nodes.unbound", "modprobe amdgpu", "group-add"),
        (errno.ENXIO, "device_nodes.unbound", "modprobe amdgpu", "group-add"),
        (errno.EIO, "device_nodes.other", "dmesg", "group-add"),
    ],
    ids=["no group", "device cgroup", "driver refuses", "GPU unknown to KFD", "unbound", "no such device", "any other"],
)
def test_the_error_number_decides(code, finding, says, not_says):
    machine = instinct(opens={KFD: code}, identity={"uid": 1000, "groups": [1000, 44]})

    outcome = kfd_outcome(machine)

    assert (outcome.code, outcome.status.value) == (finding, "fail")
    assert says in outcome.remedy
    assert not_says not in outcome.remedy


@pytest.mark.parametrize(
    ("files", "stats", "finding", "says", "not_says"),
    [
        ({"/sys/class/kfd/kfd/dev": "240:0"}, {}, "device_nodes.not_passed", "--device /dev/kfd", "modprobe"),
        ({"/sys/module/amdgpu/version": "6.3.6"}, {}, "device_nodes.no_kfd", "HSA_AMD", "--device"),
        ({}, {}, "device_nodes.no_driver", "modprobe amdgpu", "--device"),
        (
            {},
            {"/dev/dxg": {"mode": "0666", "uid": 0, "gid": 0, "kind": "device"}},
            "device_nodes.wsl",
            "HSA_ENABLE_DXG_DETECTION",
            "modprobe",
        ),
    ],
    ids=["flag forgotten", "driver without KFD", "no driver", "WSL"],
)
def test_an_absent_node_has_four_causes(files, stats, finding, says, not_says):
    machine = laptop(files=files, stats=stats)
    machine.memory["context"] = {"runtime": "container", "backend": "rocm"}

    outcome = kfd_outcome(machine)

    assert (outcome.code, outcome.status.value) == (finding, "fail")
    assert says in outcome.remedy
    assert not_says not in outcome.remedy


def test_under_slurm_the_scheduler_is_asked_for_a_gpu():
    outcome = kfd_outcome(instinct(opens={KFD: errno.EPERM}, env={"SLURM_JOB_ID": "4211"}))

    assert "--gres=gpu:1" in outcome.remedy


@pytest.mark.parametrize(
    ("stats", "identity", "cause"),
    [
        ({KFD: UNMAPPED}, {"uid": 0, "groups": [0, 65534]}, "userns"),
        ({KFD: {"mode": "0600", "uid": 0, "gid": 992, "kind": "device"}}, {"uid": 1000, "groups": [992]}, "mode"),
        ({}, {"uid": 1000, "groups": [992]}, "policy"),
        ({}, {"uid": 0, "groups": [0]}, "group"),
    ],
    ids=["rootless engine", "mode 0600", "SELinux", "root without capabilities"],
)
def test_permission_denied_has_four_causes(stats, identity, cause):
    machine = instinct(opens={KFD: errno.EACCES}, stats=stats, identity=identity)

    found = [
        *device_nodes.judge(device_nodes.gather(machine, None), None),
        *groups.judge(groups.gather(machine, None), None),
    ]

    assert {f"device_nodes.permission_{cause}", f"groups.{cause}"} <= set(by_code(found))


@pytest.mark.parametrize("code", [errno.EACCES, errno.EPERM, errno.EINVAL, errno.ENOMEM, errno.ENOENT, errno.ENODEV])
@pytest.mark.parametrize("gid", [992, 65534, 44])
@pytest.mark.parametrize("runtime", ["container", "host"])
def test_the_wrong_remedies_are_never_printed(code, gid, runtime):
    node = {"mode": "0660", "uid": 0, "gid": gid, "kind": "device"}
    machine = instinct(opens={KFD: code, "/dev/dri/renderD128": code}, stats={KFD: node, "/dev/dri/renderD128": node})
    machine.memory["context"] = {"runtime": runtime, "backend": "rocm"}
    machine.me = {"uid": 1000, "groups": [1000]}

    for check in (device_nodes, groups):
        for outcome in check.judge(check.gather(machine, None), None):
            for wrong in WRONG:
                assert wrong not in (outcome.remedy or "")


def test_a_node_that_opens_needs_no_group():
    machine = instinct(
        stats={KFD: {"mode": "0666", "uid": 0, "gid": 992, "kind": "device"}}, identity={"uid": 1000, "groups": [1000]}
    )

    assert statuses(device_nodes.judge(device_nodes.gather(machine, None), None)) == {
        "device_nodes.kfd": "pass",
        "device_nodes.render": "pass",
    }
    assert statuses(groups.judge(groups.gather(machine, None), None)) == {"groups.numeric": "pass"}


def test_on_a_host_the_group_is_looked_up_by_its_number():
    machine = instinct(opens={KFD: errno.EACCES}, identity={"uid": 1000, "groups": [1000]})
    machine.memory["context"] = {"runtime": "host", "backend": "rocm"}

    assert "getent group 992" in kfd_outcome(machine).remedy


def test_a_container_of_one_gpu_of_two_is_in_order():
    machine = instinct(opens={"/dev/dri/renderD128": errno.ENOENT})

    found = by_code(device_nodes.judge(device_nodes.gather(machine, None), None))

    assert found["device_nodes.render"].seen == {"usable": ["/dev/dri/renderD129"], "in_sysfs": 2}


def test_without_any_render_node_kfd_is_not_enough():
    machine = instinct(opens={"/dev/dri/renderD128": errno.ENOENT, "/dev/dri/renderD129": errno.ENOENT})

    found = by_code(device_nodes.judge(device_nodes.gather(machine, None), None))

    assert found["device_nodes.render_absent"].remedy == "start the container with `--device /dev/dri/renderD128`"


@pytest.mark.parametrize("machine", [laptop(), nvidia()], ids=["cpu", "cuda"])
def test_nobody_else_is_asked_for_dev_kfd(machine):
    for check in (device_nodes, groups):
        outcome = check.judge(check.gather(machine, None), None)[0]
        assert (outcome.status.value, outcome.remedy) == ("skip", None)


def test_the_node_is_never_read_from():
    """A healthy /dev/kfd answers EINVAL to a read."""

    class Strict(type(instinct())):
        def read_bytes(self, path):
            assert not path.startswith("/dev/")
            return super().read_bytes(path)

    machine = instinct()
    machine.__class__ = Strict

    assert kfd_outcome(machine).status.value == "pass"
