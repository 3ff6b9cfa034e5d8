"""Say whether a ROCm, a PyTorch, a Python, a system, a GPU and its driver go together, by dated tables with sources."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any

from pins.compat_aspects import JUDGES, Aspect, releases, same
from schema import facts
from schema.errors import KitError

VERDICTS = ("amd_supported", "upstream_wheel", "unverified", "refused")  # from the best to the worst
MEANING = {
    "amd_supported": "AMD lists it",
    "upstream_wheel": "PyTorch publishes wheels for it; AMD does not list the pair",
    "unverified": "no list of ours has all of it, which does not mean that it fails",
    "refused": "a list of ours says that it cannot work",
}
SHAPES = {  # what is asked: how it is written, and an example
    "rocm": (r"\d+(\.\d+){0,2}", "6.4"),
    "pytorch": (r"\d+\.\d+(\.\d+)?", "2.8"),
    "python": (r"\d+\.\d+(\.\d+)?", "3.12"),
    "os": (r"[A-Za-z]+[ -]?\d+[A-Za-z0-9. -]*", "'ubuntu 24.04'"),
    "gfx": (r"gfx[0-9a-f]+(:\S+)*", "gfx942"),
    "driver": (r"\d+\.\d+[\d.x-]*", "6.12.12, as /sys/module/amdgpu/version has it, or a release: 30.10"),
}


@dataclass(frozen=True)
class Verdict:
    """One of VERDICTS for the ROCm releases for which it is reached; the aspects are those of the newest of them."""

    verdict: str
    releases: tuple[str, ...]
    aspects: tuple[Aspect, ...]

    def document(self) -> dict[str, Any]:
        """Return it as JSON types."""
        aspects = [{key: value for key, value in asdict(item).items() if key != "upstream"} for item in self.aspects]
        asked = {item.aspect: item.asked for item in self.aspects}
        return {"asked": asked, "verdict": self.verdict, "releases": list(self.releases), "aspects": aspects}


def judge(**asked: str) -> Verdict:
    """Return the verdict for what is asked: any of `SHAPES`, empty or left out where it is not.

    Where several ROCm releases fit, the best that any of them reaches counts. KitError for what is not a version.
    """
    wanted = {name: _written(name, text) for name, text in asked.items() if text.strip()}
    if not wanted:
        raise KitError("nothing is asked", "name any of --rocm, --pytorch, --python, --os, --gfx, --driver")
    return _best(wanted)


def of_lock(lock: dict[str, Any], **host: str) -> Verdict:
    """Return the verdict for what a lock holds, on a host (`os`, `gfx`, `driver`) where one is given."""
    torch = lock["torch"]
    asked = {"pytorch": torch["version"], "python": lock["python"]}
    if torch["build"] == "rocm":
        return _best({"rocm": lock["rocm"], **asked} | {name: text for name, text in host.items() if text})
    published = torch["build"] == "cuda" and any(item["name"] == "torch" for item in lock["wheels"])
    reason = "PyTorch publishes it" if published else "the distribution's own build, which computes on the CPU"
    python = _best(asked).aspects[-1]
    build = Aspect("pytorch", torch["version"], "yes" if published else "unknown", reason, python.sources, python.date)
    verdict = "refused" if python.holds == "no" else "upstream_wheel" if published else "unverified"
    return Verdict(verdict, (), (build, python))


def _best(wanted: dict[str, str]) -> Verdict:
    table = facts.load("compat")["releases"]
    rows = [row for row in table if "rocm" not in wanted or any(same(wanted["rocm"], one) for one in releases(row))]
    answers = [_judge_row(row, wanted) for row in rows] or [_judge_row({"rocm": wanted.get("rocm", "")}, wanted)]
    best = min(answers, key=lambda answer: VERDICTS.index(answer.verdict))
    reached = (name for answer in answers if answer.verdict == best.verdict for name in answer.releases)
    return Verdict(best.verdict, tuple(reached), best.aspects)


def _judge_row(row: dict[str, Any], wanted: dict[str, str]) -> Verdict:
    aspects = [JUDGES[name](row, wanted) for name in SHAPES if name in wanted]
    holds = {item.holds for item in aspects}
    verdict = "refused" if "no" in holds else "unverified" if "unknown" in holds else "amd_supported"
    if verdict == "amd_supported" and any(item.upstream for item in aspects):
        verdict = "upstream_wheel"
    return Verdict(verdict, (row["rocm"],), tuple(aspects))


def _written(name: str, text: str) -> str:
    shape, example = SHAPES[name]
    text = text.strip()
    if not re.fullmatch(shape, text):
        raise KitError(f"--{name} {text!r} is not understood", f"write it like this: --{name} {example}")
    return text
