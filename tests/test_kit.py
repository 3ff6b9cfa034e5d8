"""`kit` itself, in a checkout of its own: what a newcomer runs first."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture
def checkout(tmp_path):
    """A checkout of kit alone, whose /var is a folder of the test's: the host's own engine is not touched."""
    (tmp_path / "requirements").mkdir()
    shutil.copy2(ROOT / "requirements/run.txt", tmp_path / "requirements/run.txt")
    (tmp_path / "var" / "log").mkdir(parents=True)
    (tmp_path / "var" / "run").mkdir()
    script = (ROOT / "kit").read_text(encoding="utf-8")
    assert "/var/run/docker.pid" in script
    (tmp_path / "kit").write_text(re.sub(r"/var/(run|log)", f"{tmp_path}/var/\\1", script), encoding="utf-8")
    (tmp_path / "kit").chmod(0o755)
    (tmp_path / "tasks.py").write_text("import sys\nprint('tasks got', *sys.argv[1:])\n", encoding="utf-8")
    return tmp_path


@pytest.fixture
def ready(checkout):
    """A checkout whose .venv is there, made of this Python, and whose engine door reads its state from a file."""
    (checkout / ".venv" / "bin").mkdir(parents=True)
    (checkout / ".venv" / "bin" / "python").symlink_to(sys.executable)
    (checkout / ".venv" / "made-by-kit").touch()
    shutil.copy(checkout / "requirements/run.txt", checkout / ".venv" / "locked.txt")
    (checkout / "images").mkdir()
    (checkout / "images" / "endpoint.py").write_text(
        "class EngineError(Exception):\n    def __init__(self, code):\n        self.code = code\n", encoding="utf-8"
    )
    (checkout / "images" / "engine.py").write_text(
        "import pathlib\nfrom images.endpoint import EngineError\n\n\n"
        "class Engine:\n    def close(self): pass\n\n\n"
        "def connect():\n"
        "    state = (pathlib.Path(__file__).parent / 'state').read_text().strip()\n"
        "    if state != 'ok':\n        raise EngineError(state)\n    return Engine()\n",
        encoding="utf-8",
    )
    (checkout / "images" / "state").write_text("absent", encoding="utf-8")
    return checkout


def kit(checkout, *argv, path=None, **environ):
    environ = os.environ | environ | ({"PATH": str(path)} if path else {})
    environ = {name: value for name, value in environ.items() if value is not None}
    return subprocess.run([checkout / "kit", *argv], capture_output=True, text=True, env=environ, cwd="/", check=False)


def programs(folder, **scripts):
    """Make a PATH of the shell's own tools and these scripts alone; each script notes that it was called."""
    folder.mkdir()
    for tool in (
        "sh",
        "env",
        "dirname",
        "readlink",
        "cmp",
        "id",
        "rm",
        "cp",
        "mkdir",
        "sleep",
        "cat",
        "setsid",
        "nohup",
    ):
        (folder / tool).symlink_to(shutil.which(tool))
    for name, text in scripts.items():
        (folder / name).unlink(missing_ok=True)
        note = f'echo "{name} $*" >> {folder}/called\n' if name in {"apt-get", "dockerd", "systemctl"} else ""
        (folder / name).write_text(f"#!/bin/sh\n{note}{text}\n", encoding="utf-8")
        (folder / name).chmod(0o755)
    return folder


def called(path):
    """Return which of the programs that change a host were called, in order."""
    return (path / "called").read_text(encoding="utf-8").splitlines() if (path / "called").exists() else []


def test_with_its_environment_there_kit_hands_over_at_once(ready):
    done = kit(ready, "build", "--rocm", "5.7")

    assert (done.returncode, done.stdout, done.stderr) == (0, "tasks got build --rocm 5.7\n", "")


@pytest.mark.parametrize("argv", [[], ["--help"], ["-h"], ["--setup", "--help"], ["--setup", "-h"], ["--setup"]])
def test_who_asks_for_help_or_for_nothing_is_told_what_setup_does_and_then_the_commands(ready, tmp_path, argv):
    path = programs(tmp_path / "path", id=ROOT_USER, dockerd="", **{"apt-get": ""})
    (ready / "images" / "state").write_text("absent" if argv[1:] else "ok", encoding="utf-8")

    done = kit(ready, *argv, path=path, DOCKER_HOST=None)

    assert (done.returncode, called(path), done.stderr) == (0, [], "")
    assert done.stdout.startswith("Usage: ./kit [--setup] COMMAND")
    assert done.stdout.endswith("\ntasks got --list\n")
    for words in ("./kit --setup reproduce ", "./kit doctor ", "--setup stands first", "Docker Engine"):
        assert words in done.stdout


@pytest.mark.parametrize("argv", [["--help", "build"], ["--list"], ["--version"], ["build", "--help"], ["build", "-h"]])
def test_every_other_question_is_the_commands_to_answer(ready, argv):
    assert kit(ready, *argv).stdout == f"tasks got {' '.join(argv)}\n"


@pytest.mark.parametrize(
    "argv", [["doctor", "--setup"], ["doctor", "--json", "--setup"], ["--setup", "doctor", "--setup"]]
)
def test_setup_behind_the_command_is_refused_with_the_right_order(ready, argv):
    done = kit(ready, *argv)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "--setup stands behind the command\n\nhint: it goes first: ./kit --setup doctor\n"


def test_a_first_run_makes_the_environment_from_the_lock_and_says_so(checkout):
    done = kit(checkout, "doctor")

    assert (done.returncode, done.stdout) == (0, "tasks got doctor\n")
    assert done.stderr.startswith("kit: making .venv with Python 3")
    assert (checkout / ".venv" / "locked.txt").read_bytes() == (checkout / "requirements/run.txt").read_bytes()
    assert kit(checkout, "doctor").stderr == ""


def test_an_environment_that_was_not_finished_is_finished(ready):
    (ready / ".venv" / "locked.txt").unlink()

    done = kit(ready, "doctor", PIP_NO_INDEX="1", PIP_FIND_LINKS="/nowhere")

    assert (done.returncode, done.stdout) == (2, "")
    assert "the locked requirements could not be installed" in done.stderr
    assert not (ready / ".venv" / "locked.txt").exists()


def test_an_environment_that_cannot_be_finished_is_said(ready, tmp_path):
    (ready / ".venv" / "locked.txt").unlink()
    (ready / ".venv" / "bin" / "python").unlink()
    path = programs(tmp_path / "path", cp="exit 1")
    (ready / ".venv" / "bin" / "python").symlink_to(shutil.which("true"))  # pip is content

    done = kit(ready, "doctor", path=path)

    assert (done.returncode, done.stdout) == (2, "")
    assert "cannot finish" in done.stderr
    assert done.stderr.count("hint: ") == 1


@pytest.mark.parametrize("python", ["gone", "broken"])
def test_an_environment_whose_python_went_away_is_made_again(checkout, python):
    (checkout / ".venv" / "bin").mkdir(parents=True)
    (checkout / ".venv" / "made-by-kit").touch()
    (checkout / ".venv" / "bin" / "python").symlink_to("/nowhere/python3.8" if python == "gone" else "/bin/false")
    if python == "gone":
        shutil.copy(checkout / "requirements/run.txt", checkout / ".venv" / "locked.txt")

    done = kit(checkout, "doctor")

    assert (done.returncode, done.stdout) == (0, "tasks got doctor\n")
    assert "making .venv" in done.stderr


def test_an_environment_whose_making_was_killed_at_any_point_is_made_again(checkout):
    """What a kill leaves: a folder still empty, or the mark with nothing, or with any part of an old environment."""
    for left in ([], ["made-by-kit"], ["made-by-kit", "lib64"]):
        shutil.rmtree(checkout / ".venv", ignore_errors=True)
        (checkout / ".venv").mkdir()
        for name in left:
            (checkout / ".venv" / name).touch()

        done = kit(checkout, "doctor")

        assert (done.returncode, done.stdout) == (0, "tasks got doctor\n"), left
        assert sorted(path.name for path in (checkout / ".venv").iterdir() if path.name in {"made-by-kit", "bin"}) == [
            "bin",
            "made-by-kit",
        ]


def test_an_old_environment_is_taken_away_before_its_mark(checkout, tmp_path):
    """Killed while it removes the old one, kit must still know that it was its own."""
    (checkout / ".venv" / "bin").mkdir(parents=True)
    (checkout / ".venv" / "made-by-kit").touch()
    real = shutil.which("rm")
    path = programs(tmp_path / "path", rm=f'{real} "$@"; kill -9 $PPID')

    kit(checkout, "doctor", path=f"{path}:{os.environ['PATH']}")

    assert [path.name for path in (checkout / ".venv").iterdir()] == ["made-by-kit"]
    assert kit(checkout, "doctor").returncode == 0


@pytest.mark.parametrize("after_s", [share / 100 for share in range(0, 26, 2)])
def test_ctrl_c_at_the_very_begin_ends_it_without_a_word_or_comes_too_early(after_s):
    """No traceback, and no exit code that says that something does not hold."""
    child = subprocess.Popen(
        [ROOT / "kit", "--list"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    time.sleep(after_s)
    os.killpg(child.pid, signal.SIGINT)
    _, said = child.communicate(timeout=60)

    assert child.returncode in {0, 130, -signal.SIGINT}
    assert "Traceback" not in said
    assert "KeyboardInterrupt" not in said


def test_an_environment_that_kit_did_not_make_is_left_alone(checkout):
    (checkout / ".venv").mkdir()
    (checkout / ".venv" / "mine.txt").write_text("torch and all", encoding="utf-8")

    done = kit(checkout, "doctor")

    assert done.returncode == 2
    assert "kit did not make it" in done.stderr
    assert (checkout / ".venv" / "mine.txt").exists()


def test_called_through_links_kit_works_in_its_own_checkout(ready, tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "kit").symlink_to("../elsewhere")
    (tmp_path / "elsewhere").symlink_to(ready / "kit")
    (tmp_path / "bin" / ".venv").mkdir()

    done = subprocess.run([tmp_path / "bin" / "kit", "doctor"], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout, done.stderr) == (0, "tasks got doctor\n", "")
    assert (tmp_path / "bin" / ".venv").exists()


def test_without_a_usable_python_kit_says_what_to_install(checkout, tmp_path):
    path = programs(tmp_path / "path", python3="exit 1", dpkg="exit 1")

    done = kit(checkout, "doctor", path=path)

    assert done.returncode == 2
    assert "Python 3.10 or newer with the venv module is missing" in done.stderr
    assert done.stderr.count("hint: ") == 1


# Setting up an engine, on a host of scripts ---------------------------------------------------------------------------

ROOT_USER = "echo 0"
OTHER_USER = "echo 1000"


def test_without_setup_nothing_on_the_host_is_changed(ready, tmp_path):
    path = programs(tmp_path / "path", id=ROOT_USER, dockerd="", **{"apt-get": ""})

    done = kit(ready, "doctor", path=path, DOCKER_HOST=None)

    assert (done.returncode, done.stdout, called(path)) == (0, "tasks got doctor\n", [])


@pytest.mark.skipif(Path("/run/systemd/system").is_dir(), reason="this host has systemd: nothing is started by hand")
def test_setup_installs_and_starts_an_engine_and_says_each_step(ready, tmp_path):
    path = tmp_path / "path"
    dockerd = f"#!/bin/sh\necho dockerd >> {path}/called\necho ok > {ready}/images/state\nsleep 5\n"
    install = f"case \"$*\" in *install*) printf '{dockerd}' > {path}/dockerd; chmod +x {path}/dockerd;; esac"
    programs(path, id=ROOT_USER, **{"apt-get": install})
    (path / "chmod").symlink_to(shutil.which("chmod"))

    certificates = "" if Path("/etc/ssl/certs/ca-certificates.crt").exists() else " ca-certificates"

    done = kit(ready, "--setup", "doctor", path=path, DOCKER_HOST=None)

    assert (done.returncode, done.stdout) == (0, "tasks got doctor\n"), done.stderr
    assert called(path) == [
        "apt-get -qq update",
        f"apt-get -qq install -y --no-install-recommends docker.io iptables{certificates}",
        "dockerd",
    ]
    for step in ("+ apt-get -qq update", "docker.io", "+ dockerd"):
        assert step in done.stderr


@pytest.mark.skipif(Path("/run/systemd/system").is_dir(), reason="this host has systemd: nothing is started by hand")
def test_an_engine_that_cannot_make_a_bridge_is_started_without_one(ready, tmp_path):
    path = tmp_path / "path"
    script = f'case "$*" in *--bridge=none*) echo ok > {ready}/images/state; sleep 5;; *) exit 1;; esac'
    programs(path, id=ROOT_USER, dockerd=script)

    done = kit(ready, "--setup", "doctor", path=path, DOCKER_HOST=None)

    assert (done.returncode, done.stdout) == (0, "tasks got doctor\n"), done.stderr
    assert called(path) == ["dockerd ", "dockerd --bridge=none --iptables=false --ip6tables=false"]


@pytest.mark.skipif(not Path("/proc/self/comm").exists(), reason="a process's name is read from /proc")
@pytest.mark.skipif(Path("/run/systemd/system").is_dir(), reason="this host has systemd: nothing is started by hand")
@pytest.mark.parametrize("owner", ["nobody", "another program", "dockerd"])
def test_a_pid_file_is_forgotten_unless_the_engine_itself_has_that_number(ready, tmp_path, owner):
    path = programs(tmp_path / "path", id=ROOT_USER, dockerd=f"echo ok > {ready}/images/state; sleep 5")
    (tmp_path / "dockerd").symlink_to(shutil.which("sleep"))
    with subprocess.Popen([tmp_path / "dockerd" if owner == "dockerd" else "sleep", "60"]) as process:
        number = process.pid if owner != "nobody" else 2**22 + 1  # above every system's highest number
        (ready / "var" / "run" / "docker.pid").write_text(f"{number}\n", encoding="utf-8")

        done = kit(ready, "--setup", "doctor", path=path, DOCKER_HOST=None)

        process.kill()
    assert done.returncode == 0, done.stderr
    assert (ready / "var" / "run" / "docker.pid").exists() == (owner == "dockerd")


@pytest.mark.parametrize(
    ("state", "user", "programs_there", "code", "words"),
    [
        pytest.param("ok", ROOT_USER, {"dockerd": ""}, 0, "", id="an engine answers"),
        pytest.param("denied", OTHER_USER, {"dockerd": ""}, 0, "", id="the command itself explains a denied socket"),
        pytest.param("old", ROOT_USER, {"dockerd": ""}, 0, "", id="the command itself explains an old engine"),
        pytest.param(
            "chosen", ROOT_USER, {"dockerd": "", "apt-get": ""}, 0, "", id="the command itself explains a wrong setting"
        ),
        pytest.param(
            "absent", OTHER_USER, {"dockerd": ""}, 2, "installed but does not run", id="not root, not running"
        ),
        pytest.param("absent", OTHER_USER, {"apt-get": ""}, 2, "no container engine", id="not root, none installed"),
        pytest.param("absent", ROOT_USER, {}, 2, "no container engine", id="root, but no apt"),
    ],
)
def test_setup_changes_nothing_where_it_need_not_or_may_not(ready, tmp_path, state, user, programs_there, code, words):
    path = programs(tmp_path / "path", id=user, **programs_there)
    (ready / "images" / "state").write_text(state, encoding="utf-8")

    done = kit(ready, "--setup", "doctor", path=path, DOCKER_HOST=None)

    assert (done.returncode, called(path)) == (code, [])
    assert words in done.stderr
    assert done.stderr.count("hint: ") == (1 if code else 0)


def test_setup_leaves_an_engine_alone_that_the_user_chose(ready, tmp_path):
    path = programs(tmp_path / "path", id=ROOT_USER, dockerd="", **{"apt-get": ""})

    done = kit(ready, "--setup", "doctor", path=path, DOCKER_HOST="unix:///elsewhere.sock")

    assert (done.returncode, done.stdout, called(path)) == (0, "tasks got doctor\n", [])


def test_the_locked_requirements_name_no_host_and_no_path():
    for path in sorted((ROOT / "requirements").glob("*.txt")):
        text = path.read_text(encoding="utf-8")

        assert "://" not in text, path.name
        assert "file:" not in text, path.name
        assert not [line for line in text.splitlines() if line.startswith("/")], path.name
        assert text.count("--hash=sha256:") > 10, path.name
