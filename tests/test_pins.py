"""`./kit pins` as a person and a program call it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def run(*options):
    argv = [sys.executable, str(ROOT / "tasks.py"), "pins", *options]
    return subprocess.run(argv, capture_output=True, text=True, check=False, cwd=ROOT)


def test_the_table_marks_the_one_lock_that_would_be_used():
    done = run()
    rows = json.loads(run("--json").stdout)

    used = [row["name"] for row in rows if row["used_here"]]
    assert (done.returncode, len(used)) == (0, 1)
    assert f"*  {used[0]} " in done.stdout
    assert "would be used here: " in done.stderr
    assert {"rocm", "channel", "pytorch", "python", "gfx", "status", "size", "support", "name", "note"} <= set(rows[0])


ANSWERS = {  # sentence: (options, exit code, words)
    "AMD lists it": (["--rocm", "6.4", "--pytorch", "2.6"], 0, "amd_supported (ROCm 6.4.3, 6.4.2, 6.4.1, 6.4.0): "),
    "PyTorch publishes wheels": (["--rocm", "6.4", "--pytorch", "2.8"], 0, "upstream_wheel"),
    "nobody says": (["--rocm", "10.0", "--pytorch", "2.13"], 0, "unverified"),
    "refused": (["--rocm", "5.7", "--gfx", "gfx942"], 1, "no       gfx gfx942: "),
    "all that can be asked": (
        ["--rocm=6.4", "--pytorch=2.6", "--python=3.12", "--os=ubuntu 24.04", "--gfx=gfx1100", "--driver=6.12.12"],
        0,
        "[1] AMD docs",
    ),
}


@pytest.mark.parametrize(("options", "code", "words"), ANSWERS.values(), ids=ANSWERS)
def test_a_verdict_for_people(options, code, words):
    done = run(*options)

    assert (done.returncode, done.stderr) == (code, "")
    assert words in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 120


def test_a_verdict_for_programs():
    done = run("--rocm", "5.7", "--gfx", "gfx942", "--json")
    found = json.loads(done.stdout)

    assert done.returncode == 1
    assert (found["verdict"], found["releases"]) == ("refused", ["5.7.0/5.7.1"])
    assert [(item["aspect"], item["holds"]) for item in found["aspects"]] == [("rocm", "yes"), ("gfx", "no")]
    assert all(item["sources"] and item["date"] for item in found["aspects"])


def test_what_is_not_a_version_is_refused_with_an_example():
    done = run("--rocm", "latest")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: --rocm 'latest' is not understood\n\nhint: write it like this: --rocm 6.4\n"
