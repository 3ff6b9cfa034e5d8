"""What the host shows of its GPUs, and what would keep a container from them.

`gather` reads files and opens nodes; `judge` is pure. A missing driver, a driver without KFD, and a node that cannot be
opened are three different faults with three different remedies: no flag of the engine helps against the first two.
"""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Any

from images.devices import UNMAPPED, UNMAPPED_HINT, elsewhere, open_to_all
from images.gpus import MASKS, listed, masked, open_errno, render_nodes
from pins.paths import matching, text_of, there
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

NOBODY = 65534
VENDORS = {"0x1002": "amd", "0x10de": "nvidia"}
GPU_CLASSES = ("0x03", "0x12")  # display controllers, processing accelerators
APPTAINER = {"APPTAINER_CONTAINER", "SINGULARITY_CONTAINER"}
NOT_A_GPU_RESULT = "runs here compute on the CPU: not a GPU result"


def finding(code: str, status: str, seen: Any, reason: str = "", remedy: str = "") -> dict[str, Any]:
    """Return one finding of doctor."""
    return {"code": code, "status": status, "seen": seen, "reason": reason or None, "remedy": remedy or None}


def gather(root: Path, opened: Callable[[Path], int] = open_errno) -> dict[str, Any]:
    """Return what the tree at `root` shows: PCI devices, drivers, device nodes, name spaces."""
    nodes = [path for path in [root / "dev/kfd", *render_nodes(root)] if there(path)]
    groups = _groups(root)
    uid_map = text_of(root / "proc/self/uid_map").split()
    kernel = text_of(root / "proc/sys/kernel/osrelease")
    return {
        "pci": _pci(root),
        "amdgpu": there(root / "sys/module/amdgpu"),
        "amdgpu_version": text_of(root / "sys/module/amdgpu/version") or None,
        "kfd_in_kernel": there(root / "sys/class/kfd"),
        "nodes": [_node(path, root, groups, opened) for path in nodes],
        "nvidia_driver": _nvidia_version(root),
        "nvidia_cdi": any(there(root / place / "nvidia.yaml") for place in ("etc/cdi", "var/run/cdi", "run/cdi")),
        "kernel": kernel,
        "wsl": "microsoft" in kernel.lower() or there(root / "dev/dxg"),
        "dxg": there(root / "dev/dxg"),
        "dxcore": there(root / "usr/lib/wsl/lib/libdxcore.so"),
        "inside": any(there(root / name) for name in (".dockerenv", "run/.containerenv")),
        "user_namespace": uid_map[:3] not in ([], ["0", "0", "4294967295"]),
    }


def judge(facts: Mapping[str, Any], about: Mapping[str, Any], environ: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the findings about GPUs, for an engine that says `about` of itself (empty: no engine)."""
    if elsewhere(about):
        reason = "the engine runs on another machine (or a virtual one): its devices cannot be judged from here"
        return [finding("gpu.present", "skip", about.get("address"), reason)]
    if facts["wsl"]:
        return [_wsl(facts)]
    makers = {device["maker"] for device in facts["pci"]}
    found = []
    if "amd" in makers or facts["nodes"] or facts["kfd_in_kernel"]:
        found += _amd(facts, about, environ)
    if "nvidia" in makers or facts["nvidia_driver"]:
        found.append(_nvidia(facts, about))
    return found or [finding("gpu.present", "skip", "no AMD or NVIDIA GPU", NOT_A_GPU_RESULT)]


def numbered(root: Path, environ: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the GPUs of this machine by the numbers that `--gpus` takes, and what the caller's variables leave."""
    found = []
    for backend in MASKS:
        here = listed(backend, root)
        seen = [gpu.text for gpu in here]
        try:
            left, source = masked(backend, here, environ) if here else ([], "")
        except KitError as error:
            found.append(finding("gpu.numbers", "fail", seen, error.message, error.hint))
            continue
        reason = f"{source}: a run gets {', '.join(gpu.text for gpu in left)}" if source else ""
        found += [finding("gpu.numbers", "pass", seen, reason)] if here else []
    return found


def _amd(facts: Mapping[str, Any], about: Mapping[str, Any], environ: Mapping[str, str]) -> list[dict[str, Any]]:
    gpus = [device["address"] for device in facts["pci"] if device["maker"] == "amd"]
    if not (facts["amdgpu"] or facts["kfd_in_kernel"]):
        reason = "an AMD GPU is on the PCI bus, but the kernel has not loaded its amdgpu driver"
        remedy = "on the host: `sudo modprobe amdgpu`; if that fails, `sudo dmesg | grep -i amdgpu` says why"
        return [finding("gpu.amd_driver", "fail", gpus, reason, remedy)]
    version = facts["amdgpu_version"] or f"in-tree, kernel {facts['kernel'] or 'unknown'}"
    driver = finding("gpu.amd_driver", "pass", f"amdgpu {version}")
    kfd = next((node for node in facts["nodes"] if node["path"] == "/dev/kfd"), None)
    if kfd is None and not facts["kfd_in_kernel"]:
        reason = (
            "the amdgpu driver is loaded without KFD, its compute half: this kernel or this GPU has no support for it"
        )
        remedy = "`sudo dmesg | grep -i kfd` says which; a kernel needs CONFIG_HSA_AMD=y (grep HSA_AMD /boot/config-*)"
        return [driver, finding("gpu.amd_kfd", "fail", "no /sys/class/kfd", reason, remedy)]
    missing = [] if kfd else ["/dev/kfd"]
    if not any("renderD" in node["path"] for node in facts["nodes"]):
        missing.append("/dev/dri/renderD*")
    if missing:
        reason = f"the kernel offers the GPU, but {' and '.join(missing)} is not in /dev"
        if environ.keys() & APPTAINER:  # not its `--rocm`, which brings the host's ROCm in place of the image's
            remedy = "start Apptainer with `--bind=/dev/kfd --bind=/dev/dri`"
        elif facts["inside"]:
            remedy = "start the container that this runs in with `--device=/dev/kfd --device=/dev/dri`"
        else:
            remedy = "`sudo udevadm trigger --subsystem-match=kfd --subsystem-match=drm` makes udev create it"
        return [driver, finding("gpu.amd_nodes", "fail", missing, reason, remedy)]
    return [driver, *(_opens(node, facts, about, environ) for node in facts["nodes"])]


def _opens(
    node: Mapping[str, Any], facts: Mapping[str, Any], about: Mapping[str, Any], environ: Mapping[str, str]
) -> dict[str, Any]:
    """Judge one node by the errno of opening it: only EACCES is a matter of groups."""
    code = "gpu.amd_access"
    seen = {key: node[key] for key in ("path", "mode", "gid")} | {"open": errno.errorcode.get(node["errno"], "ok")}
    if about.get("userns_remap") and node["errno"] in {0, errno.EACCES} and not open_to_all(int(node["mode"], 8)):
        return finding(code, "fail", seen, f"{UNMAPPED}: nobody inside can open {node['path']}", UNMAPPED_HINT)
    if node["errno"] == 0:
        return finding(code, "pass", seen)
    if node["errno"] == errno.EACCES:
        return _denied(node, facts, about, seen)
    if node["errno"] == errno.EPERM and "renderD" in node["path"] and any(map(_ours, facts["nodes"])):
        return finding(code, "skip", seen, "the device cgroup of this shell leaves it to others: no run gets it")
    if node["errno"] == errno.EPERM:
        reason = f"{node['path']} is refused by a device cgroup or a security module, whatever the groups"
        slurm = "ask Slurm for the GPU: `srun --gres=gpu:1 ...` (ConstrainDevices hides the others)"
        remedy = slurm if "SLURM_JOB_ID" in environ else "allow the device in the cgroup that this shell runs in"
        return finding(code, "fail", seen, reason, remedy)
    reason = f"{node['path']} answers {seen['open']}: the driver is there but does not serve this GPU"
    return finding(code, "fail", seen, reason, "`sudo dmesg | grep -iE 'kfd|amdgpu'` says why")


def _ours(node: Mapping[str, Any]) -> bool:
    return "renderD" in node["path"] and node["errno"] != errno.EPERM


def _denied(
    node: Mapping[str, Any], facts: Mapping[str, Any], about: Mapping[str, Any], seen: dict[str, Any]
) -> dict[str, Any]:
    """Judge EACCES. A rootful engine opens the node itself: then this user's own groups do not matter."""
    code, path = "gpu.amd_access", node["path"]
    allow = f'sudo setfacl -m "u:$(id -un):rw" {path}'
    if about.get("rootless"):
        return _denied_rootless(node, about, seen, allow)
    if about:
        reason = f"this user cannot open {path}; a container gets its numeric group {node['gid']}, `--runtime host` not"
        return finding(code, "pass", seen, reason)
    if facts["user_namespace"] and node["gid"] == NOBODY:
        reason = f"this user namespace does not map the group of {path}: no membership inside it can help"
        remedy = "start the outer container with its groups: Podman with crun and `--group-add keep-groups`"
        return finding(code, "fail", seen, reason, remedy)
    if node["group"] is None or node["gid"] in {0, NOBODY}:  # root's group would open far more than this node
        return finding(code, "warn", seen, f"{path} belongs to group {node['gid']}, which nobody should join", allow)
    reason = f"this user is not in {node['group']}, the group of {path}"
    return finding(code, "warn", seen, reason, f'sudo usermod -aG {node["group"]} "$USER", then log in again')


def _denied_rootless(
    node: Mapping[str, Any], about: Mapping[str, Any], seen: dict[str, Any], allow: str
) -> dict[str, Any]:
    """Judge EACCES for a rootless engine: a host group has no number inside, only crun can carry it in."""
    code = "gpu.amd_access"
    if about.get("name") != "podman":
        reason = f"the group of {node['path']}, {node['gid']}, does not exist in a rootless container"
        return finding(code, "fail", seen, reason, allow)
    if about.get("oci_runtime") == "crun" and node["member"]:
        return finding(code, "pass", seen, "rootless Podman with crun keeps this user's groups")
    reason = "a rootless container is a user namespace without the host's groups; only crun can keep them (keep-groups)"
    remedy = 'install crun, then set `runtime = "crun"` in ~/.config/containers/containers.conf (keep-groups is passed)'
    return finding(code, "fail", seen, reason, remedy)


def _nvidia(facts: Mapping[str, Any], about: Mapping[str, Any]) -> dict[str, Any]:
    if not facts["nvidia_driver"]:
        reason = f"an NVIDIA GPU without NVIDIA's kernel driver; {NOT_A_GPU_RESULT}"
        return finding(
            "gpu.nvidia", "warn", "no /proc/driver/nvidia", reason, "install the driver that your distribution packages"
        )
    seen = f"driver {facts['nvidia_driver']}"
    toolkit = facts["nvidia_cdi"] or "nvidia" in about.get("runtimes", ())
    if toolkit or any(name.startswith("nvidia.com/gpu") for name in about.get("cdi", ())):
        return finding("gpu.nvidia", "pass", f"{seen}, container toolkit")
    reason = "containers cannot reach the GPU: the engine has no NVIDIA container toolkit (`--runtime host` needs none)"
    remedy = (
        "install nvidia-container-toolkit, then `sudo nvidia-ctk runtime configure && sudo systemctl restart docker`"
    )
    return finding("gpu.nvidia", "warn", seen, reason, remedy)


def _wsl(facts: Mapping[str, Any]) -> dict[str, Any]:
    """WSL hands the GPU over as /dev/dxg. /dev/kfd cannot be there, and its absence is no fault."""
    missing = [name for name, there in (("/dev/dxg", facts["dxg"]), ("libdxcore.so", facts["dxcore"])) if not there]
    seen = {"kernel": facts["kernel"], "missing": missing}
    reason = f"WSL 2: the GPU is behind /dev/dxg, which our images do not use; {NOT_A_GPU_RESULT}"
    remedy = "for ROCm by hand: librocdxg, and HSA_ENABLE_DXG_DETECTION=1 before ROCm 7.13; measure on bare metal"
    return finding("gpu.wsl", "warn", seen, reason, remedy)


def _node(path: Path, root: Path, groups: Mapping[int, str], opened: Callable[[Path], int]) -> dict[str, Any]:
    facts = path.stat()
    return {
        "path": f"/{path.relative_to(root)}",
        "mode": f"{facts.st_mode & 0o7777:04o}",
        "uid": facts.st_uid,
        "gid": facts.st_gid,
        "group": groups.get(facts.st_gid),
        "member": facts.st_gid in {os.getgid(), *os.getgroups()},
        "errno": opened(path),
    }


def _pci(root: Path) -> list[dict[str, str]]:
    found = []
    for place in matching(root / "sys/bus/pci/devices", "*"):
        maker = VENDORS.get(text_of(place / "vendor"))
        if maker and text_of(place / "class").startswith(GPU_CLASSES):
            found.append({"address": place.name, "maker": maker})
    return found


def _groups(root: Path) -> dict[int, str]:
    rows = [line.split(":") for line in text_of(root / "etc/group").splitlines()]
    return {int(row[2]): row[0] for row in rows if len(row) > 2 and row[2].isdigit()}


def _nvidia_version(root: Path) -> str | None:
    words = text_of(root / "proc/driver/nvidia/version").split()
    return next((word for word in words if word[0].isdigit() and "." in word), None)
