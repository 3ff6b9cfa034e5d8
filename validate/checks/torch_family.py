"""Are the packages around PyTorch of one build with it, and for the same GPUs?"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from validate import backends, context, probes, variables
from validate.outcome import fail, passed, skip, warn
from validate.packages import normalise
from validate.probes.family import FAMILY

if TYPE_CHECKING:
    from schema.records import Outcome
    from validate.machine import Machine

SHAPE = {"runtime": str, "torch": dict, "distributions": list, "shared": dict, "imports": dict, "triton_backends": list}
#: Members that a program imports beside torch; each is tried in a process of its own.
MEMBERS = ("torchvision", "torchaudio", "triton")
IMPORT_S = 120
#: NVIDIA's management bindings alone compute nothing, but tools then ask the wrong vendor for power and memory.
BINDINGS = frozenset({"nvidia-ml-py", "pynvml"})
OTHER_LABEL = re.compile(r"\+(cu\d+|cpu)\b")
LABELLED = frozenset({"vllm"})  # whose ROCm builds always say so in their version
EXACT = re.compile(r"^[A-Za-z0-9._-]+ ?\(?===?([^\s,;()]+)\)? ?(?:;(.*))?$")
REMEDY = {
    True: "in the image's recipe: install the family in one step, exact versions, from one index alone (`--index-url`)",
    False: "python3 -m pip uninstall {names}   # then the whole family again, from one index alone (`--index-url`)",
}
LONGEST = 200  # characters of a requirement that is looked at


def gather(machine: Machine, lock: dict[str, Any] | None) -> dict[str, Any]:  # noqa: ARG001 - the interface
    """Read the metadata of the family, and import each member that is installed."""
    torch = backends.torch_about(machine)
    found = probes.ask(machine, "family", 60)
    names = {item["name"] for item in found.get("distributions", [])}
    there = [name for name in MEMBERS if any(name in known for known in names)] if torch.get("version") else []
    return {
        "backend": backends.detect(machine),
        "runtime": context.load(machine)["runtime"],
        "torch": {key: torch.get(key) for key in ("version", "build")},
        "imports": {name: _imported(machine, name) for name in there},
        **found,
    }


def _imported(machine: Machine, name: str) -> str | None:
    """Return why a module cannot be imported, without what only this machine has; None when it can."""
    ran = machine.run([machine.python, "-c", f"import {name}"], IMPORT_S)
    if ran.ok:
        return None
    personal = [machine.env.get(key, "") for key in ("HOME", "USER", "LOGNAME")]
    last = (ran.stderr.strip().splitlines() or [ran.why])[-1] if (ran.code or 0) > 0 else ran.why
    return variables.redact(last[:300], personal)


def judge(facts: dict[str, Any], lock: dict[str, Any] | None) -> list[Outcome]:
    """Judge what is there for another vendor, and where members contradict each other."""
    items = {item["name"]: item for item in facts["distributions"]}
    if "torch" not in items:
        return [skip("torch_family.unlisted", "there is no metadata of a distribution called torch here")]
    found = [*_foreign(facts, items, lock), *_unmet(facts, items), *_shared(facts), *_broken(facts)]
    return found or [passed("torch_family.one_build", {name: item["version"] for name, item in items.items()})]


def _foreign(facts: dict[str, Any], items: dict[str, Any], lock: dict[str, Any] | None) -> list[Outcome]:
    """On a ROCm stack, name what belongs to another. Who wants CUDA or the CPU is not judged."""
    build = facts["torch"]["build"]
    if (lock["torch"]["build"] if lock else build) != "rocm":
        return []
    wrong = [name for name, item in items.items() if OTHER_LABEL.search(item["version"])]
    wrong += ["torch"] if build not in {"rocm", None} and "torch" not in wrong else []
    wrong += [name for name in sorted(LABELLED & items.keys()) if "rocm" not in items[name]["version"]]
    wrong += [name for name in items if name.startswith("nvidia-") and name not in BINDINGS]
    if wrong:
        seen = {name: {"version": items[name]["version"], "required_by": _requirers(name, items)} for name in wrong}
        told = ", ".join(f"{name} {items[name]['version']}" for name in wrong)
        reason = f"the stack is for ROCm, and these are of another build: {told}"
        return [fail("torch_family.foreign", reason, seen=seen, remedy=_remedy(facts, wrong))]
    bindings = sorted(BINDINGS & items.keys())
    reason = f"{', '.join(bindings)}: tools that find NVIDIA's bindings ask them, and not AMD's, for power and memory"
    return [warn("torch_family.bindings", reason, seen=bindings, remedy=_remedy(facts, bindings))] if bindings else []


def _requirers(name: str, items: dict[str, Any]) -> list[str]:
    return sorted(other for other, item in items.items() if name in map(_required, item["requires"]))


def _required(text: str) -> str:
    """Return the name in a requirement."""
    found = re.match(r"\s*([A-Za-z0-9._-]+)", text[:LONGEST])
    return normalise(found[1]) if found else ""


def _unmet(facts: dict[str, Any], items: dict[str, Any]) -> list[Outcome]:
    """Compare exact requirements within the family with what is installed.

    Another public version is another build; another label may be the same sources built again.
    """
    found = []
    for name, item in items.items():
        for text in item["requires"]:
            wanted, match = _required(text), EXACT.match(text[:LONGEST])
            if not match or wanted not in FAMILY & items.keys() or re.search("extra|python_version", match[2] or ""):
                continue
            installed, asked = items[wanted]["version"], match[1]
            if _meets(installed, asked):
                continue
            say = warn if _meets(installed, asked.partition("+")[0]) else fail
            reason = f"{name} {item['version']} is made for {wanted} {asked}, and {wanted} is {installed}"
            remedy = _remedy(facts, [name, wanted])
            found.append(say("torch_family.requirement", reason, seen=installed, expected=asked, remedy=remedy))
    return found


def _meets(installed: str, asked: str) -> bool:
    """Tell whether a version is the one asked for: a local label counts only where it is asked for."""
    if asked.endswith(".*"):
        return f"{installed}.".startswith(asked[:-1])
    return installed == asked or ("+" not in asked and installed.partition("+")[0] == asked)


def _shared(facts: dict[str, Any]) -> list[Outcome]:
    owners = sorted({name for names in facts["shared"].values() for name in names})
    if not owners:
        return []
    reason = f"{' and '.join(owners)} own the same files: whichever was installed last lies there"
    return [fail("torch_family.shared", reason, seen=facts["shared"], remedy=_remedy(facts, owners))]


def _broken(facts: dict[str, Any]) -> list[Outcome]:
    """Judge triton by its content, not its name, which has changed with releases."""
    found = []
    for name, error in sorted(facts["imports"].items()):
        if error:
            reason = f"{name} cannot be imported: {error}"
            found.append(fail("torch_family.import", reason, seen={name: error}, remedy=_remedy(facts, [name])))
    there = facts["triton_backends"]
    if facts["torch"]["build"] == "rocm" and there and "amd" not in there:
        reason = "this triton has no back end for AMD: compiled kernels fail, or fall back"
        found.append(fail("torch_family.triton", reason, seen=there, expected="amd", remedy=_remedy(facts, ["triton"])))
    return found


def _remedy(facts: dict[str, Any], names: list[str]) -> str:
    return REMEDY[facts["runtime"] == "container"].format(names=" ".join(dict.fromkeys(names)))
