import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from validate.machine import Machine


@pytest.fixture
def machine():
    return Machine()


def test_a_missing_command_is_a_value(machine):
    ran = machine.run(["no-such-command-here"])

    assert (ran.missing, ran.ok, ran.why) == (True, False, "no-such-command-here is not installed")


def test_a_file_that_may_not_be_executed_is_a_value(machine, tmp_path):
    path = tmp_path / "tool"
    path.write_text("#!/bin/sh\n")

    ran = machine.run([str(path)])

    assert (ran.code, ran.missing, ran.stderr) == (126, False, "Permission denied")


def test_stdout_and_stderr_are_kept_apart(machine):
    ran = machine.run([sys.executable, "-c", "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"])

    assert (ran.code, ran.stdout, ran.stderr) == (3, "out\n", "err\n")


def test_a_command_killed_by_a_signal_says_which(machine):
    ran = machine.run([sys.executable, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"])

    assert (ran.code, ran.why) == (-signal.SIGSEGV, f"{sys.executable} was killed by SIGSEGV")


def test_at_the_time_limit_the_command_and_its_children_end(machine, tmp_path):
    mark = tmp_path / "pid"
    child = f"import os, time, pathlib; pathlib.Path({str(mark)!r}).write_text(str(os.getpid())); time.sleep(60)"
    parent = f"import subprocess, sys; print('begun', flush=True); subprocess.run([sys.executable, '-c', {child!r}])"
    begun = time.monotonic()

    ran = machine.run([sys.executable, "-c", parent], timeout_s=1.5)

    assert (ran.timed_out, ran.code, ran.stdout) == (True, None, "begun\n")
    assert time.monotonic() - begun < 5
    assert gone(int(mark.read_text()))


@pytest.mark.parametrize("session", [False, True], ids=["in its group", "a daemon"])
def test_a_command_has_ended_when_it_ends_though_a_helper_holds_its_output(machine, session):
    child = f"subprocess.Popen(['sleep', '20'], start_new_session={session})"
    begun = time.monotonic()

    ran = machine.run([sys.executable, "-c", f"import subprocess; print({child}.pid)"], timeout_s=15)

    assert (ran.ok, ran.timed_out) == (True, False)
    assert time.monotonic() - begun < 10
    if session:
        os.kill(int(ran.stdout), signal.SIGKILL)
    assert gone(int(ran.stdout))


def test_what_ends_the_run_ends_the_command(machine, tmp_path):
    mark = tmp_path / "pid"
    program = f"import os, time, pathlib; pathlib.Path({str(mark)!r}).write_text(str(os.getpid())); time.sleep(60)"

    class Stop(BaseException):
        pass

    def stop(*_):
        raise Stop

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 1.5)
    try:
        with pytest.raises(Stop):
            machine.run([sys.executable, "-c", program])
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

    assert gone(int(mark.read_text()))


def gone(pid, patience_s=5):
    """Whether a process ends within its patience; a zombie has ended."""
    stat, end = Path(f"/proc/{pid}/stat"), time.monotonic() + patience_s
    while time.monotonic() < end:
        if not stat.exists() or stat.read_text().rsplit(")", 1)[1].split()[0] == "Z":
            return True
        time.sleep(0.05)
    return False


def test_nothing_is_read_from_our_stdin(machine):
    assert machine.run([sys.executable, "-c", "import sys; print(repr(sys.stdin.read()))"]).stdout == "''\n"


def test_a_file_that_is_not_there_reads_as_none(machine, tmp_path):
    (tmp_path / "odd").write_bytes(b"\xff45\n")

    assert machine.read(str(tmp_path / "none")) is None
    assert machine.read(str(tmp_path / "odd")) == "\ufffd45\n"


def test_opening_gives_the_error_number(machine, tmp_path):
    assert machine.open_errno("/dev/null") == 0
    assert machine.open_errno(str(tmp_path / "none")) == errno.ENOENT
    assert machine.open_errno(str(tmp_path)) == errno.EISDIR


def test_a_device_node_is_described_by_numbers(machine):
    assert machine.stat("/dev/null") == {"mode": "0666", "uid": 0, "gid": 0, "kind": "device"}
    assert machine.stat("/no/such/path") is None


def test_what_is_asked_once_is_learnt_once(machine):
    answers = iter([1, 2])

    assert [machine.once("x", lambda: next(answers)) for _ in range(2)] == [1, 1]


def test_a_lent_folder_is_gone_afterwards(machine):
    with machine.scratch() as folder:
        machine.write(f"{folder}/a.hip", "text")
        assert machine.read(f"{folder}/a.hip") == "text"

    assert not Path(folder).exists()


class Stopped(BaseException):
    pass


def test_a_signal_in_the_very_moment_of_a_start_leaves_nobody(machine, monkeypatch):
    started = []

    class Signalled(subprocess.Popen):
        def __init__(self, *args, **options):
            super().__init__(*args, **options)
            started.append(self.pid)
            os.kill(os.getpid(), signal.SIGTERM)

    def stop(*_):
        raise Stopped

    monkeypatch.setattr(subprocess, "Popen", Signalled)
    before = signal.signal(signal.SIGTERM, stop)
    try:
        with pytest.raises(Stopped):
            machine.run(["sleep", "60"])
    finally:
        signal.signal(signal.SIGTERM, before)

    with pytest.raises(ProcessLookupError):
        os.kill(started[0], 0)


def test_a_command_may_be_asked_to_end_as_ever(machine):
    asked = "import os, signal; os.kill(os.getpid(), signal.SIGTERM)"

    assert machine.run([sys.executable, "-c", asked]).code == -signal.SIGTERM
