"""The command line as scripts and people meet it: exit codes, streams, help, errors without a traceback."""

import importlib.util
import json
import os
import pty
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest
from invoke.context import Context
from invoke.exceptions import Exit

from commands.files import alone_in
from commands.options import command
from schema.errors import KitError
from tests.bundle import fakes_bundle
from tests.world import told

ROOT = Path(__file__).parent.parent
COMMANDS = [
    "bench-self",
    "benchmark",
    "build",
    "bundle",
    "card",
    "conformance",
    "demo",
    "doctor",
    "fetch",
    "folklore",
    "inspect",
    "lock",
    "mirror",
    "pins",
    "push",
    "reproduce",
    "sweep",
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


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_of_a_command_is_explained(name, monkeypatch):
    spec = importlib.util.spec_from_file_location("fresh_tasks", ROOT / "tasks.py")
    fresh = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, fresh)
    spec.loader.exec_module(fresh)  # Invoke's get_arguments takes the help out of a task: it can be asked once
    task = getattr(fresh, name.replace("-", "_"))

    unexplained = {argument.name for argument in task.get_arguments() if not argument.help}

    assert unexplained == set()
    assert task.__doc__.strip().endswith(".")


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_is_help_and_nothing_is_done(name, flag, tmp_path):
    done = kit(name, flag, cwd=tmp_path)

    assert (done.returncode, done.stdout.startswith(f"Usage: ./kit {name} ")) == (0, True), done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("argv", "hint"),
    [
        (["benchmrk"], "did you mean benchmark?"),
        (["build", "--chanel", "amd"], "did you mean --channel?"),
        (["push", "x", "--dry-run"], "./kit --list shows the commands"),  # build has it
        (["verify"], "./kit verify PATH [options]"),
        (["card", "README.md"], "./kit card CARD BUNDLE [options]"),
        (["xyz"], "./kit --list shows the commands"),
        (["benchmark", "--only", "matmull"], "cases here: "),
        (["benchmark", "--only"], "./kit --list shows the commands"),
    ],
    ids=" ".join,
)
def test_who_mistypes_is_told_what_was_meant(argv, hint):
    done = kit(*argv)

    told(done, 2, f"hint: {hint}")
    assert "<Argument" not in done.stderr


def test_help_says_how_a_command_is_called_and_what_is_taken_when_nothing_is_said():
    assert kit("verify", "--help").stdout.startswith("Usage: ./kit verify PATH [options]\n")
    assert "--path" not in kit("verify", "--help").stdout
    assert "default: quick" in kit("benchmark", "--help").stdout


def test_a_case_with_a_mistake_of_syntax_is_told_before_anything_is_waited_for(tmp_path):
    (tmp_path / "own.py").write_text("GROUP = 'memory'\ndef work(p:\n", encoding="utf-8")

    told(kit("benchmark", "--case", str(tmp_path / "own.py"), DOCKER_HOST="unix:///nowhere"), 2, "own.py:2")


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
        pytest.param(["verify", ""], "path is empty", id="a bundle without a name"),
        pytest.param(["mirror", ""], "folder is empty", id="a folder without a name"),
        pytest.param(["card", "README.md", ""], "bundle is empty", id="a card of a bundle without a name"),
        pytest.param(["benchmark", "--case", "/dev/zero"], "/dev/zero: it is no regular file", id="a device as a case"),
        pytest.param(["validate", "--runtime", "moon"], "no runtime 'moon'", id="an unknown runtime"),
        pytest.param(["build", "--runtime", "host"], "no runtime 'host'", id="a runtime that builds nothing"),
        pytest.param(["validate", "--runtime", "apptainer"], "not from here", id="Apptainer without its dry run"),
        pytest.param(
            ["validate", "--runtime", "apptainer", "--dry-run", "--memory", "1g"],
            "for engines",
            id="more than Apptainer can",
        ),
        pytest.param(
            ["validate", "--runtime", "host", "--gpus", "0"], "for containers", id="a container's option on the host"
        ),
        pytest.param(["sweep"], "not several locks", id="a sweep of nothing"),
        pytest.param(["sweep", "--locks", "a"], "not several locks", id="a sweep of one lock"),
        pytest.param(["sweep", "--locks", "a,"], "not several locks", id="a sweep of a lock and nothing"),
        pytest.param(["sweep", "--locks", "moon,sun"], "moon", id="a sweep of an unknown lock"),
        pytest.param(["sweep", "--suite", "moon"], "no suite 'moon'", id="a sweep of an unknown suite"),
        pytest.param(["sweep", "--only", "moon"], "no case moon", id="a sweep of an unknown case"),
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


@pytest.mark.parametrize("argv", [["verify"], ["build", "--lock"], ["lock", "--pin"], ["fetch", "--rocm"]])
def test_nothing_that_was_asked_for_is_obeyed_by_a_terminal(argv):
    done = kit(*argv, "a\x1b]0;title\x07\x1b[2J\u202ebad")

    assert done.returncode == 2
    assert not any(char in done.stderr for char in "\x1b\x07\u202e")


def test_without_an_engine_the_one_remedy_is_told_and_nothing_is_changed():
    done = kit("validate", DOCKER_HOST="unix:///nowhere/docker.sock")

    assert (done.returncode, done.stdout) == (2, "")
    assert "/nowhere/docker.sock" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("line", ["doctor", "build --dry-run"])
def test_json_is_one_document_on_stdout(line):
    done = kit(*line.split(), "--json")

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
@pytest.mark.parametrize("line", ["doctor --json", "doctor", "--list", "build --help", "--version", "demo"])
def test_a_full_disk_under_stdout_is_told(line):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, ROOT / "tasks.py", *line.split()],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )

    assert done.returncode == 2
    assert done.stderr.count("No space left") == 1
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize(("line", "code"), [("verify /nowhere", 2), ("build --dry-run", 0), ("nonsense", 2)])
def test_a_full_disk_under_stderr_changes_no_answer(line, code):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, ROOT / "tasks.py", *line.split()], stdout=subprocess.PIPE, stderr=full, check=False
        )

    assert (done.returncode, bool(done.stdout)) == (code, code == 0)


@pytest.mark.parametrize(
    "environ",
    [
        {"HOME": "/etc/passwd"},
        {"HOME": "/dev/null"},
        {"INVOKE_RUNTIME_CONFIG": "/etc/passwd"},
        {"INVOKE_DEBUG": "1"},
        {"INVOKE_TASKS_COLLECTION_NAME": "x"},
    ],
    ids=" ".join,
)
def test_what_invoke_would_read_elsewhere_is_nothing_to_us(environ):
    done = kit("build", "--dry-run", "--json", **environ)

    assert (done.returncode, json.loads(done.stdout)["lock"]) == (0, "debian13-hip5.7-torch2.6cpu"), done.stderr


@pytest.mark.parametrize(("closed", "code"), [(">&-", 2), ("2>&-", 0), ("<&-", 0), (">&- 2>&-", 2), ("<&- 2>&-", 0)])
def test_a_closed_stream_is_not_taken_by_a_file(closed, code):
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} {ROOT}/tasks.py build --dry-run --json {closed}"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, bool(done.stdout)) == (code, code == 0), done.stderr
    assert ("stdout is closed" in done.stderr) == (code == 2 and "2>&-" not in closed)
    assert "Traceback" not in done.stderr


def until_hung_up(terminal):
    """Yield what is written to a terminal, until nobody holds its other end any more."""
    with suppress(OSError):
        while piece := os.read(terminal, 1 << 16):
            yield piece


@pytest.mark.parametrize("columns", [1, 20, 200])
def test_help_fits_a_terminal_of_any_width(columns):
    here, there = pty.openpty()
    program = f"stty cols {columns} <&0; exec {sys.executable} {ROOT}/tasks.py --list"
    child = subprocess.Popen(["bash", "-c", program], stdin=there, stdout=there, stderr=subprocess.PIPE)
    os.close(there)
    said = b"".join(until_hung_up(here))

    assert (child.wait(), child.stderr.read()) == (0, b"")
    assert all(name in said.decode() for name in COMMANDS)
    child.stderr.close()
    os.close(here)


#: From the first line of ours on: before it the interpreter itself starts, and ends on Ctrl-C in words of its own.
FROM_THE_START = (
    "import runpy, signal, sys\nsignal.signal(signal.SIGINT, signal.SIG_DFL)\nprint('ready', flush=True)\n"
    "sys.argv[:] = sys.argv[1:]\nrunpy.run_path(sys.argv[0], run_name='__main__')"
)


CLEARING = """
import sys, time
from commands import program
def slow():
    try:
        print("working", flush=True)
        time.sleep(30)
    finally:
        print("clearing", flush=True)
        time.sleep(0.5)
        print("cleared", flush=True)
import types
from commands.options import command
module = types.ModuleType("module")
module.slow = command(slow)
sys.argv = ["kit", "slow"]
program.main(module)
"""


@pytest.mark.parametrize("first", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("second", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_second_signal_disturbs_no_clearing(first, second):
    child = subprocess.Popen(
        [sys.executable, "-c", CLEARING], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout.readline() == "working\n"
    child.send_signal(first)
    assert child.stdout.readline() == "clearing\n"
    child.send_signal(second)
    said = child.communicate(timeout=30)

    assert (said[0], child.returncode) == ("cleared\n", 128 + first)
    assert "Traceback" not in said[1]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("after_s", [0.0, 0.05, 0.15, 0.4])
def test_a_signal_at_any_time_ends_a_command_without_a_traceback(number, after_s, tmp_path):
    with alone_in(tmp_path / "host"):
        child = subprocess.Popen(
            [sys.executable, "-X", "utf8", "-c", FROM_THE_START, ROOT / "tasks.py", "bundle", "--results", "/nowhere"],
            env=os.environ | {"KIT_OUT": str(tmp_path), "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert child.stdout.readline() == "ready\n"
        time.sleep(after_s)
        child.send_signal(number)
        said = child.communicate(timeout=30)

    assert child.returncode in {128 + number, -number}
    assert said[0] == ""
    assert "Traceback" not in said[1]


def test_a_command_that_ignores_hang_ups_goes_on_ignoring_them():
    program = (
        "import signal, sys\nsignal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
        "import tasks\nsys.argv = ['kit', '--version']\n"
        "try:\n    tasks.main(tasks)\nfinally:\n    print(signal.getsignal(signal.SIGHUP) is signal.SIG_IGN)"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True)

    assert done.stdout.splitlines()[-1] == "True"


def test_two_commands_in_one_folder_work_one_after_the_other(tmp_path):
    order = []

    def second():
        with alone_in(tmp_path / "one"):
            order.append("second")

    with alone_in(tmp_path / "one"), alone_in(tmp_path / "two"):
        waiting = threading.Thread(target=second)
        waiting.start()
        time.sleep(0.2)
        order.append("first")
    waiting.join()

    assert order == ["first", "second"]


def test_the_lock_of_a_command_that_was_killed_holds_nobody_up(tmp_path):
    program = f"import os\nfrom pathlib import Path\nfrom commands.files import alone_in\nwith alone_in(Path({str(tmp_path / 'one')!r})):\n    os.kill(os.getpid(), 9)"  # noqa: E501

    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=False).returncode == -signal.SIGKILL

    with alone_in(tmp_path / "one"):
        assert (tmp_path / ".one.lock").exists()


def test_a_folder_that_cannot_be_worked_in_is_told(tmp_path):
    (tmp_path / "file").write_bytes(b"")

    done = kit("bundle", "--results", "/nowhere", KIT_OUT=str(tmp_path / "file" / "out"))

    told(done, 2, "cannot work in")
    assert "set KIT_OUT" in done.stderr


@pytest.mark.parametrize(
    ("out", "code"), [pytest.param("/", 2, id="the root"), (".", 0), ("..", 0), ("x/../y", 0), ("deep/er", 0)]
)
def test_any_folder_can_be_named_for_outputs_and_the_root_is_refused(out, code, tmp_path):
    (tmp_path / "here").mkdir()
    (tmp_path / "results.jsonl").write_bytes(fakes_bundle.lines(fakes_bundle.results(host=True)))

    done = kit("bundle", "--results", str(tmp_path / "results.jsonl"), "--out", out, cwd=tmp_path / "here")

    told(done, code)
    if not code:
        assert (tmp_path / "here" / out / "bundle/bundle.json").is_file()


def test_a_list_loads_nothing_heavy():
    program = (
        "import sys, tasks\n"
        "sys.argv = ['kit', '--list']\n"
        "try:\n    tasks.main(tasks)\n"
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
    def body():
        """Fail."""
        raise raised

    with pytest.raises(Exit) as ended:
        command(body)(Context())

    assert (ended.value.code, words in str(ended.value.message)) == (code, True)
