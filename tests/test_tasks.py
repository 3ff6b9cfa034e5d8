"""The command line as scripts and people meet it: exit codes, streams, help, errors without a traceback."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from invoke.context import Context

import tasks
from schema.errors import KitError

ROOT = Path(__file__).parent.parent
COMMANDS = [
    "benchmark",
    "build",
    "bundle",
    "card",
    "demo",
    "doctor",
    "fetch",
    "lock",
    "mirror",
    "reproduce",
    "test",
    "validate",
    "verify",
]


def kit(*argv, cwd="/", **environ):
    return subprocess.run(
        [sys.executable, "-X", "utf8", ROOT / "tasks.py", *argv],
        capture_output=True,
        text=True,
        env=os.environ | environ,
        cwd=cwd,
        check=False,
    )


def test_every_command_is_listed_with_a_sentence():
    done = kit("--list")

    listed = [line.split()[0] for line in done.stdout.splitlines() if line.startswith("  ") and line[2] != " "]
    assert (done.returncode, listed) == (0, COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_of_a_command_is_explained(command, monkeypatch):
    spec = importlib.util.spec_from_file_location("fresh_tasks", ROOT / "tasks.py")
    fresh = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, fresh)
    spec.loader.exec_module(fresh)  # Invoke's get_arguments takes the help out of a task: it can be asked once
    task = getattr(fresh, command)

    unexplained = {argument.name for argument in task.get_arguments() if not argument.help}

    assert unexplained == set()
    assert task.__doc__.strip().endswith(".")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_is_help_and_nothing_is_done(command, flag, tmp_path):
    done = kit(command, flag, cwd=tmp_path)

    assert (done.returncode, done.stdout.startswith("Usage: kit")) == (0, True), done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        pytest.param(["nonsense"], "No idea what 'nonsense' is", id="an unknown command"),
        pytest.param(["build", "--nonsense"], "No idea what '--nonsense' is", id="an unknown option"),
        pytest.param(["build", "--rocm"], "needed value", id="an option without its value"),
        pytest.param(["verify"], "did not receive required positional", id="a missing argument"),
        pytest.param(["--help", "nonsense"], "No idea what 'nonsense' is", id="help for an unknown command"),
        pytest.param(["build", "--dry-run", "--rocm", "99"], "no lock for ROCm 99", id="an unknown ROCm version"),
        pytest.param(["build", "--dry-run", "--channel", "moon"], "no moon lock", id="an unknown channel"),
        pytest.param(["build", "--dry-run", "--lock", "moon"], "moon", id="an unknown lock"),
        pytest.param(["lock"], "there is no pin", id="a lock of nothing"),
        pytest.param(["lock", "--pin", "moon"], "there is no pin 'moon'", id="an unknown pin"),
        pytest.param(["verify", "/nowhere"], "/nowhere", id="a bundle that is not there"),
        pytest.param(["card", "/nowhere/README.md", "/nowhere"], "/nowhere", id="a card of a bundle that is not there"),
        pytest.param(["bundle", "--results", "/nowhere"], "/nowhere", id="results that are not there"),
        pytest.param(["validate", "--runtime", "moon"], "no runtime 'moon'", id="an unknown runtime"),
        pytest.param(["benchmark", "--suite", "moon"], "no suite 'moon'", id="an unknown suite"),
        pytest.param(["reproduce", "--suite", "moon"], "no suite 'moon'", id="an unknown suite to reproduce"),
        pytest.param(["benchmark", "--case", "/nowhere.py"], "/nowhere.py", id="no case file for the image"),
        pytest.param(["benchmark", "--runtime", "host", "--case", "/nowhere.py"], "/nowhere.py", id="no case file"),
    ],
)
def test_what_cannot_run_says_why_with_one_next_step_and_exits_2(argv, message):
    done = kit(*argv)

    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\nhint: ") == 1
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_without_an_engine_the_one_remedy_is_told_and_nothing_is_changed():
    done = kit("validate", DOCKER_HOST="unix:///nowhere/docker.sock")

    assert (done.returncode, done.stdout) == (2, "")
    assert "/nowhere/docker.sock" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", ["doctor", "build --dry-run"])
def test_json_is_one_document_on_stdout(command):
    done = kit(*command.split(), "--json")

    assert json.loads(done.stdout)


def test_the_version_is_said_and_is_the_projects():
    with (ROOT / "pyproject.toml").open(encoding="utf-8") as file:
        said = re.search(r'^version = "(.+)"$', file.read(), re.MULTILINE)

    assert kit("--version").stdout == f"kit {said.group(1)}\n"


def test_a_reader_that_goes_away_is_no_success_and_no_traceback():
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} {ROOT}/tasks.py build --help | true; exit ${{PIPESTATUS[0]}}"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode in {0, 141}, done.stderr) == (True, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_under_stdout_is_told():
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, ROOT / "tasks.py", "doctor", "--json"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )

    assert done.returncode == 2
    assert "No space left" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_list_loads_nothing_heavy():
    program = (
        "import sys, tasks\n"
        "from invoke.collection import Collection\n"
        "try:\n    tasks.KitProgram(namespace=Collection.from_module(tasks)).run(['kit', '--list'])\n"
        "except SystemExit:\n    pass\n"
        "print('loaded:', *sorted(sys.modules))"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True)

    listed, _, loaded = done.stdout.partition("loaded:")
    assert "reproduce" in listed
    assert {"docker", "jsonschema", "requests", "torch", "scipy", "matplotlib", "rfc8785"} & set(
        loaded.split()
    ) == set()


@pytest.mark.parametrize(
    ("raised", "code", "words"),
    [
        pytest.param(KitError("no bread", "bake"), 2, "error: no bread\n\nhint: bake", id="a KitError is told"),
        pytest.param(KeyboardInterrupt(), 130, "interrupted", id="Ctrl-C is told"),
        pytest.param(ValueError("x"), 2, "a fault in the kit itself: ValueError: x", id="our own fault is admitted"),
    ],
)
def test_no_error_reaches_a_user_as_a_traceback(raised, code, words):
    def body(_c):
        """Fail."""
        raise raised

    with pytest.raises(tasks.Exit) as ended:
        tasks.command(body)(Context())

    assert (ended.value.code, words in str(ended.value.message)) == (code, True)
