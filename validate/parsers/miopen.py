"""Read MIOpen's log (`MIOPEN_LOG_LEVEL=5`) and MIOpenDriver's output."""

from __future__ import annotations

import re
from typing import Any

from validate.parsers.reading import Reading
from validate.parsers.values import gfx, known, lines, number, words

LINE = re.compile(r"MIOpen\((\w{1,20})\): (\w{1,20}) \[([^\]]{0,100})\] ?(.{0,3000})")
MODE = re.compile(r"(MIOPEN_FIND_MODE|MIOPEN_FIND_ENFORCE) = (\w{1,40})\((\d{1,3})\)")
VERSION = re.compile(r"(HIP|MIOpen) version (\d[\w.]{0,60})")
DEVICE = re.compile(r"Raw device name: (\S{1,80})")
BANNER = re.compile(r"(ROCm|MIOpen Driver|AMDGPU Driver|Operating System): ([^;]{1,80})")
BANNER_NAMES = {"ROCm": "hip", "MIOpen Driver": "miopen_driver", "AMDGPU Driver": "driver", "Operating System": "os"}
ENFORCE = re.compile(r"enforce: (\w{1,40})\((\d{1,3})\)")
EXECUTION = re.compile(
    r'Problem="([^"]{1,1000})" Solver="([^"]{1,200})" Config="([^"]{0,1000})" Time=([\d.eE+-]{1,30})'
)


def read(text: str) -> Reading:
    """Return the device's target, versions, and find mode, warnings and solvers in `facts`; times in s.

    The name of the host, which the driver prints, is not kept.
    """
    reading = Reading()
    solvers: list[str] = []
    for line in lines(text):
        match = LINE.match(line)
        if match:
            reading.form = "log"
            _message(reading, match[2], match[3], match[4], solvers)
        elif line.startswith("MIOpenDriver "):
            reading.form = reading.form or "driver"
            reading.facts.setdefault("command", line)
        elif "Host Name:" in line:
            reading.versions.update({BANNER_NAMES[name]: value.strip() for name, value in BANNER.findall(line)})
    if solvers:
        reading.facts["solvers"] = list(dict.fromkeys(solvers))
    return reading


def _message(reading: Reading, level: str, where: str, told: str, solvers: list[str]) -> None:
    mode, device, execution, enforce = (pattern.search(told) for pattern in (MODE, DEVICE, EXECUTION, ENFORCE))
    if device and not reading.devices:
        reading.devices.append({**known({"gfx": gfx(device[1])}), "raw": {"name": device[1]}})
    if mode:
        reading.facts[mode[1].replace("MIOPEN_", "").lower()] = {"name": mode[2], "number": int(mode[3])}
    if enforce:
        reading.facts["find_enforce"] = {"name": enforce[1], "number": int(enforce[2])}
    if where == "HipCompilerVersionImpl" and words(told):
        reading.versions.setdefault("hip", told.strip())
    for name, version in VERSION.findall(told):
        reading.versions[name.lower()] = version
    if where == "FindSolutionImpl" and words(told):
        name = told.partition(" (")[0].strip()
        solvers += [name] if re.fullmatch(r"\w{1,100}", name) else []
    if execution:
        reading.facts.setdefault("executions", []).append(_execution(execution))
        solvers.append(execution[2])
    if level in {"Warning", "Error"}:
        reading.warn(f"MIOpen {level.lower()}: {told.strip()}")


def _execution(match: re.Match[str]) -> dict[str, Any]:
    """Read the summary of a convolution; its time is in milliseconds."""
    spent = number(match[4])
    time = None if spent is None else spent / 1000
    return known({"problem": match[1], "solver": match[2], "config": words(match[3]), "time_s": time})
