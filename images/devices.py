"""How GPUs reach a container: one table of backends, each with the least that works.

Nodes are added by path, with the numeric group of each and nothing more; which of the GPUs, `images.gpus` says.
"""

from __future__ import annotations

import stat
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from images import gpus
from pins.paths import there
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

USER = "65532:65532"  # in no image's passwd: what works for it works for any user
ROOT_USER = "0:0"
AMD_CDI, NVIDIA_CDI = "amd.com/gpu", "nvidia.com/gpu"
PODMAN_CDI = (5, 4)  # the first whose API takes device requests; before it drops them without a word


@dataclass(frozen=True)
class Devices:
    """What a backend needs of the host: nodes as (host path, container path), groups, requests, and who opens them.

    `notes` say what is more than the least, or less than all, and why. `owned`: nobody but `user` can open one of the
    nodes. `addresses` are the PCI addresses of the GPUs, where they are known.
    """

    nodes: tuple[tuple[str, str], ...] = ()
    groups: tuple[str, ...] = ()
    requests: tuple[dict[str, Any], ...] = ()
    user: str = USER
    notes: tuple[str, ...] = ()
    owned: bool = False
    addresses: tuple[str, ...] = ()


def _rocm(about: Mapping[str, Any], root: Path, items: list[str], environ: Mapping[str, str]) -> Devices:
    """/dev/kfd and the render nodes of the chosen GPUs, or CDI devices where the nodes cannot be seen from here."""
    if elsewhere(about):
        return _rocm_elsewhere(about, items)
    kfd, nodes = root / "dev/kfd", gpus.render_nodes(root)
    missing = ([] if there(kfd) else ["/dev/kfd"]) + ([] if nodes else ["/dev/dri/renderD*"])
    if missing:
        raise KitError(f"this host has no {' and no '.join(missing)}", "./kit doctor says why")
    if not (ours := gpus.allowed(nodes)):
        raise KitError(
            "the device cgroup of this shell refuses every GPU", "ask Slurm for one: `srun --gres=gpu:1 ...`"
        )
    if names := gpus.cdi_names(items):
        opened = _opened_by(about, [kfd, *ours], ())
        return replace(opened, requests=(_cdi(about, names),))
    chosen, source = _chosen("rocm", root, items, environ)
    ours = [gpu.node for gpu in chosen] if source else ours
    pairs = tuple((str(path), f"/{path.relative_to(root)}") for path in [kfd, *ours])
    return _noted(_opened_by(about, [kfd, *ours], pairs), chosen, source)


def _rocm_elsewhere(about: Mapping[str, Any], items: list[str]) -> Devices:
    """All GPUs as nodes; single ones only by CDI, since nobody here knows which node is which GPU's."""
    known = about.get("cdi", ())
    names = [item if gpus.cdi_names([item]) else f"{AMD_CDI}={item}" for item in items or ["all"]]
    if items or names[0] in known:
        return Devices(requests=(_cdi(about, names),), user=ROOT_USER, notes=(_FAR,))
    return Devices(tuple((name, name) for name in ("/dev/kfd", "/dev/dri")), user=ROOT_USER, notes=(_FAR,))


def _cuda(about: Mapping[str, Any], root: Path, items: list[str], environ: Mapping[str, str]) -> Devices:
    """A device request: NVIDIA's own hook brings the nodes and the driver's libraries. Nobody needs /dev/kfd here."""
    far = elsewhere(about)
    nvidia = [root / "dev" / name for name in ("nvidiactl", "nvidia-uvm")]
    opened = _opened_by(about, [] if far else [path for path in nvidia if there(path)], ())
    if names := gpus.cdi_names(items):
        return replace(opened, requests=(_cdi(about, names),))
    chosen, source = ([], "") if far else _chosen("cuda", root, items, environ)
    ids = [gpu.uuid or str(gpu.index) for gpu in chosen] if source else items
    known = about.get("cdi", ())
    if about.get("name") == "podman" or f"{NVIDIA_CDI}=all" in known:
        numbers = [str(gpu.index) for gpu in chosen] if source else items
        pairs = zip(ids, numbers, strict=True)
        names = [f"{NVIDIA_CDI}={one if f'{NVIDIA_CDI}={one}' in known else number}" for one, number in pairs]
        request = _cdi(about, names or [f"{NVIDIA_CDI}=all"])
    else:
        request = {"Driver": "", "Capabilities": [["gpu"]], **({"DeviceIDs": ids} if ids else {"Count": -1})}
    return _noted(replace(opened, requests=(request,)), chosen, source)


def _cpu(_about: Mapping[str, Any], _root: Path, items: list[str], _environ: Mapping[str, str]) -> Devices:
    """Nothing."""
    if items:
        raise KitError(
            "--gpus: this run computes on the CPU", "leave it out; ./kit doctor says what is missing for a GPU"
        )
    return Devices()


def _chosen(backend: str, root: Path, items: list[str], environ: Mapping[str, str]) -> tuple[list[gpus.Gpu], str]:
    """Return the GPUs that were asked for, by option or else by the environment, and by what; "" if by none."""
    here = gpus.listed(backend, root)
    if items:
        return gpus.chosen(items, here, "--gpus", "./kit doctor shows numbers and addresses"), "--gpus"
    return gpus.masked(backend, here, environ)


def _noted(devices: Devices, chosen: Sequence[gpus.Gpu], source: str) -> Devices:
    """Say which GPUs these are, and by what they were chosen if by anything."""
    addresses = tuple(gpu.address for gpu in chosen if gpu.address)
    found = replace(devices, addresses=addresses if len(addresses) == len(chosen) else ())
    if not source:
        return found
    return replace(found, notes=(f"GPUs, by {source}: {', '.join(gpu.text for gpu in chosen)}", *devices.notes))


#: Equal, by a test, to the schema's backends and to `validate.backends`.
ACCESS: dict[str, Callable[[Mapping[str, Any], Path, list[str], Mapping[str, str]], Devices]] = {
    "rocm": _rocm,
    "cuda": _cuda,
    "cpu": _cpu,
}
_FAR = "the engine's devices cannot be judged from here: the user inside is root, without any capability"
_ROOTLESS = "rootless engine: host groups do not exist inside; the user inside is root, which is you outside"


UNMAPPED = "the engine maps users (userns-remap), and users and groups of this host do not exist inside"
UNMAPPED_HINT = "measure with `--runtime host`, or with an engine that maps no users"


def open_to_all(mode: int) -> bool:
    """Say whether any user, a mapped one too, may open a node of this mode."""
    return mode & 0o006 == stat.S_IROTH | stat.S_IWOTH


def elsewhere(about: Mapping[str, Any]) -> bool:
    """Say whether the engine runs on another kernel, so that this host's nodes and groups mean nothing to it."""
    return bool(about.get("remote") or about.get("desktop"))


def _opened_by(about: Mapping[str, Any], nodes: Sequence[Path], pairs: tuple[tuple[str, str], ...]) -> Devices:
    """Find out who can open the nodes: any user, members of their numeric groups, or only their owner."""
    if about.get("rootless") and nodes:
        keep = about.get("name") == "podman" and about.get("oci_runtime") == "crun"
        return Devices(pairs, ("keep-groups",) if keep else (), user=ROOT_USER, notes=(_ROOTLESS,))
    groups, user, notes = set[int](), USER, list[str]()
    for node in nodes:
        facts = node.stat()
        if open_to_all(facts.st_mode):
            continue
        if about.get("userns_remap"):
            raise KitError(f"{UNMAPPED}: nobody inside can open {node}", UNMAPPED_HINT)
        if facts.st_mode & 0o060 == stat.S_IRGRP | stat.S_IWGRP:
            groups.add(facts.st_gid)
        else:
            user = f"{facts.st_uid}:{facts.st_gid}"
            notes.append(f"{node} is open to its owner alone: the user inside is {user}")
    numbers = tuple(str(group) for group in sorted(groups))
    return Devices(pairs, numbers, user=user, notes=tuple(notes), owned=bool(notes))


def _cdi(about: Mapping[str, Any], names: list[str]) -> dict[str, Any]:
    """Return the request; KitError for an engine that would not heed it, or has no such device. Podman tells none."""
    known = about.get("cdi", ())
    if about.get("name") == "podman":
        version = tuple(int(part) for part in str(about.get("version")).split(".")[:2] if part.isdigit())
        if version < PODMAN_CDI:
            message = f"Podman {about.get('version')} hands out no CDI devices over its API"
            raise KitError(message, "use Podman 5.4 or newer, or Docker, or measure with `--runtime host`")
    elif unknown := [name for name in names if name not in known]:
        message = f"the engine has no device {unknown[0]}; it has: {', '.join(known) or 'no CDI device'}"
        raise KitError(message, "leave --gpus out, or run the kit on the engine's own machine")
    return {"Driver": "cdi", "Count": 0, "DeviceIDs": names}
