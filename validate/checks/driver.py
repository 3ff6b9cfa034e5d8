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

SHAPE = {"driver": (str, type(None)), "amdgpu_version": (str, type(None)), "kernel": str}
NOT_HERE = {"cpu": "nothing here computes on a GPU"}
RELEASED_BY_AMD = {"rocm"}
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
    }


def judge(facts: dict[str, Any], lock: dict[str, Any] | None) -> list[Outcome]:
    """Judge presence, then AMD's release against the dated table. A driver that came with the kernel has none."""
    backend = facts["backend"]
    if backend in NOT_HERE:
        return [skip("driver.not_here", NOT_HERE[backend])]
    if not facts["driver"]:
        return [fail("driver.absent", "the GPU's kernel driver is not loaded", remedy=LOAD[backend])]
    found = [passed("driver.loaded", {"driver": facts["driver"], "kernel": facts["kernel"]})]
    if backend in RELEASED_BY_AMD:
        found.append(_judge_release(facts["amdgpu_version"], facts["kernel"], str((lock or {}).get("rocm", ""))))
    return found


def _judge_release(module: str | None, kernel: str, rocm: str) -> Outcome:
    """Compare with the driver releases that AMD lists for a ROCm release; what the tables lack is said as unknown."""
    if not module:
        reason = f"the driver came with kernel {kernel}; AMD's table lists only the releases of its own driver"
        return skip("driver.in_tree", reason)
    compat = data.load("compat")
    release = release_of(module)
    seen = {"module": module, "release": release}
    if release is None:
        reason = f"which driver release has module version {module} is not in the table of {compat['compiled']}"
        return skip("driver.unlisted", reason, seen=seen)
    rows = [row for row in compat["releases"] if _same_release(rocm, row["rocm"])]
    listed = sorted({item for row in rows for item in row.get("amdgpu_driver_ok", [])})
    if not listed:
        what = f"has no drivers for ROCm {rocm}" if rocm else "was not asked: there is no lock that names a ROCm"
        return skip("driver.unlisted", f"the table of {compat['compiled']} {what}", seen=seen)
    if any(_series(item) == _series(release) for item in listed):
        return passed("driver.range", seen, listed)
    return warn(
        "driver.outside",
        f"AMD does not list driver {release} for ROCm {rocm} (table of {compat['compiled']})",
        seen=seen,
        expected=listed,
        remedy="install a listed release of amdgpu-dkms on the host, or choose a lock whose ROCm lists this driver",
    )


def release_of(module: str) -> str | None:
    """Return the driver release (6.4, 30.10) that a module version belongs to; None where no row says.

    They count differently: module 6.12.12 is that of driver 6.4. What follows the third number is the build's.
    """
    wanted = re.findall(r"\d+", module)[:3]
    rows = data.load("compat")["driver_modules"]
    return next((str(row["release"]) for row in rows if row["module"].split(".") == wanted), None)


def _same_release(rocm: str, row: str) -> bool:
    """`5.7.1` is in the row `5.7.0/5.7.1`; `7.2.3` is in `7.2.x`; a short `6.4` is in `6.4.0` to `6.4.3`."""
    return any(
        rocm == name or name.startswith(f"{rocm}.") or (name.endswith(".x") and f"{rocm}.".startswith(name[:-1]))
        for name in row.split("/")
    )


def _series(release: str) -> list[str]:
    """Return what a module version can tell of a release: 30.10 of 30.10.2, 6.4 of 6.4.x."""
    return re.findall(r"\d+", release)[:2]
