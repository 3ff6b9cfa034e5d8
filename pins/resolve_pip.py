"""Ask pip's resolver which wheels go together for another Python and system than this one; nothing is downloaded."""

from __future__ import annotations

import ast
import json
import os
import re
import sys
import zipfile
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from pins import process
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pins.resolve_target import Target

TIMEOUT_S = 1800
PRESENT = "present"  # in the version of a distribution that is in the image already: no index has such
UPGRADE = "upgrade it: .venv/bin/python -m pip install --upgrade pip"
# What of this machine's settings says where the everyday index is, and how to get there. All else could change the
# answer: a second index, a folder of wheels, a constraint.
WAY = re.compile(r"(global|install|:env:)\.(index-url|cert|client-cert|proxy|trusted-host|keyring-provider)=(.+)")
CAUSE = re.compile(r"^The conflict is caused by:\n(.+?)\n\n", re.MULTILINE | re.DOTALL)
# pip asks the running Python about markers, whatever --python-version says.
PROGRAM = """\
import json, sys
from pip._vendor.packaging import markers
target = json.loads(sys.argv.pop(1))
markers.default_environment = lambda: dict(target)
from pip._internal.cli.main import main
sys.exit(main())
"""


def solve(wanted: Sequence[str], present: Mapping[str, str], target: Target, folder: Path) -> list[dict[str, Any]]:
    """Return pip's answer for each wheel that `wanted` takes beside the distributions `present` (name to version).

    Those are kept: pip sees each as the only version that there is. `folder` is for files of ours. KitError, in pip's
    words, where the everyday index has no such wheels, or none that agree.
    """
    for name, version in present.items():
        _empty_wheel(name, marked(version), folder)
    (folder / "wanted.txt").write_text("".join(f"{item}\n" for item in wanted))
    (folder / "present.txt").write_text("".join(f"{name}=={marked(text)}\n" for name, text in present.items()))
    report = folder / "report.json"
    options = ["install", "--dry-run", "--ignore-installed", "--no-input", "--disable-pip-version-check"]
    options += [f"--report={report}", f"--target={folder / 'nowhere'}", f"--find-links={folder}"]
    options += [f"--python-version={target.release}", "--only-binary=:all:"]
    options += [f"--platform={platform}" for platform in target.platforms()]
    options += [f"--constraint={folder / 'present.txt'}", f"--requirement={folder / 'wanted.txt'}"]
    argv = [sys.executable, "-I", "-c", PROGRAM, json.dumps(target.markers()), *options]
    done = process.run(argv, timeout_s=TIMEOUT_S, env=_environment(folder), cwd=folder)
    if done.code:
        raise _unsolved(done, wanted, target)
    answer = json.loads(report.read_text(encoding="utf-8"))
    if answer["environment"]["python_full_version"] != target.markers()["python_full_version"]:
        raise KitError("this pip cannot resolve for another Python than its own", UPGRADE)
    return [_entry(item) for item in answer["install"] if normal(item["metadata"]["name"]) not in present]


def normal(name: str) -> str:
    """Return a project's name as indexes compare it: Jinja2 and jinja-2 are not one, foo_bar and Foo.Bar are."""
    return re.sub(r"[-_.]+", "-", name).lower()


def marked(version: str) -> str:
    """Return the version under which pip is shown what is there: 2.6.0 becomes 2.6.0+present."""
    return f"{version}{'.' if '+' in version else '+'}{PRESENT}"


def _empty_wheel(name: str, version: str, folder: Path) -> None:
    """Write a wheel of nothing that needs nothing: what is in the image was resolved by its distribution."""
    stem = f"{name.replace('-', '_')}-{version}"
    with zipfile.ZipFile(folder / f"{stem}-py3-none-any.whl", "w") as archive:
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        archive.writestr(f"{stem}.dist-info/METADATA", metadata)
        archive.writestr(f"{stem}.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{stem}.dist-info/RECORD", "")


def _environment(folder: Path) -> dict[str, str]:
    """Return the environment for pip: one index, this machine's everyday one, and the way to it."""
    done = process.run([sys.executable, "-I", "-m", "pip", "config", "list"], timeout_s=60, cwd=folder)
    found = [match for line in done.stdout.splitlines() if (match := WAY.fullmatch(line))]
    order = {"global": 0, "install": 1, ":env:": 2}  # pip's own: the later wins
    way = {
        f"PIP_{match[2].upper().replace('-', '_')}": str(ast.literal_eval(match[3]))
        for match in sorted(found, key=lambda match: order[match[1]])
    }
    plain = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    return plain | way | {"PIP_CONFIG_FILE": os.devnull}


def _unsolved(done: process.Done, wanted: Sequence[str], target: Target) -> KitError:
    """Return the error in pip's words: what failed stands on its stderr, what caused a conflict on its stdout."""
    if "no such option" in done.stderr:
        return KitError("this pip is too old to resolve for another Python than its own", UPGRADE)
    said = " ".join(line[7:] for line in done.stderr.splitlines() if line.startswith("ERROR: "))
    if cause := CAUSE.search(done.stdout):
        said = "; ".join(line.strip() for line in cause[1].splitlines() if line.strip())
    return KitError(
        f"the index has no wheels for {', '.join(wanted)} on Python {target.release}, Linux x86-64: {said[:1500]}",
        "correct `wheels` in the pin; no other index is asked, and nothing is built from source",
    )


def _entry(item: dict[str, Any]) -> dict[str, Any]:
    """Return one wheel as a lock lists it; KitError where the index gives no sha256 for it."""
    download, metadata = item["download_info"], item["metadata"]
    file = unquote(urlsplit(download["url"]).path).rpartition("/")[2]
    hashes = download.get("archive_info", {}).get("hashes", {})
    if "sha256" not in hashes:
        raise KitError(f"the index gives no sha256 for {file}", "take another version, or record one that is published")
    return {
        "name": normal(metadata["name"]),
        "version": metadata["version"],
        "file": file,
        "index": "pypi",
        "sha256": hashes["sha256"],
        "size": None,
        "url": download["url"],
    }
