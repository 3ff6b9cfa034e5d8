"""Choose the lock for this machine, and say why."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pins import lock as locks
from pins.paths import matching, there
from schema import facts
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pins.host import Host
    from pins.lock import Lock


@dataclass(frozen=True)
class Choice:
    """A lock and, for people, the reason why it is this one."""

    lock: Lock
    reason: str


def find(host: Host, *, rocm: str = "", channel: str = "", lock: str = "", folder: Path = locks.PINS) -> Choice:
    """Return the lock to use on `host`; KitError, naming what works, when there is none.

    `lock` is a name or a file and overrides all else. Without it: the channel asked for, or the one that fits the host;
    of it the version asked for, or the newest that serves this machine's GPUs. Only the chosen one must fit its pin.
    A lock that cannot be read might have been the one, so it is mentioned.
    """
    if lock:
        return _named(lock, host, folder)
    broken: list[str] = []
    present = locks.load_all(folder, tell=broken.append)
    passed_over = [f"{name} cannot be read and was passed over: ./kit doctor --lock {name} says why" for name in broken]
    try:
        found = _best(host, present, rocm, channel)
    except KitError as error:
        raise KitError(error.message, "; ".join(filter(None, [error.hint, *passed_over]))) from error
    return Choice(locks.fresh(found.lock), "; ".join([found.reason, *passed_over]))


def _best(host: Host, present: list[Lock], rocm: str, channel: str) -> Choice:
    if channel and present and channel not in {item.channel for item in present}:
        hint = f"{meant(channel, {item.channel for item in present})}locks present: {_listed(present)}"
        raise KitError(f"no {channel} lock", hint)
    wanted = [item for item in present if not rocm or matches(item.rocm, rocm)]
    if not wanted:
        hint = f"{meant(rocm, {item.rocm for item in present})}locks present: {_listed(present)}"
        raise KitError(f"no lock for ROCm {rocm}" if rocm else "no locks", hint)
    channel, why = (channel, f"channel {channel} as asked") if channel else _channel(host, present, rocm=rocm)
    found = [item for item in wanted if item.channel == channel]
    if not found:
        others = _listed(wanted)
        instead = min({item.channel for item in wanted})
        version = f" of ROCm {rocm}" if rocm else ""
        raise KitError(f"no {channel} lock{version} ({why})", f"use --channel {instead}, which has {others}")
    serving = [item for item in found if serves(item, host)]
    if not serving:
        raise _unserved(found, present, host, rocm)
    best = max(serving, key=newness)
    return Choice(best, _reason(best, host, why, rocm))


def matches(version: str, asked: str) -> bool:
    """Say whether a version is the one asked for, or a patch release of it: 7.2.4 is 7.2, and 5.10 is not 5.1."""
    return f"{version}.".startswith(f"{asked.strip().rstrip('.')}.")


def meant(asked: str, present: Iterable[str]) -> str:
    """Return the begin of a hint: whether the nearest of what is there was meant; empty where nothing is near."""
    near = difflib.get_close_matches(asked.lower(), sorted(present), n=1)
    return f"did you mean {near[0]}? " if near else ""


def newness(lock: Lock) -> tuple[Any, ...]:
    """Return a key that sorts locks from old to new, numbers as numbers: 10 is newer than 7, and 5.10 than 5.9.

    Of two that are alike, the one that adds more wheels comes first: it is for those who ask for it.
    """
    versions = (lock.rocm, lock.document["torch"]["version"], lock.document["python"])
    return (*map(numbers, versions), -len(lock.wheels), lock.name)


def numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of a version."""
    return tuple(int(part) for part in re.findall(r"\d+", version))


def unknown(lock: Lock) -> list[str]:
    """Return the inputs of a lock that no sha256 is known for; with any it is not built."""
    return [str(item["name"]) for item in (*lock.debs, *lock.wheels) if item["sha256"] is None]


def serves(lock: Lock, host: Host) -> bool:
    """Say whether the GPU binaries of a lock serve any GPU of this machine (many have a second, small one)."""
    if lock.torch_build != "rocm" or not host.has_amd_gpu or not host.gfx:
        return True
    return bool(set(lock.gfx) & set(host.gfx))


def _channel(host: Host, present: list[Lock], *, rocm: str) -> tuple[str, str]:
    """Return the channel that fits the host, and why."""
    if rocm:
        return ("amd", "/dev/kfd is here") if host.has_kfd else ("debian", "there is no /dev/kfd here")
    if host.has_amd_gpu:
        return "amd", f"this machine has {_gpus(host)}"
    if host.nvidia:
        if any(item.channel == "cuda" for item in present):
            return "cuda", "this machine has an NVIDIA GPU and no AMD GPU"
        return (
            "debian",
            "this machine has an NVIDIA GPU and no AMD GPU, and there is no cuda lock yet: this one uses the CPU",
        )
    return "debian", "this machine has no AMD GPU that its kernel shows"


def _named(name: str, host: Host, folder: Path) -> Choice:
    path = folder / f"{name}{locks.LOCK_SUFFIX}"
    if "/" in name or name.endswith(".yaml"):
        path = Path(name)
    elif not there(path):
        present = [found.name.removesuffix(locks.LOCK_SUFFIX) for found in matching(folder, "*" + locks.LOCK_SUFFIX)]
        raise KitError(f"no lock {name}", f"{meant(name, present)}locks present: {', '.join(present) or 'none'}")
    lock = locks.load(path)
    warning = "" if serves(lock, host) else f"; its GPU binaries do not serve {_gpus(host)}"
    return Choice(lock, f"asked for by name{warning}")


def _reason(lock: Lock, host: Host, why: str, rocm: str) -> str:
    what = f"ROCm {rocm} as asked" if rocm else f"the newest {lock.channel} lock"
    if lock.torch_build == "rocm" and host.has_amd_gpu:
        missed = sorted(set(host.gfx) - set(lock.gfx))
        what += " that serves it" if host.gfx and not rocm else ""
        what += f"; it does not serve {', '.join(missed)}" if missed else ""
        what += "" if host.gfx else "; which GPU it is cannot be read, so nothing says whether it is served"
    return f"{why}; {what}"


def _unserved(found: list[Lock], present: list[Lock], host: Host, rocm: str) -> KitError:
    """Return the error for GPUs that no lock found serves, with the command that works."""
    newest = max(found, key=newness)
    since = next((first for gfx in dict.fromkeys(host.gfx) if (first := first_release(gfx))), "")
    message = f"ROCm {newest.rocm} does not serve {_gpus(host)}" if rocm else f"no lock serves {_gpus(host)}"
    message += f", which needs ROCm {since} or newer" if since and numbers(since) > numbers(newest.rocm) else ""
    works = [item for item in present if item.torch_build == "rocm" and serves(item, host) and not unknown(item)]
    if works:
        best = max(works, key=newness)
        channel = "" if best.channel == "amd" else f" --channel {best.channel}"
        return KitError(message, f"./kit build --rocm {best.rocm}{channel}")
    return KitError(message, "./kit build --channel debian computes on the CPU; --lock NAME insists on one")


def first_release(gfx: str) -> str:
    """Return the first ROCm release whose official list has the target, or nothing where no list we know has it."""
    listed = [
        release["rocm"]
        for release in facts.load("compat")["releases"]
        if isinstance(release.get("gfx_official"), list)
        and any(entry.split()[0] == gfx for entry in release["gfx_official"])
    ]
    return min(listed, key=numbers, default="").partition("/")[0]


def _gpus(host: Host) -> str:
    return ", ".join(sorted(set(host.gfx))) or "an AMD GPU"


def _listed(found: list[Lock]) -> str:
    return ", ".join(f"{item.rocm} ({item.channel}: {item.name})" for item in sorted(found, key=newness)) or "none"
