"""Real processes: whatever a case does, every position ends in one record, and the others go on."""

import time

import pytest

from benchmarks import plan
from benchmarks.cases import describe, load_file
from benchmarks.intake import NOT_OURS
from schema.documents import problems, validator
from tests.benchmarks import fakes_benchmarks as fakes
from validate.entry_point import Signals

SOURCE = fakes.ODD.read_text()


def at(words):
    """Return the place of the first line of the odd cases that begins with these words."""
    lines = [line.strip() for line in SOURCE.splitlines()]
    return f"odd_cases.py:{next(number for number, line in enumerate(lines, 1) if line.startswith(words))}"


RETURNED = f"{at('def check(')}: check() returned "
# What a case does, the status that comes of it, what its reason says.
ENDS = [
    ("crash", "failed", at("os.kill(") + ": SIGSEGV during first step; last lines: about to crash"),
    ("exits", "failed", "odd_cases.py: exit code 3 during first step"),
    ("oom", "out_of_memory", at("raise MemoryError") + ": MemoryError"),
    ("hip-oom", "out_of_memory", "OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB"),
    ("no-memory-at-setup", "out_of_memory", at('raise RuntimeError("Default') + ": RuntimeError: Default"),
    ("unsupported", "unsupported", "no such unit in this device"),
    ("no-words", "unsupported", "it does not say why"),
    ("no-kernel", "unsupported", "not implemented for 'Half'"),
    ("wrong", "invalid", "before timing: relative error 0.5, allowed 0, against itself"),
    ("nan-before", "invalid", "before timing: the output has NaN or infinity"),
    ("nan-after", "invalid", "after timing: the output has NaN or infinity"),
    ("raises", "failed", at('raise ValueError("') + ": ValueError: this case is broken"),
    ("path", "failed", at('Path("/srv') + ": FileNotFoundError: [Errno 2] No such file or directory: 'weights.bin'"),
    ("system-exit", "failed", at('sys.exit("') + ": SystemExit: enough"),
    ("interrupt", "failed", at("raise KeyboardInterrupt") + ": KeyboardInterrupt"),
    ("odd-name", "failed", at("raise LookupError") + ": LookupError: caf?"),
    ("check-empty", "failed", RETURNED + "{}, which has no passed, error, tolerance, finite, reference: return what"),
    ("check-none", "failed", RETURNED + "None, which is no dict"),
    ("check-nan", "failed", RETURNED + "passed True, and error nan, tolerance 0.0, finite True say otherwise"),
    ("check-text", "failed", RETURNED + "error 'small', which is neither a number nor None"),
    ("check-more", "failed", "in which speed means nothing"),
    ("check-praises", "failed", RETURNED + "passed True, and error 1.0, tolerance 0.0, finite True say otherwise"),
    ("check-denies", "failed", RETURNED + "passed False, and error 0.0, tolerance 0.0, finite True say otherwise"),
    ("check-raises", "failed", at('return FINE["speed"]') + ": KeyError: 'speed'"),
    ("forks", "failed", "odd_cases.py: the process was copied by os.fork, and the copy came back from the case"),
    ("writes-records", "failed", "odd_cases.py: something else than the kit wrote to the pipe for records"),
    ("writes-noise", "failed", "odd_cases.py: something else than the kit wrote to the pipe for records"),
    (
        "wrong-then-noise",
        "invalid",
        "after timing: relative error 0.5, allowed 0, against itself; then: something else",
    ),
    ("wrong-then-dies", "invalid", "odd_cases.py: exit code 5 during its end after a wrong result"),
    ("clock-slow", "failed", "odd_cases.py: its clock falls behind: samples say that they were taken "),
    ("clock-fast", "failed", "odd_cases.py: its clock runs ahead: a sample says that it was taken "),
    ("clock-short", "failed", "odd_cases.py: its samples say that they took "),
    ("clock-long", "failed", "odd_cases.py: its samples say that they took "),
    ("gives-nothing", "failed", at("def step(") + ": step() returned None: return the output"),
    ("silent-error", "failed", at("raise SilentError") + ": SilentError: it says no more"),
    ("error-without-words", "failed", at("raise WordlessError") + ": WordlessError: it says no more"),
    ("silent-refusal", "unsupported", "it does not say why"),
    ("closes-files", "failed", "the pipe for records is gone (Bad file descriptor): close only file descriptors that"),
]
# What a case leaves behind, and what is noted of it; its figure stands.
LEAVES = {
    "forks-and-exits": None,
    "helper": "processes that it had started outlived it, and were killed",
    "escaped": "a process that it had started left its group, holds its output, and was not killed",
    "escaped-talking": "a process that it had started left its group, holds its output, and was not killed",
    "thread": "it had not ended 10 s after its last record, and was killed",
}
HANGS = at("time.sleep(600)")
DIGEST = fakes.digest()
MEASURED = {"ok", "drift", "not_steady", "not_converged"}


@pytest.fixture(scope="module")
def odd():
    """All of them measured in one run, each in a process of its own."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        records, _ = fakes.measure([name for name, _, _ in ENDS] + ["fine"], monkeypatch)
    return records


@pytest.mark.parametrize(("name", "status", "reason"), ENDS, ids=[name for name, _, _ in ENDS])
def test_every_end_has_its_status_and_reason(odd, name, status, reason):
    (process,) = [record for record in fakes.processes(odd) if record["case"] == f"odd_cases.{name}"]

    assert (process["status"], reason in process["reason"]) == (status, True), process


def test_every_position_has_one_record_and_its_samples_once_each(odd):
    ended = [record["case"] for record in fakes.processes(odd)]
    taken = {}
    for record in odd:
        if record["kind"] == "sample":
            taken.setdefault(record["case"], []).append(record["index"])

    assert sorted(ended) == sorted(f"odd_cases.{name}" for name in [*(name for name, _, _ in ENDS), "fine"])
    assert {name: sorted(indices) for name, indices in taken.items()} == {
        name: list(range(len(indices))) for name, indices in taken.items()
    }


@pytest.mark.parametrize(("name", "note"), LEAVES.items(), ids=LEAVES)
def test_what_a_case_leaves_behind_costs_no_deadline_and_is_noted(monkeypatch, name, note):
    begin = time.monotonic()

    records, statuses = fakes.measure([name], monkeypatch)

    (process,) = fakes.processes(records)
    assert set(statuses.values()) <= MEASURED
    assert process["facts"].get("notes") == ([note] if note else None)
    assert time.monotonic() - begin < fakes.SHORT.deadline_s


@pytest.mark.parametrize("name", ["escaped", "sets"])
def test_what_is_noted_of_a_process_is_told_while_it_runs_and_kept(monkeypatch, capfd, name):
    records, _ = fakes.measure([name], monkeypatch)

    (process,) = fakes.processes(records)
    said = capfd.readouterr().err.splitlines()
    assert process["facts"]["notes"]
    assert [said.count(f"    {note}") for note in process["facts"]["notes"]] == [1]


FORGED = [
    b'{"kind":"phase"}',
    b'{"kind":"process","case":"odd_cases.writes-a-line","process":0,"order":0,"status":"failed","reason":"x","facts":[]}',
    b'{"kind":"process","case":"odd_cases.writes-a-line","process":0,"order":0,"status":"failed","reason":"x","setup_s":NaN}',
    b'{"kind":"sample","case":"odd_cases.writes-a-line","process":0,"index":0,"seconds":1e999,"at_s":1}',
]


@pytest.mark.parametrize("line", FORGED, ids=["phase", "facts", "NaN", "infinity"])
def test_a_forged_line_fails_its_own_case_and_the_others_go_on(monkeypatch, line):
    monkeypatch.setenv("ODD_LINE", line.decode())

    records, _ = fakes.measure(["writes-a-line", "fine"], monkeypatch)

    forged, fine = sorted(fakes.processes(records), key=lambda record: record["case"], reverse=True)
    assert (forged["status"], NOT_OURS in forged["reason"]) == ("failed", True)
    assert fine["status"] in MEASURED


def test_the_others_go_on(odd):
    (process,) = [record for record in fakes.processes(odd) if record["case"] == "odd_cases.fine"]
    samples = [record for record in odd if record["kind"] == "sample" and record["case"] == "odd_cases.fine"]

    assert process["status"] in MEASURED
    assert len(samples) == process["stop"]["samples"] > 0
    assert [sample["index"] for sample in samples] == list(range(len(samples)))
    assert 0.0004 < samples[0]["seconds"] < 0.1


def test_every_record_follows_the_schema(odd):
    found = [problems(record, validator("results-1", f"#/$defs/{record['kind']}")) for record in odd]

    assert [problem for problem in found if problem] == []


def test_a_wrong_result_before_timing_leaves_no_samples(odd):
    assert not [record for record in odd if record["kind"] == "sample" and record["case"] == "odd_cases.wrong"]


def test_a_hang_is_killed_at_its_deadline_and_leaves_its_stacks(monkeypatch, capfd):
    records, _ = fakes.measure(["hang", "fine"], monkeypatch, deadline_s=4)

    (hung,) = [record for record in fakes.processes(records) if record["case"] == "odd_cases.hang"]
    assert hung["status"] == "timeout"
    assert hung["reason"].startswith(f"{HANGS}: no answer within 4 s, during first step; killed; last lines: ")
    assert "odd_cases.py" in hung["reason"]
    assert "line" in capfd.readouterr().err


def test_a_child_that_refuses_says_why_in_every_record(monkeypatch):
    monkeypatch.setattr(fakes, "digest", lambda: "0" * 64)
    found = {item["case"].partition(".")[2]: item for item in describe(load_file(fakes.ODD, DIGEST))}
    monkeypatch.setattr(fakes, "protocol", lambda *_: plan.protocol("custom", fakes.SHORT, 0, [found["fine"]], 0))

    records, statuses = fakes.measure(["fine"], monkeypatch)

    (process,) = fakes.processes(records)
    assert statuses == {0: "failed"}
    assert process["reason"] == "odd_cases.py is not what it was when the run began"


def test_in_a_shared_process_those_after_a_crash_go_on_in_a_fresh_one(monkeypatch):
    shared = plan.Suite(2, 0.02, 0.1, 0.02, 0.1, half_width=0.2, deadline_s=20, shared=True)

    records, _ = fakes.measure(["fine", "crash", "noise"], monkeypatch, timing=shared, shared=True)

    ended = {(record["case"], record["process"]): record["status"] for record in fakes.processes(records)}
    assert len(ended) == 6
    assert {status for (case, _), status in ended.items() if case == "odd_cases.crash"} == {"failed"}
    assert {status for (case, _), status in ended.items() if case != "odd_cases.crash"} <= MEASURED


def test_what_a_case_prints_is_no_record_and_comes_out_on_stderr(monkeypatch, capfd):
    records, _ = fakes.measure(["noise"], monkeypatch)

    assert {record["kind"] for record in records} == {"sample", "process"}
    seen = capfd.readouterr()
    assert "a library prints to stdout" in seen.err
    assert "and C code does too" in seen.err
    assert "a library" not in seen.out


def test_after_a_signal_what_was_not_measured_is_said_to_be_killed(monkeypatch):
    signals = Signals()
    signals.name = "SIGTERM"

    records, statuses = fakes.measure(["fine", "slow"], monkeypatch, signals=signals)

    assert set(statuses.values()) == {"killed"}
    assert [record["reason"] for record in records] == ["SIGTERM ended the run before it was measured"] * 2
