"""Is the GPU's kernel driver loaded, and does it go with this user land?"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from schema import facts as data
from validate import amd, backends
from validate.outcome import fail, passed, skip, warn

if TYPE_CHECKING:
    from schema.records import Outcome
    from validate.machine import Machine

NOT_HERE = {"cpu": "nothing here computes on a GPU"}
LOAD = {
    "rocm": "on the host: `sudo modprobe amdgpu`, then `sudo dmesg | grep -i amdgpu`",
    "cuda": "on the host: `sudo modprobe nvidia`, then `sudo dmesg | grep -i nvrm`",
}


def gather(machine: Machine, lock: dict[str, Any] | None) -> dict[str, Any]:  # noqa: ARG001 - the interface
    """Read what the kernel says about its module; /sys and /proc show the host's, also in a container."""
    backend = backends.detect(machine)
    return {
        "backend": backend,
        "driver": backends.BACKENDS[backend].driver(machine),
        "amdgpu_version": amd.text(machine, "/sys/module/amdgpu/version"),
        "kernel": machine.kernel()["release"],
        "cards": amd.cards(machine),
    }


def judge(facts: dict[str, Any], lock: dict[str, Any] | None) -> list[Outcome]:
    """Judge presence, then AMD's version against the dated table. A driver that came with the kernel has none."""
    backend = facts["backend"]
    if backend in NOT_HERE:
        return [skip("driver.not_here", NOT_HERE[backend])]
    if not facts["driver"]:
        return [fail("driver.absent", "the GPU's kernel driver is not loaded", remedy=LOAD[backend])]
    found = [passed("driver.loaded", {"driver": facts["driver"], "kernel": facts["kernel"]})]
    version, rocm = facts["amdgpu_version"], str((lock or {}).get("rocm", ""))
    if version and rocm:
        found.append(_judge_range(version, rocm))
    return found


def _judge_range(version: str, rocm: str) -> Outcome:
    """Compare with the versions that AMD lists for a ROCm release; the table is dated, so a miss is a warning."""
    rows = [row for row in data.load("compat")["releases"] if _same_release(rocm, row["rocm"])]
    listed = sorted({item for row in rows for item in row.get("amdgpu_driver_ok", [])})
    if not listed:
        return warn(
            "driver.unlisted",
            f"the table of {data.load('compat')['compiled']} has no drivers for ROCm {rocm}",
            seen=version,
        )
    if any(_matches(version, item) for item in listed):
        return passed("driver.range", version, listed)
    return warn(
        "driver.outside",
        f"AMD does not list driver {version} for ROCm {rocm} (table of {data.load('compat')['compiled']})",
        seen=version,
        expected=listed,
        remedy="install a listed amdgpu-dkms version on the host, or choose a lock whose ROCm lists this driver",
    )


def _same_release(rocm: str, row: str) -> bool:
    """`5.7.1` is in the row `5.7.0/5.7.1`; `7.2.3` is in `7.2.x`; a short `6.4` is in `6.4.0` to `6.4.3`."""
    return any(
        rocm == name or name.startswith(f"{rocm}.") or (name.endswith(".x") and f"{rocm}.".startswith(name[:-1]))
        for name in row.split("/")
    )


def _matches(version: str, listed: str) -> bool:
    """`6.4.x` and `30.10` each cover what begins with their numbers."""
    wanted = re.findall(r"\d+", listed)
    return re.findall(r"\d+", version)[: len(wanted)] == wanted
