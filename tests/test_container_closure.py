"""What travels into an image runs there: on every Python from 3.9 to 3.13, with the cargo's files and nothing else.

Container code is not type-checked for its dialect: it is run. The interpreters are those found on this machine.
"""

import json
import shutil
import subprocess
import sys

import pytest

from schema import sources, stream
from schema.documents import problems, validator
from tests.pythons import found

FOUND = found((3, 9), (3, 13))
every_python = pytest.mark.parametrize("python", FOUND.values(), ids=FOUND.keys())


@pytest.fixture(scope="module")
def cargo(tmp_path_factory):
    """A folder with the files of the cargo alone."""
    folder = tmp_path_factory.mktemp("kit")
    for name in sources.files():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(sources.ROOT / name, folder / name)
    return folder


def run(python, cargo, *argv):
    """Run with nothing of ours around: no site packages (-S leaves the standard library), no variables."""
    env = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(cargo), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONNOUSERSITE": "1"}
    return subprocess.run(
        [python, "-S", "-W", "error", *argv],
        cwd=cargo,
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_the_interpreters_are_told(record_property, capsys):
    with capsys.disabled():
        print(f"\ncontainer dialect runs on: {', '.join(FOUND) or 'none found'}")
    record_property("interpreters", list(FOUND))

    assert FOUND


@every_python
def test_every_module_of_the_cargo_is_imported(python, cargo):
    modules = [
        name[:-3].replace("/", ".").removesuffix(".__init__") for name in sources.files() if name.endswith(".py")
    ]
    names = [name for name in modules if not name.endswith("__main__")]
    code = f"import importlib\nfor name in {names!r}: importlib.import_module(name)"

    done = run(python, cargo, "-c", code)

    assert (done.returncode, done.stderr) == (0, "")


@every_python
def test_validation_runs_and_gives_a_whole_report(python, cargo):
    """Without torch: its absence is a finding, and the rest goes on."""
    done = run(python, cargo, "-m", "validate")
    records = list(stream.read(done.stdout.splitlines()))

    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    assert problems(records[0], validator("report-1", "#/$defs/start")) == []
    findings = {record["code"]: record for record in records if record["kind"] == "finding"}
    assert findings["torch_build.import"]["status"] == "fail"
    assert [code for code, finding in findings.items() if finding["status"] == "error"] == []
    assert records[0]["cargo_sha256"] == sources.digest()


@every_python
def test_every_interpreter_judges_alike(python, cargo):
    """Facts written by one Python are judged by another when a stranger verifies."""
    lines = run(sys.executable, cargo, "-m", "validate").stdout.splitlines()
    (cargo / "facts.json").write_text(json.dumps([json.loads(line) for line in lines]))
    code = (
        "import json, pathlib; from validate.checking import judge_again;"
        "records = json.loads(pathlib.Path('facts.json').read_text(encoding='utf-8'));"
        "print(json.dumps(judge_again([r for r in records if r['kind'] == 'facts'], None)))"
    )

    done = run(python, cargo, "-c", code)

    assert json.loads(done.stdout) == [json.loads(line) for line in lines if '"kind":"finding"' in line]


@every_python
def test_arguments_are_checked_and_the_checks_are_listed(python, cargo):
    listed, refused = (
        run(python, cargo, "-m", "validate", "--list"),
        run(python, cargo, "-m", "validate", "--only", "nothing"),
    )

    assert (listed.returncode, "device_nodes" in listed.stdout) == (0, True)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "invalid choice" in refused.stderr


@every_python
def test_one_check_alone_that_does_not_apply_is_not_a_pass(python, cargo):
    done = run(python, cargo, "-m", "validate", "--only", "groups")

    assert done.returncode == 2
    assert [r["status"] for r in stream.read(done.stdout.splitlines()) if r["kind"] == "finding"] == ["skip"]


@every_python
def test_a_lock_that_cannot_be_read_is_said_without_a_traceback(python, cargo):
    done = run(python, cargo, "-m", "validate", "--lock", "nowhere.json")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: cannot read the lock nowhere.json")
    assert "hint: " in done.stderr


@every_python
def test_the_benchmarks_name_their_options(python, cargo):
    if not (cargo / "benchmarks/__main__.py").exists():
        pytest.skip("there is no benchmarks package yet")

    done = run(python, cargo, "-m", "benchmarks", "--help")

    assert (done.returncode, "--suite" in done.stdout + done.stderr) == (0, True)
