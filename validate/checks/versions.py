"""Does each component report the version that the lock names?"""

from __future__ import annotations

import platform
import re
from typing import TYPE_CHECKING, Any

from validate import backends, packages
from validate.outcome import fail, passed, skip, warn
from validate.parsers import rocminfo
from validate.versions import agrees, release

if TYPE_CHECKING:
    from schema.records import Outcome
    from validate.machine import Machine

SHAPE = {"sources": dict}
ROCM_FILES = (
    ("/opt/rocm/.info/version", re.compile(r"^(\d[\w.+-]*)")),
    ("/opt/rocm/.info/version-dev", re.compile(r"^(\d[\w.+-]*)")),
    ("/opt/rocm/include/rocm-core/rocm_version.h", re.compile(r'ROCM_BUILD_INFO\s+"(\d[\w.+-]*)"')),
    ("/opt/rocm/include/rocm_version.h", re.compile(r'ROCM_BUILD_INFO\s+"(\d[\w.+-]*)"')),
)
#: component -> pattern of the Debian package whose version is its version: AMD's names, then Debian's. AMD's own hipcc
#: package counts for itself (1.1.1 in ROCm 6.4), so the library stands for HIP.
PACKAGES = {
    "rocm": ("rocm-core", r"libamdhip64-\d+"),
    "hip": ("hip-runtime-amd", r"libamdhip64-\d+"),
    "rocr": ("hsa-rocr", r"libhsa-runtime64-\d+"),
    "rocm-smi": ("rocm-smi-lib", "rocm-smi"),
    "amd-smi": ("amd-smi-lib", "amd-smi"),
    "rocminfo": ("rocminfo",),
    "rocblas": ("rocblas", r"librocblas\d+"),
    "hipblaslt": ("hipblaslt",),
    "miopen": ("miopen-hip", r"libmiopen\d+"),
    "rccl": ("rccl", r"librccl\d+"),
    "comgr": ("comgr", r"libamd-comgr\d+"),
    "device-libs": ("rocm-device-libs", r"rocm-device-libs-\d+"),
    "clang": (r"clang-\d+",),
}
TOOLS = {
    "hip": (["hipconfig", "--version"], re.compile(r"(?:HIP version\s*:\s*)?(\d+\.\d+\.\d+\S*)")),
    "rocm-smi": (["rocm-smi", "--version"], re.compile(r"ROCM-SMI version:\s*(\d\S*)")),
    "amd-smi": (["amd-smi", "version"], re.compile(r"AMDSMI Tool:\s*(\d[^\s|+]*)")),
}
#: The channels whose `rocm` names a release that is inside the image.
ROCM_CHANNELS = frozenset({"amd", "debian", "wheel", "adopted"})
UNTOLD = frozenset({"none", "unknown"})  # what the lock of an adopted image says where nothing told a release
NEEDED_FOR = {"rocm": "the ROCm release", "hip": "HIP"}


def gather(machine: Machine, lock: dict[str, Any] | None) -> dict[str, Any]:
    """Ask, for each component, every source there is: [source, version], the most direct first."""
    torch = backends.torch_facts(machine).get("torch", {})
    found: dict[str, list[list[str]]] = {name: [] for name in PACKAGES}
    for path, pattern in ROCM_FILES:
        _add(found["rocm"], path, pattern.search(machine.read(path) or ""))
    _add(found["rocm"], "realpath of /opt/rocm", re.search(r"/rocm-(\d[\d.]*)$", machine.realpath("/opt/rocm") or ""))
    for name, (argv, pattern) in TOOLS.items():
        _add(found[name], " ".join(argv), pattern.search(machine.run(argv, 30).stdout))
    runtime = rocminfo.parse(machine.run(["rocminfo"], 30).stdout)["runtime"]
    debs = packages.debs(machine) or {}
    for name, patterns in PACKAGES.items():
        found[name] += _first_packages(debs, patterns)
    label = re.search(r"\+rocm(\d[\d.]*\d)", torch.get("version") or "")
    _add(found["rocm"], "label of torch's version", label)
    if torch.get("rocm"):
        found["rocm"].append(["torch.version.rocm", torch["rocm"]])
    if torch.get("hip"):  # HIP's version, not ROCm's: ROCm 10.0 has HIP 7.15
        found["hip"].append(["torch.version.hip", torch["hip"]])
    found["python"] = [["this interpreter", platform.python_version()]]
    wanted = (lock or {}).get("components", {})
    for item in packages.wheels(machine):
        if item["name"] in wanted:
            found.setdefault(item["name"], []).append(["Python distribution", item["version"]])
    if torch.get("version"):
        found.setdefault("torch", []).insert(0, ["torch.__version__", torch["version"]])
    return {
        "backend": backends.detect(machine),
        "sources": {name: rows for name, rows in found.items() if rows},
        "rocr_interface": runtime,
    }


def _first_packages(debs: dict[str, str], patterns: tuple[str, ...]) -> list[list[str]]:
    """Return the packages of the first pattern that any matches: the others are other people's names for it."""
    for pattern in patterns:
        rows = [[f"package {deb}", version] for deb, version in sorted(debs.items()) if re.fullmatch(pattern, deb)]
        if rows:
            return rows
    return []


def _add(rows: list[list[str]], source: str, match: re.Match[str] | None) -> None:
    if match:
        rows.append([source, match[1]])


def judge(facts: dict[str, Any], lock: dict[str, Any] | None) -> list[Outcome]:
    """Judge each component by itself, and that the sources of one component do not contradict each other."""
    sources = facts["sources"]
    found = _conflicts(sources)
    if not lock:
        if facts["backend"] == "rocm" and not sources.get("rocm"):
            found.append(warn("versions.rocm", "nothing here tells the version of rocm"))
        return [*found, skip("versions.no_lock", "there is no lock to compare with", seen=_first(sources))]
    wanted = {"python": lock["python"], **lock["components"]}
    if lock["channel"] in ROCM_CHANNELS and lock["rocm"] not in UNTOLD:
        wanted["rocm"] = lock["rocm"]
    for name, expected in sorted(wanted.items()):
        found.append(_judge_one(name, expected, sources.get(name, [])))
    return found


def _judge_one(name: str, expected: str, rows: list[list[str]]) -> Outcome:
    """Any source that agrees is enough: package and tool may count differently (5.7.1 is HIP 5.7.31921)."""
    seen = {str(source): str(version) for source, version in rows}
    code = "versions." + re.sub(r"[^a-z0-9]+", "_", name.lower())
    if not rows:
        return warn(code, f"nothing here tells the version of {name}", expected={name: expected})
    if any(agrees(version, expected) for version in seen.values()):
        return passed(code, {name: seen}, {name: expected})
    return fail(
        code,
        f"{name} is {rows[0][1]}, the lock says {expected}",
        seen={name: seen},
        expected={name: expected},
        remedy="run inside the image that was built from this lock: `./kit build --force`, then `./kit validate`",
    )


def _conflicts(sources: dict[str, list[list[str]]]) -> list[Outcome]:
    """Two sources of the ROCm release, or of HIP, that differ in major.minor are two stacks in one place."""
    found = []
    for name, words in NEEDED_FOR.items():
        releases = {source: release(version) for source, version in sources.get(name, [])}
        if len({value for value in releases.values() if value}) > 1:
            found.append(
                fail(
                    "versions.conflict",
                    f"the sources of {words} contradict each other: two stacks are installed",
                    seen=dict(sources[name]),
                    remedy="keep one: remove the older packages, or the directory that LD_LIBRARY_PATH adds",
                )
            )
    return found


def _first(sources: dict[str, list[list[str]]]) -> dict[str, str]:
    return {name: rows[0][1] for name, rows in sources.items() if rows}
