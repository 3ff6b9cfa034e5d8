"""The command line: a valid stream whatever happens, and messages instead of tracebacks."""

import importlib.util
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks import __main__ as cli
from schema import stream
from schema.documents import problems, validator
from schema.stream import Writer
from tests.benchmarks import fakes_benchmarks as fakes

ROOT = Path(__file__).resolve().parents[2]


def start(*argv, **options):
    return subprocess.Popen(
        [sys.executable, "-m", "benchmarks", *argv],
        cwd=ROOT,
        env=fakes.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def run(*argv):
    process = start(*argv)
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


def valid(out):
    """Return the records of a whole stream that follows the schema."""
    records = list(stream.read(out.splitlines()))
    wrong = [problems(record, validator("results-1")) for record in records]
    assert [problem for problem in wrong if problem] == []
    return records


def test_a_users_own_case_is_measured_and_its_file_is_in_the_protocol():
    code, out, err = run("--case", str(fakes.ODD), "--only", "odd_cases.fine")

    records = valid(out)
    (item,) = records[0]["protocol"]["cases"]
    assert code == 0, err
    assert item["file_sha256"] == fakes.digest()
    assert item["title"] == "Cases that go wrong in every way a process can, without torch"
    assert records[0]["protocol"]["suite"] == "custom"
    assert [record["status"] for record in fakes.processes(records)].count("failed") == 0


def test_a_part_of_a_suite_is_not_the_suite(monkeypatch):
    seen = {}
    monkeypatch.setattr(cli.running, "run", lambda _writer, protocol, *_, **__: seen.update(protocol) or {0: "ok"})
    monkeypatch.setattr(cli.plan, "TIMING", {"smoke": fakes.SHORT})
    monkeypatch.setenv("PYTHONPATH", str(fakes.FAKE_TORCH))
    monkeypatch.setattr(cli, "claim_stdout", lambda: Writer(io.StringIO()))

    for argv, suite in ((["--only", "matmul"], "custom"), ([], "smoke")):
        assert cli.main(argv) == 0
        assert seen["suite"] == suite


def test_a_failed_case_ends_1_with_a_whole_stream():
    code, out, _ = run("--case", str(fakes.ODD), "--only", "odd_cases.wrong")

    assert code == 1
    assert {record["status"] for record in fakes.processes(valid(out))} == {"invalid"}


def test_nothing_but_unsupported_ends_2():
    code, out, _ = run("--case", str(fakes.ODD), "--only", "odd_cases.unsupported")

    assert code == 2
    assert {record["status"] for record in fakes.processes(valid(out))} == {"unsupported"}


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_leaves_a_valid_stream_with_what_was_measured(sent):
    process = start(
        "--case", str(fakes.ODD), "--only", "odd_cases.fine", "--only", "odd_cases.slow", "--suite", "quick"
    )
    first = []
    while not any('"kind":"sample"' in line for line in first):
        first.append(process.stdout.readline())
    process.send_signal(sent)
    rest, err = process.communicate(timeout=60)

    records = valid("".join(first) + rest)
    ended = [(record["status"], record["reason"]) for record in fakes.processes(records)]
    assert process.returncode == 1
    assert [status for status, _ in ended].count("killed") >= 5
    assert ("killed", f"{sent.name} ended the run during sampling") in ended
    assert [record for record in records if record["kind"] == "sample"]
    assert "Traceback" not in err


def test_children_die_with_a_parent_that_is_killed():
    process = start("--case", str(fakes.ODD), "--only", "odd_cases.slow", "--suite", "quick", start_new_session=True)
    while '"kind":"sample"' not in process.stdout.readline():
        pass
    mine = children_of(process.pid)
    process.kill()
    process.communicate(timeout=60)

    until = time.monotonic() + 10
    while time.monotonic() < until and any(alive(pid) for pid in mine):
        time.sleep(0.1)
    assert len(mine) >= 1
    assert [pid for pid in mine if alive(pid)] == []


def children_of(pid):
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            found.append(int(path.parent.name))
    return found


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--only", "matmul.bf17"], "no case matmul.bf17 in this suite"),
        (["--case", "nowhere.py"], "cannot read the case nowhere.py: No such file or directory"),
        (["--case", "/dev/zero"], "the case /dev/zero is no regular file"),
        (["--case", "."], "the case . is no regular file"),
        (["--lock", "/dev/zero"], "the lock /dev/zero is no regular file"),
        (["--seed", "x"], "--seed 'x' is no whole number from 0 up"),
        (["--seed", "-1"], "--seed '-1' is no whole number from 0 up"),
        (["--deadline", "inf"], "--deadline 'inf' is no number from 0 up"),
        (["--lock", "nowhere.json"], "cannot read the lock nowhere.json"),
        (["--suite", "huge"], "invalid choice: 'huge'"),
    ],
)
def test_bad_input_ends_2_with_a_message_and_no_traceback(argv, message):
    code, out, err = run(*argv)

    assert (code, out) == (2, "")
    assert message in err
    assert "Traceback" not in err


def test_a_closed_pipe_ends_the_run_with_a_message_and_no_traceback():
    with start("--case", str(fakes.ODD), "--only", "odd_cases.fine", "--suite", "quick") as process:
        process.stdout.readline()
        process.stdout.close()
        err = process.stderr.read()

    assert process.returncode == 2
    assert "error: the records cannot be written: Broken pipe" in err
    assert "Traceback" not in err


@pytest.mark.parametrize("option", ["--case", "--lock"])
def test_a_pipe_is_not_waited_for(tmp_path, option):
    os.mkfifo(tmp_path / "pipe")

    code, out, err = run(option, str(tmp_path / "pipe"))

    assert (code, out) == (2, "")
    assert "pipe is no regular file" in err


def test_a_case_file_has_some_size(tmp_path):
    own = tmp_path / "own.py"
    own.write_bytes(b"#" * (cli.LARGEST_CASE + 1))

    code, _, err = run("--case", str(own))

    assert code == 2
    assert f"is no regular file of at most {cli.LARGEST_CASE} bytes" in err


def test_without_torch_the_hint_says_what_helps(monkeypatch, capfd):
    monkeypatch.setattr(sys, "path", [path for path in sys.path if "torch" not in path])
    monkeypatch.setenv("PYTHONPATH", "")
    if importlib.util.find_spec("torch"):
        pytest.skip("this Python has torch")

    assert cli.main([]) == 2
    assert "hint: install PyTorch" in capfd.readouterr().err


BROKEN = [
    ("x = ", "own.py:1 cannot be imported: SyntaxError: invalid syntax"),
    ("x = 1\nimport nowhere_at_all", "own.py:2 cannot be imported: ModuleNotFoundError: No module named"),
    ("raise SystemExit(0)", "own.py:1 cannot be imported: SystemExit: 0"),
    ("raise BaseException", "own.py:1 cannot be imported: BaseException: it says no more"),
    ("raise SyntaxError", "own.py:1 cannot be imported: SyntaxError: it says no more"),
    ("class E(Exception):\n    def __str__(self): raise ValueError\nraise E",
     "own.py:3 cannot be imported: E: it says no more"),
    ("GROUP = 'custom'", "own.py: it has no UNIT, VARIANTS, work, prepare, step, check"),
    ("GROUP, UNIT, VARIANTS = 'kernel', 's', {'a': {}}\nwork = prepare = step = check = dict", "GROUP is 'kernel'"),
    ("GROUP, UNIT, VARIANTS = 'custom', 's', {'a': {}}\nprepare = step = check = dict\ndef work(p):\n    return p.x",
     "own.py:4: own.a: AttributeError: 'dict' object has no attribute 'x'"),
    ("GROUP, UNIT, VARIANTS = 'custom', 's', {'a': {}}\nwork = prepare = step = dict\ndef check(state):\n    pass",
     "own.py:3: check(state, i, output) cannot be called: too many positional arguments"),
    ("import os; os._exit(7)", "own.py: exit code 7 during import"),
    ("import os; os.kill(os.getpid(), 11)", "own.py:1: SIGSEGV during import"),
    ("\nwhile True:\n    pass", "own.py:"),
    ("import contextlib, os\nfor fd in range(3, 20):\n  with contextlib.suppress(OSError):\n    os.write(fd, b'{}\\n')",
     "own.py: something else than the kit wrote to the pipe for records"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), BROKEN, ids=[message[:60] for _, message in BROKEN])
def test_a_broken_case_file_ends_2_with_what_is_wrong(tmp_path, text, message):
    (tmp_path / "own.py").write_text(text)

    code, out, err = run("--case", str(tmp_path / "own.py"), "--deadline", "5")

    assert (code, out) == (2, "")
    assert message in err
    assert [err.count(f"\n{word}") for word in ("error: ", "hint: ", "Traceback")] == [1, 1, 0]


def test_a_case_file_may_have_a_name_that_is_no_utf8(tmp_path):
    own = tmp_path / "caf\udce9.py"
    own.write_bytes(fakes.ODD.read_bytes())

    code, out, err = run("--case", str(own), "--only", "caf-.raises")

    places = {record["reason"].partition(":")[0] for record in fakes.processes(valid(out))}
    assert (code, places) == (1, {"caf?.py"}), err


def test_the_list_needs_no_torch_and_no_time():
    begin = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--suite", "quick", "--list"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": ""},
        capture_output=True,
        text=True,
        check=True,
    )

    assert "gpu  matmul.bf16.8192" in done.stdout
    assert time.monotonic() - begin < 5
    assert json.dumps(done.stdout)
