"""The Python interpreters of this machine."""

import glob
import os
import re
import subprocess
import sys
from pathlib import Path

PLACES = (
    "~/.pyenv/versions/*/bin/python3",
    "/usr/bin/python3.*",
    "/usr/local/bin/python3.*",
    "/opt/python/*/bin/python3",
)


def found(oldest, newest):
    """Return one interpreter a version, `3.9` -> path, oldest first, within the range of (major, minor)."""
    paths = [path for place in PLACES for path in sorted(glob.glob(os.path.expanduser(place)))]  # noqa: PTH111, PTH207
    versions = {}
    for path in [*paths, sys.executable]:
        if not re.fullmatch(r"python[\d.]*", Path(path).name):
            continue
        told = subprocess.run(
            [path, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True, text=True, check=False
        )
        version = tuple(int(part) for part in told.stdout.split()) if told.returncode == 0 else ()
        if oldest <= version <= newest:
            versions[".".join(map(str, version))] = path
    return dict(sorted(versions.items(), key=lambda item: int(item[0].split(".")[1])))
