"""Look at this host before anything is built: what would work, what would not, and the one command that mends it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from images import hostgpu
from images.devices import elsewhere
from images.endpoint import EngineError
from images.hostgpu import finding
from images.room import Room, engine_place, needs, rooms
from pins.compat import MEANING, of_lock
from pins.host import look as look_at_host
from pins.paths import can_write, text_of, there
from pins.store import Store
from schema.errors import KitError
from schema.sources import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from images.engine import Engine
    from pins.choice import Choice
    from pins.host import Host
    from pins.lock import Lock

OLDEST_PYTHON = (3, 10)
GB = 10**9
MEMORY_BYTES = 4 * GB  # hipcc and the model cases stay below
#: How each family of distributions installs and starts an engine.
INSTALL = {
    "debian": "sudo apt-get install -y docker.io (as root `./kit --setup doctor` does it)",
    "fedora": "sudo dnf install -y moby-engine && sudo systemctl enable --now docker",
    "rhel": "sudo dnf install -y podman && systemctl --user enable --now podman.socket",
    "suse": "sudo zypper install -y docker && sudo systemctl enable --now docker",
    "arch": "sudo pacman -S docker && sudo systemctl enable --now docker",
}
#: A verdict of the tables of compatibility as the status of a finding: what no list has is not judged.
SUPPORT = {"amd_supported": "pass", "upstream_wheel": "pass", "unverified": "skip", "refused": "warn"}
FAMILIES = {
    "debian": {"debian", "ubuntu"},
    "rhel": {"rhel", "centos", "rocky", "almalinux", "ol"},
    "fedora": {"fedora"},
    "suse": {"suse", "sles", "opensuse", "opensuse-leap", "opensuse-tumbleweed"},
    "arch": {"arch"},
}


def look(
    engine: Engine | KitError,
    choice: Choice | KitError,
    *,
    root: Path = Path("/"),
    outputs: Path = ROOT,
    cache: Path | None = None,
    environ: Mapping[str, str] = os.environ,
) -> list[dict[str, Any]]:
    """Return findings {code, status, seen, reason, remedy}, in the order in which a person should mend them.

    `engine` and `choice` (of a lock) are what looking for them gave, KitError included. Takes well under 2 s.
    """
    about = {} if isinstance(engine, KitError) else engine.about()
    gpus = hostgpu.gather(root)
    found = [_engine(engine, gather_system(root)), *_engine_kind(about)]
    found += hostgpu.judge(gpus, about, environ)
    if not (elsewhere(about) or gpus["wsl"]):
        found += hostgpu.numbered(root, environ)
    if gpus["user_namespace"]:
        reason = "this shell is in a user namespace: users and groups of the host are mapped or missing here"
        found.append(finding("host.user_namespace", "warn", "uid_map", reason, "run it outside, on the host itself"))
    places = engine_place(about) | {"cache": cache or Store().root, "outputs": outputs}
    needed = dict.fromkeys(places, 0) if isinstance(choice, KitError) else needs(choice.lock)
    found += [_disk(place, room, choice) for place, room in rooms(needed, places, about).items()]
    found += [_memory(root), _cpus(), _python(), _lock(choice), *_support(choice, root)]
    if not any(item["status"] == "fail" for item in found):
        found.append(finding("next", "pass", "./kit reproduce (with the options that doctor had)"))
    return found


def choose_backend(host: Host, lock: Lock) -> str:
    """Return what computes on this host with this lock: rocm, cuda, or cpu."""
    return explain_backend(host, lock)[0]


def explain_backend(host: Host, lock: Lock) -> tuple[str, str]:
    """Return the backend and why it is that one."""
    if lock.torch_build == "rocm":
        if host.has_amd_gpu:
            return "rocm", f"an AMD GPU is here and {lock.name} has PyTorch for ROCm"
        return (
            "cpu",
            f"{lock.name} has PyTorch for ROCm, but there is no AMD GPU for it here; {hostgpu.NOT_A_GPU_RESULT}",
        )
    if lock.torch_build == "cuda":
        if host.nvidia:
            return "cuda", f"an NVIDIA GPU is here and {lock.name} has PyTorch for CUDA"
        return "cpu", f"{lock.name} has PyTorch for CUDA, but no NVIDIA driver is here; {hostgpu.NOT_A_GPU_RESULT}"
    return "cpu", f"{lock.name} has PyTorch for the CPU; {hostgpu.NOT_A_GPU_RESULT}"


def gather_system(root: Path) -> dict[str, Any]:
    """Return name and version of the system, the family of the distribution, and whether systemd runs."""
    lines = text_of(root / "etc/os-release").splitlines()
    rows = {name: text.strip("'\"") for name, _, text in (line.partition("=") for line in lines)}
    names = [rows.get("ID", ""), *rows.get("ID_LIKE", "").split()]
    family = next((family for name in names for family, members in FAMILIES.items() if name in members), None)
    system = " ".join(filter(None, (rows.get("ID"), rows.get("VERSION_ID"))))
    return {"system": system, "family": family, "systemd": there(root / "run/systemd/system")}


def _engine(engine: Engine | KitError, system: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(engine, KitError):
        about = engine.about()
        seen = f"{about['name']} {about['version']}, {about['storage']}, {about['address']} ({about['source']})"
        return finding("engine.reachable", "pass", seen)
    code = engine.code if isinstance(engine, EngineError) else ""
    remedy = engine.hint
    if code == "absent":
        remedy = INSTALL.get(system["family"] or "", remedy)
    elif code == "silent" and "not running" in engine.message and "podman" not in engine.hint:
        remedy = "sudo systemctl start docker" if system["systemd"] else "sudo dockerd > /tmp/dockerd.log 2>&1 &"
    return finding("engine.reachable", "fail", None, engine.message, remedy)


def _engine_kind(about: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Name what changes the meaning of a run: another machine, another kernel, no root."""
    here = "`docker context use default` (and unset DOCKER_HOST) takes this machine's own engine"
    kinds = {
        "remote": ("warn", "the engine may run on another machine: it is measured, not this one", here),
        "desktop": ("warn", "Docker Desktop runs containers in a virtual machine, without this host's AMD GPU", here),
        "rootless": ("pass", "rootless: groups of the host do not exist inside containers", ""),
        "userns_remap": ("pass", "users are mapped: groups of the host do not exist inside containers", ""),
    }
    return [
        finding(f"engine.{name}", kind[0], about["address"], *kind[1:])
        for name, kind in kinds.items()
        if about.get(name)
    ]


def _disk(place: str, room: Room, choice: Choice | KitError) -> dict[str, Any]:
    code, seen = f"disk.{place}", f"{room.free / GB:.1f} GB free for {room.path}"
    if place != "engine" and not can_write(room.path):
        return finding(code, "fail", str(room.path), "it cannot be written", room.remedy)
    if isinstance(choice, KitError):
        return finding(code, "skip", seen, "without a lock nobody knows what room its build needs")
    if room.lack:
        return finding(code, "warn", seen, f"a first build needs {room.lack}", room.remedy)
    return finding(code, "pass", seen)


def _memory(root: Path) -> dict[str, Any]:
    lines = text_of(root / "proc/meminfo").splitlines()
    kilobytes = {line.split(":")[0]: int(line.split()[1]) for line in lines if len(line.split()) > 1}
    if "MemAvailable" not in kilobytes:
        return finding("host.memory", "skip", None, "this system has no /proc/meminfo")
    available = kilobytes["MemAvailable"] * 1024
    seen = f"{available / GB:.1f} of {kilobytes.get('MemTotal', 0) * 1024 / GB:.1f} GB available"
    if available >= MEMORY_BYTES:
        return finding("host.memory", "pass", seen)
    reason = f"checks and models need about {MEMORY_BYTES / GB:.0f} GB"
    return finding(
        "host.memory", "warn", seen, reason, "end other programs (`ps aux --sort=-rss | head` shows the largest)"
    )


def _cpus() -> dict[str, Any]:
    return finding("host.cpus", "pass", os.cpu_count())


def _python() -> dict[str, Any]:
    seen = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] >= OLDEST_PYTHON:
        return finding("host.python", "pass", seen)
    oldest = ".".join(map(str, OLDEST_PYTHON))
    return finding(
        "host.python", "fail", seen, f"the host side needs Python {oldest} or newer", f"install python{oldest}"
    )


def _lock(choice: Choice | KitError) -> dict[str, Any]:
    if isinstance(choice, KitError):
        return finding("lock.choice", "fail", None, choice.message, choice.hint)
    return finding("lock.choice", "pass", choice.lock.name, choice.reason)


def _support(choice: Choice | KitError, root: Path) -> list[dict[str, Any]]:
    """Say whether AMD or PyTorch vouch for a lock of ROCm on this host; nobody is asked about the CPU."""
    if isinstance(choice, KitError) or choice.lock.torch_build != "rocm":
        return []
    lock, gfx = choice.lock, look_at_host(root).gfx
    served = [target for target in gfx if target in lock.gfx] or gfx
    driver = text_of(root / "sys/module/amdgpu/version").strip()
    system = gather_system(root)["system"]
    verdict = of_lock(lock.document, os=system, gfx="".join(served[:1]), driver=driver)
    held_up = [f"{item.aspect} {item.asked}: {item.reason}" for item in verdict.aspects if item.holds != "yes"]
    reason = "; ".join(held_up) or MEANING[verdict.verdict]
    remedy = f"./kit pins --gfx {served[0]} names the releases that have it" if verdict.verdict == "refused" else ""
    return [finding("lock.support", SUPPORT[verdict.verdict], verdict.verdict, reason, remedy)]
