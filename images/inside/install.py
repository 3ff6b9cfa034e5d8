"""Install the packages and wheels of a plan, as the lock says and without any network."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from images.inside import steps

if TYPE_CHECKING:
    from pathlib import Path

QUERY_S, COMPILE_S = 60, 3600
PARTS = 8  # what a process compiled before leaves its mark in byte code: the parts are fixed, whatever the CPUs
PIP = ["-m", "pip", "install", "--no-index", "--no-deps", "--require-hashes", "--no-compile", "--ignore-installed"]
#: Unpacking dozens of packages is no place for a power cut; a package's own files replace changed ones, as it says.
DPKG = ["dpkg", "--force-unsafe-io", "--force-confnew"]


def debs(folder: Path, wanted: list[dict[str, str]]) -> None:
    """Unpack all, then set all up; SystemExit unless dpkg then has each in its exact version."""
    steps.must([*DPKG, "--unpack", *(str(folder / item["file"]) for item in wanted)])
    steps.must([*DPKG, "--configure", "--pending"])
    names = [item["name"] for item in wanted]
    query = ["dpkg-query", "--show", "--showformat", "${db:Status-Abbrev}\t${Package}\t${Version}\n", *names]
    there = {tuple(line.split("\t")) for line in steps.ask(query, QUERY_S).stdout.splitlines()}
    missing = [item["name"] for item in wanted if ("ii ", item["name"], item["version"]) not in there]
    if missing:
        raise SystemExit(f"dpkg does not have these as the lock does: {' '.join(missing)}")


def wheels(folder: Path, venv: Path, requirements: Path) -> None:
    """Install wheels into a new environment on top of the image's own Python packages, none of which changes.

    SystemExit when the environment is there already, and where a path of this build would stay in it.
    """
    if venv.exists():
        raise SystemExit(f"{venv} is there already: another environment of Python's")
    plain = ["--without-pip"] if importlib.util.find_spec("pip") else []
    steps.must([sys.executable, "-m", "venv", "--system-site-packages", *plain, str(venv)])
    python = str(venv / "bin" / "python3")
    packages = next(venv.glob("lib/python3*/site-packages"))
    if sys.prefix != sys.base_prefix:
        # The image's own Python is such an environment, too: ours would stand beside it, not on top of it.
        parent = sysconfig.get_path("purelib")
        (packages / "_image.pth").write_text(f"import site; site.addsitedir({parent!r})\n", encoding="utf-8")
    steps.must([python, *PIP, f"--find-links={folder}", f"--requirement={requirements}"])
    if not plain and not re.search(r"^pip==", requirements.read_text(encoding="utf-8"), re.MULTILINE):
        # it came with the environment, to install the rest: no lock names it, so it has no business in the image
        steps.must([python, "-m", "pip", "uninstall", "--quiet", "--yes", "pip"])
    _refuse_leftovers(packages, venv / "bin", str(folder.parent).encode())
    _compile(python, venv, folder.parent)


def _refuse_leftovers(packages: Path, programs: Path, here: bytes) -> None:
    found = [str(path) for path in packages.glob("*.dist-info/direct_url.json")]
    texts = [*packages.glob("*.dist-info/RECORD"), *(path for path in programs.iterdir() if path.is_file())]
    for path in texts:
        data = path.read_bytes() if path.stat().st_size < 8 << 20 else b""
        if here + b"/" in data or b"file://" in data:
            found.append(str(path))
    if found:
        raise SystemExit(f"paths of this build would stay in the image: {' '.join(found[:10])}")


def _compile(python: str, venv: Path, folder: Path) -> None:
    """Compile to byte code that depends on sources alone; 1 is what compileall ends with for tests of parsers."""
    sources = sorted(os.fsencode(path) for path in venv.rglob("*.py"))
    lists = []
    for part in range(PARTS):
        path = folder / f"sources-{part}"
        path.write_bytes(b"".join(line + b"\n" for line in sources[part::PARTS]))
        lists.append(str(path))
    argv = [python, "-m", "compileall", "-q", "-f", "--invalidation-mode", "unchecked-hash", "-i"]
    with ThreadPoolExecutor(min(PARTS, os.cpu_count() or 1)) as pool:
        codes = list(pool.map(lambda path: steps.ask([*argv, path], COMPILE_S).code, lists))
    if not set(codes) <= {0, 1}:
        raise SystemExit(f"compiling byte code ended with {max(codes, key=abs)}")


def environment(epoch: int, folder: Path) -> dict[str, str]:
    """Return the variables under which everything is installed: no settings of pip's but ours, fixed seeds."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "PYTHON"))}
    return {
        **kept,
        "SOURCE_DATE_EPOCH": str(epoch),
        "HOME": str(folder / "home"),
        "TMPDIR": str(folder / "tmp"),
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "DEBIAN_FRONTEND": "noninteractive",
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PIP_CONFIG_FILE": "/dev/null",
        "PIP_NO_INPUT": "1",
        "PIP_NO_CACHE_DIR": "1",
        "PIP_ROOT_USER_ACTION": "ignore",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }
