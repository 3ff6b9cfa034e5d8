"""Why a device node does not open, and the one thing that helps. Pure; shared by the checks that look at nodes.

Group membership is advised only where the group is what is missing. Rights are never widened (`chmod`, privileged
containers), and a group that is not mapped into this user namespace is never joined: neither repairs anything.
"""

from __future__ import annotations

import errno
from typing import Any

UNMAPPED = 65534  # what an id looks like that this user namespace does not map
WHOLE = ["0", "0", "4294967295"]  # the identity map: no user namespace


def in_user_namespace(facts: dict[str, Any]) -> bool:
    """Tell whether ids here are mapped, as in rootless containers."""
    uid_map = facts.get("uid_map")
    return bool(uid_map) and str(uid_map).split() != WHOLE


def explain_refusal(path: str, facts: dict[str, Any]) -> tuple[str, str, str]:
    """Return (cause, reason, remedy) for EACCES on `path`; cause is `userns`, `group`, `mode` or `policy`.

    `facts` has `nodes[path]` {mode, uid, gid}, `identity` {uid, groups}, `uid_map`, `runtime`.
    """
    node = facts["nodes"].get(path) or {}
    gid, mode = node.get("gid"), int(str(node.get("mode", "0")), 8)
    if gid == UNMAPPED:
        where = "this user namespace (a rootless engine)" if in_user_namespace(facts) else "this container"
        return ("userns", f"the group of {path} is not mapped into {where}", UNMAPPED_REMEDY)
    groups = facts["identity"].get("groups", [])
    if gid in groups and mode & 0o060 != 0o060:
        return ("mode", f"{path} has mode {node.get('mode')}: its group {gid} may not read and write", MODE_REMEDY)
    if gid in groups:
        return (
            "policy",
            f"the mode and groups allow {path}, a security policy (SELinux, AppArmor) refuses it",
            "on the host: `sudo journalctl -k --grep 'denied|avc'` names the rule",
        )
    return (
        "group",
        f"{path} belongs to group {gid}, which this process is not in (it is in {groups})",
        GROUP_REMEDIES.get(str(facts.get("runtime")), GROUP_REMEDIES["host"]).format(gid=gid),
    )


UNMAPPED_REMEDY = (
    "podman: run with `--group-add keep-groups` and the crun runtime; rootless Docker: map the node's host group "
    "into the daemon's range in /etc/subgid"
)
MODE_REMEDY = (
    'on the host: restore the distribution\'s udev rule, SUBSYSTEM=="kfd", GROUP="render", MODE="0660", then '
    "`sudo udevadm control --reload && sudo udevadm trigger`"
)
GROUP_REMEDIES = {
    "container": "start the container with `--group-add {gid}` (the number: a name is looked up inside the image)",
    "host": 'sudo usermod -aG "$(getent group {gid} | cut -d: -f1)" "$USER"   # then log in again',
}
#: errno -> (what, reason, remedy) where the node is there but is not refused for its owner or mode.
FAULTS: dict[int, tuple[str, str, str]] = {
    errno.EPERM: (
        "forbidden",
        "the device cgroup (or a security module) forbids the node; owner and mode do not matter",
        "{cgroup}",
    ),
    errno.EINVAL: (
        "driver",
        "the driver refuses to open it; owner and mode are not the cause",
        "on the host: `sudo dmesg | grep -i kfd` says why",
    ),
    errno.ENOMEM: (
        "driver",
        "the driver has no usable GPU behind it: often a GPU that KFD does not support",
        "on the host: `sudo dmesg | grep -i kfd` names the GPU",
    ),
    errno.ENODEV: (
        "unbound",
        "no driver is bound to the device behind the node",
        "on the host: `sudo modprobe amdgpu`, then `sudo dmesg | grep -i amdgpu`",
    ),
    errno.ENXIO: (
        "unbound",
        "no driver is bound to the device behind the node",
        "on the host: `sudo modprobe amdgpu`, then `sudo dmesg | grep -i amdgpu`",
    ),
}
CGROUP_REMEDIES = {
    True: "ask the scheduler for a GPU, e.g. `srun --gres=gpu:1 ...`: Slurm hides the others from the job",
    False: "start the container with `--device {path}`",
}
