"""Read hipconfig, of the Perl script until 5.x and the program since 6.0."""

from __future__ import annotations

import re

from validate.parsers.reading import Reading
from validate.parsers.values import lines, words

VERSION = re.compile(r"HIP version\s{0,8}:\s{0,8}(\S{1,80})")
KEY = re.compile(r"([A-Z][A-Z_]{1,40}|Target|Thread model|InstalledDir)\s{0,40}:(.{0,4000})")
CLANG = re.compile(r"(?:AMD )?clang version (\S{1,60})")
ALONE = re.compile(r"\d{1,3}\.\d{1,3}\.\d{1,6}(-\w{1,40})?")


def read(text: str) -> Reading:
    """Return the versions (`hip` is a build of HIP, not ROCm's version) and `facts["paths"]` as printed."""
    reading = Reading()
    for line in (line.strip() for line in lines(text)):
        version, key, clang = VERSION.match(line), KEY.match(line), CLANG.match(line)
        if version:
            reading.versions["hip"] = version[1]
        elif clang:
            reading.versions["clang"] = clang[1]
        elif key and words(key[2]):
            reading.facts.setdefault("paths", {})[key[1]] = words(key[2])
        elif ALONE.fullmatch(line):  # `hipconfig --version`
            reading.versions.setdefault("hip", line)
        elif "Can't exec" in line or "No such file" in line:
            reading.warn(line)
    reading.form = "hipconfig" if "hip" in reading.versions or "HIP_PATH" in reading.facts.get("paths", {}) else ""
    return reading
