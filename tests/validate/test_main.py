"""The command line of the checks: records on stdout, and on a host the findings on stderr as well."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from schema import sources

TOLD = " groups."


def run(*argv, root=sources.ROOT):
    done = subprocess.run(
        [sys.executable, "-B", "-m", "validate", "--only", "groups", *argv],
        cwd=root,
        env={**os.environ, "PYTHONPATH": ""},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.stdout, done.stderr


@pytest.fixture
def cargo(tmp_path):
    """The packages as they lie in a container, with what the host hands over."""
    for name in ("schema", "validate"):
        shutil.copytree(Path(sources.ROOT) / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "context.json").write_text(json.dumps({"runtime": "container", "backend": "cpu"}))
    return tmp_path


def test_findings_are_told_on_stderr_too():
    out, err = run()

    assert TOLD in err
    assert '"code":"groups.' in out


def test_a_reader_of_the_records_can_have_it_quiet():
    out, err = run("--quiet")

    assert (err, '"code":"groups.' in out) == ("", True)


def test_in_a_container_the_host_tells_them(cargo):
    out, err = run(root=cargo)

    assert (err, '"code":"groups.' in out) == ("", True)
