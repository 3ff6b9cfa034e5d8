"""Both commands, whatever ends them: whole lines, a message, no traceback, and nobody left."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FAKE_TORCH = ROOT / "tests" / "benchmarks" / "fake_torch"
SLOW_TORCH = "import time\ntime.sleep(60)\n"
COMMANDS = {
    "validate": ["validate"],
    "benchmarks": ["benchmarks", "--case", str(ROOT / "tests/benchmarks/odd_cases.py"), "--only", "odd_cases.fine"],
}
every_command = pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)


def shell(script, *argv, torch=FAKE_TORCH, **options):
    """Start a shell line in which `"$@"` is the command."""
    return subprocess.Popen(
        ["/bin/sh", "-c", script, "sh", sys.executable, "-m", *argv],
        cwd=ROOT,
        # An empty PYTHONUNBUFFERED is none: what is printed is written at the end, as it is for most users.
        env={**os.environ, "PYTHONPATH": str(torch), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": ""},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        **options,
    )


@pytest.mark.parametrize("option", ["--list", "--help", None])
@pytest.mark.parametrize(
    ("script", "message"),
    [
        ('"$@" > /dev/full', "No space left on device"),
        ('"$@" >&-', "stdout is closed, so the output has nowhere to go"),
        ('{ sleep 0.3; "$@"; echo "code $?" >&2; } | exec true', "Broken pipe"),
    ],
    ids=["full", "closed", "nobody reads"],
)
@every_command
def test_output_that_goes_nowhere_ends_2_with_a_message(command, script, message, option):
    done = shell(script, *([command[0], option] if option else command))
    out, err = done.communicate(timeout=120)

    assert out == ""
    assert message in err
    assert "code 2" in err or done.returncode == 2
    assert (err.count("error: "), "Traceback" in err, "Exception ignored" in err) == (1, False, False)


@every_command
def test_who_reads_one_line_gets_one_whole_line(command):
    done = shell('"$@" | head -1', *command)
    out, err = done.communicate(timeout=120)

    assert [json.loads(line)["kind"] for line in out.splitlines()] == ["start"]
    assert ("error: the records cannot be written: Broken pipe" in err, "Traceback" in err) == (True, False)


@every_command
@pytest.mark.parametrize("closed", ["2>&-", "0<&-", "2>/dev/full", "0<&- 2>&-"])
def test_without_stdin_or_stderr_the_records_are_the_same(command, closed):
    done = shell(f'"$@" {closed}', *command)
    out, err = done.communicate(timeout=120)

    kinds = [json.loads(line)["kind"] for line in out.splitlines()]
    assert (kinds[0], kinds[-1]) == ("start", "end")
    assert done.returncode in {0, 1}
    assert "Traceback" not in err


@every_command
@pytest.mark.parametrize("sent", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM])
def test_a_signal_before_anything_was_found_ends_2_at_once_and_leaves_nobody(command, sent, tmp_path):
    (tmp_path / "torch.py").write_text(SLOW_TORCH)
    running = shell('exec "$@"', *command, torch=tmp_path)
    until = time.monotonic() + 30
    while not (mine := descendants(running.pid)) and time.monotonic() < until:
        time.sleep(0.05)
    begun = time.monotonic()
    os.kill(running.pid, sent)
    out, err = running.communicate(timeout=60)

    assert mine
    assert (running.returncode, out) == (2, "")
    assert err.splitlines()[-1] == f"error: {sent.name} ended the run"
    assert "Traceback" not in err
    assert time.monotonic() - begun < 20
    assert [pid for pid in mine if alive(pid)] == []


@pytest.mark.parametrize("delay_s", [0.3, 0.6, 0.9, 1.2, 1.6, 2.0])
@every_command
def test_a_signal_at_any_time_leaves_whole_lines_and_nobody(command, delay_s):
    running = shell('exec "$@"', *command)
    time.sleep(delay_s)
    mine = descendants(running.pid)
    os.kill(running.pid, signal.SIGTERM)
    out, err = running.communicate(timeout=60)

    kinds = [json.loads(line)["kind"] for line in out.splitlines()]
    assert kinds == [] or kinds[0] == "start"
    assert out == "" or out.endswith("\n")
    assert kinds[-1:] == ["end"] or "error: SIGTERM ended the run" in err
    assert "Traceback" not in err
    assert [pid for pid in mine if alive(pid)] == []


@every_command
@pytest.mark.parametrize("sent", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_run_whose_records_nobody_reads(command, sent):
    running = shell('exec "$@"', *command)
    fcntl.fcntl(running.stdout, fcntl.F_SETPIPE_SZ, 4096)  # less than a run has to say
    time.sleep(4.0)
    mine = descendants(running.pid)
    os.kill(running.pid, sent)
    try:
        code = running.wait(timeout=20)
    finally:
        running.kill()
    err = running.stderr.read()
    running.stdout.close()
    running.stderr.close()

    ends = f"error: {sent.name} ended the run", "error: the records cannot be written: nobody reads on"
    assert (code, err.count("error: "), any(end in err for end in ends)) == (2, 1, True), err
    assert "Traceback" not in err
    assert [pid for pid in mine if alive(pid)] == []


def test_who_was_started_with_nohup_goes_on():
    running = shell('trap "" HUP; exec "$@"', *COMMANDS["benchmarks"])
    time.sleep(1.0)
    os.kill(running.pid, signal.SIGHUP)
    out, _ = running.communicate(timeout=120)

    assert json.loads(out.splitlines()[-1])["kind"] == "end"
    assert running.returncode == 0


def descendants(pid):
    """Return the processes below one."""
    found = [pid]
    for parent in found:
        found += [
            int(path.parent.name) for path in Path("/proc").glob("[0-9]*/stat") if stat(path)[1:2] == [str(parent)]
        ]
    return found[1:]


def stat(path):
    """Return state, parent and so on of a process; nothing when it is gone."""
    try:
        return path.read_text().rpartition(")")[2].split()
    except OSError:
        return []


def alive(pid, patience_s=5):
    """Return whether a process outlives our patience; a zombie has ended."""
    until = time.monotonic() + patience_s
    while time.monotonic() < until:
        if stat(Path(f"/proc/{pid}/stat"))[:1] in ([], ["Z"], ["X"]):
            return False
        time.sleep(0.05)
    return True
