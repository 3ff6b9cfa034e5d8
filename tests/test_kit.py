"""`kit` itself, in a checkout of its own: what a newcomer runs first."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture
def checkout(tmp_path):
    (tmp_path / "requirements").mkdir()
    for name in ("kit", "requirements/run.txt"):
        shutil.copy2(ROOT / name, tmp_path / name)
    (tmp_path / "tasks.py").write_text("import sys\nprint('tasks got', *sys.argv[1:])\n", encoding="utf-8")
    return tmp_path


@pytest.fixture
def ready(checkout):
    """A checkout whose .venv is there, made of this Python."""
    (checkout / ".venv" / "bin").mkdir(parents=True)
    (checkout / ".venv" / "bin" / "python").symlink_to(sys.executable)
    shutil.copy(checkout / "requirements/run.txt", checkout / ".venv" / "locked.txt")
    return checkout


def kit(checkout, *argv, path=None, **environ):
    environ = os.environ | environ | ({"PATH": str(path)} if path else {})
    return subprocess.run([checkout / "kit", *argv], capture_output=True, text=True, env=environ, cwd="/", check=False)


def programs(folder, **scripts):
    """Make a PATH of the shell's own tools and these scripts alone."""
    folder.mkdir()
    for tool in ("sh", "dirname", "cmp", "id", "rm", "cp", "sleep", "cat"):
        (folder / tool).symlink_to(shutil.which(tool))
    for name, text in scripts.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        (folder / name).chmod(0o755)
    return folder


def test_with_its_environment_there_kit_hands_over_at_once(ready):
    done = kit(ready, "build", "--rocm", "5.7")

    assert (done.returncode, done.stdout, done.stderr) == (0, "tasks got build --rocm 5.7\n", "")


def test_without_a_command_kit_lists_them(ready):
    assert kit(ready).stdout == "tasks got --list\n"


def test_a_first_run_makes_the_environment_from_the_lock_and_says_so(checkout):
    done = kit(checkout, "doctor")

    assert (done.returncode, done.stdout) == (0, "tasks got doctor\n")
    assert done.stderr.startswith("kit: making .venv with Python 3")
    assert (checkout / ".venv" / "locked.txt").read_bytes() == (checkout / "requirements/run.txt").read_bytes()
    assert kit(checkout, "doctor").stderr == ""


def test_an_environment_that_was_not_finished_is_made_again(ready):
    (ready / ".venv" / "locked.txt").unlink()

    assert "making .venv" in kit(ready, "doctor").stderr


def test_without_a_usable_python_kit_says_what_to_install(checkout, tmp_path):
    path = programs(tmp_path / "path", python3="exit 1", dpkg="exit 1")

    done = kit(checkout, "doctor", path=path)

    assert done.returncode == 2
    assert "Python 3.10 or newer with the venv module is missing" in done.stderr
    assert done.stderr.count("hint: ") == 1


def test_without_setup_nothing_on_the_host_is_changed(checkout, tmp_path):
    touched = tmp_path / "touched"
    path = programs(
        tmp_path / "path", python3="exit 1", dockerd=f"echo > {touched}", **{"apt-get": f"echo > {touched}"}
    )

    assert kit(checkout, "doctor", path=path).returncode == 2
    assert not touched.exists()


def test_setup_leaves_an_engine_alone_that_the_user_chose(ready, tmp_path):
    touched = tmp_path / "touched"
    path = programs(tmp_path / "path", dockerd=f"echo > {touched}", **{"apt-get": f"echo > {touched}"})

    done = kit(ready, "--setup", "doctor", path=path, DOCKER_HOST="unix:///elsewhere.sock")

    assert (done.returncode, done.stdout) == (0, "tasks got doctor\n")
    assert not touched.exists()


def test_the_locked_requirements_name_no_host_and_no_path():
    for path in sorted((ROOT / "requirements").glob("*.txt")):
        text = path.read_text(encoding="utf-8")

        assert "://" not in text, path.name
        assert "file:" not in text, path.name
        assert not [line for line in text.splitlines() if line.startswith("/")], path.name
        assert text.count("--hash=sha256:") > 10, path.name
