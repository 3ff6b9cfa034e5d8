"""The host's side of a run: every line is held against the schema, and kept as it came."""

import errno
import json
import os
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from images import running
from images.access import access
from images.endpoint import EngineError
from images.running import Intake, stream
from schema import documents
from schema import stream as streams
from schema.canon import digest
from schema.errors import KitError
from schema.stream import compact
from tests.fakes import ABOUT, FakeEngine, Script

IMAGE = {"image_id": "sha256:" + "1" * 64, "engine_id": "sha256:" + "2" * 64}
NOW = "2026-11-30T12:00:00Z"
HOST = dict.fromkeys(["identity", "kernel", "cpu", "cores", "memory_bytes", "driver"]) | {"architecture": "x86_64"}


@dataclass
class Lock:
    document: dict = field(default_factory=lambda: {"name": "x"})

    @property
    def sha256(self):
        return digest(self.document)


LOCK = Lock()


def start(files=None, **changes):
    from schema.sources import digest as sources_digest

    context = json.loads((files or {}).get("context.json", b"{}"))
    return {
        "kind": "start",
        "document": "report-1",
        "started_at": NOW,
        "runtime": "container",
        "backend": context.get("backend", "cpu"),
        "lock_sha256": context.get("lock_sha256", LOCK.sha256),
        "cargo_sha256": sources_digest(),
        "image_id": context.get("image_id", IMAGE["image_id"]),
        "python": "3.13.5",
        "torch": {"version": None, "build": None},
        "devices": [],
        "host": HOST,
        "environment": {},
    } | changes


FINDING = {"kind": "finding", "check": "devices", "code": "devices.none", "status": "skip", "reason": "no GPU"}
FACTS = {"kind": "facts", "check": "devices", "question": "Are they there?", "seconds": 0.1, "facts": {"a": [1]}}
SAMPLE = {"kind": "sample", "case": "copy.fp32", "process": 0, "index": 0, "seconds": 0.001, "at_s": 1.5}


def end(**counts):
    return {"kind": "end", "finished_at": NOW, "counts": {"start": 1} | counts}


def lines(*items):
    return [item if isinstance(item, bytes) else compact(item).encode() for item in items]


def ran(*items, files=None, out, module="validate", **how):
    """Run a script that prints these records after a right start."""

    def script(files, _argv):
        first = start(files, document={"validate": "report-1", "benchmarks": "results-1"}[module])
        return Script(lines(first, *items), **how)

    engine = FakeEngine(script)
    return stream(engine, IMAGE, LOCK, module, ["--x"], backend="cpu", out_path=out, extra=files), engine


def left_in(folder):
    return sorted(path.name for path in folder.iterdir() if not path.name.endswith(".lock"))


def test_records_come_back_live_and_lie_in_the_file_as_they_came(tmp_path):
    out, seen = tmp_path / "deep/report.jsonl", []
    odd = b'{"kind": "finding", "check":"a","code":"a.b",  "status":"pass"}'

    def script(files, _argv):
        return Script(lines(start(files), FACTS, odd, end(facts=1, finding=1)))

    engine = FakeEngine(script)
    records = stream(engine, IMAGE, LOCK, "validate", [], backend="cpu", out_path=out, on_record=seen.append)

    assert [record["kind"] for record in records] == ["start", "facts", "finding", "end"]
    assert seen == records
    assert out.read_bytes().splitlines()[2] == odd
    assert list(streams.read(out.read_bytes().splitlines())) == records
    assert left_in(out.parent) == ["report.jsonl"]


def test_the_module_runs_in_the_image_by_its_engine_s_id_with_the_cargo(tmp_path):
    _, engine = ran(end(), out=tmp_path / "r", files={"mine.py": b"pass"})
    run = engine.ran[0]

    assert run["image"] == IMAGE["engine_id"]
    assert run["argv"] == ["python3", "-m", "validate", "--x"]
    assert json.loads(run["files"]["context.json"]) == {
        "runtime": "container",
        "backend": "cpu",
        "image_id": IMAGE["image_id"],
        "lock_sha256": LOCK.sha256,
    }
    assert run["files"]["case/mine.py"] == b"pass"
    assert run["access"] == access("cpu", engine.about())


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("image_id", "sha256:" + "9" * 64),
        ("lock_sha256", "9" * 64),
        ("cargo_sha256", "9" * 64),
        ("backend", "cuda"),
        ("runtime", "host"),
        ("document", "results-1"),
    ],
)
def test_a_start_that_names_something_else_than_was_sent_is_refused(key, value, tmp_path):
    engine = FakeEngine(lambda files, _argv: Script(lines(start(files, **{key: value}), end())))
    with pytest.raises(KitError, match=f"says {key}"):
        stream(engine, IMAGE, LOCK, "validate", [], backend="cpu", out_path=tmp_path / "r")

    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize(
    ("items", "said"),
    [
        pytest.param([b"hello"], "line 2 of the stream is not strict JSON", id="noise"),
        pytest.param([b""], "line 2 of the stream is not strict JSON", id="an empty line"),
        pytest.param([b"[]"], "line 2 of the stream is not a record", id="no object"),
        pytest.param([{"kind": "nonsense"}], "line 2 of the stream is not a record", id="unknown kind"),
        pytest.param([{"kind": ["start"]}], "line 2 of the stream is not a record", id="odd kind"),
        pytest.param([SAMPLE], "line 2 of the stream is not a record of report-1", id="a record of the other document"),
        pytest.param([FACTS, FINDING | {"x": 1}], "line 3 of the stream (finding)", id="unknown key"),
        pytest.param([FINDING | {"status": "maybe"}], "line 2 of the stream (finding)", id="unknown status"),
        pytest.param([b'{"kind":"facts","kind":"end"}'], "twice", id="one key twice"),
        pytest.param(
            [FACTS | {"facts": {"a": [[[[1]]]] * 1}}, b'{"kind":"facts","facts":' + b"[" * 60 + b"]" * 60 + b"}"],
            "nested deeper",
            id="too deep",
        ),
        pytest.param([start()], "line 2: start is out of order", id="a second start"),
        pytest.param([end(), FINDING], "line 3: finding is out of order", id="something after the end"),
        pytest.param([FINDING, end(finding=2)], "its `end` says", id="wrong counts"),
    ],
)
def test_a_wrong_line_is_named_and_ends_the_run(items, said, tmp_path):
    with pytest.raises(KitError) as caught:
        ran(*items, out=tmp_path / "r")

    assert said in caught.value.message
    assert not (tmp_path / "r").exists()


def test_a_first_line_that_is_no_start_is_refused(tmp_path):
    engine = FakeEngine(Script(lines(FINDING)))
    with pytest.raises(KitError, match="line 1: finding is out of order"):
        stream(engine, IMAGE, LOCK, "validate", [], backend="cpu", out_path=tmp_path / "r")

    assert left_in(tmp_path) == []


@pytest.mark.parametrize("code", [0, 1, 139])
def test_a_stream_without_an_end_is_kept_apart_whatever_the_exit_code(code, tmp_path):
    out = tmp_path / "report.jsonl"
    out.write_text("an older report\n")
    with pytest.raises(KitError, match=rf"exit code {code}( \(SIGSEGV\))? and no `end`") as caught:
        ran(FINDING, out=out, code=code, stderr=["Segmentation fault"])

    assert "Segmentation fault" in caught.value.message
    assert "2 records that came are kept in" in caught.value.message
    assert out.read_text() == "an older report\n"
    assert len((tmp_path / "report.jsonl.partial").read_text().splitlines()) == 2


def test_what_came_before_a_deadline_is_kept_and_the_deadline_said(tmp_path):
    error = EngineError("killed at its deadline", "raise it")
    with pytest.raises(EngineError) as caught:
        ran(FINDING, out=tmp_path / "r", error=error, stderr=["loading"])

    assert "deadline; it said last:\n  loading\nthe 2 records that came are kept in" in caught.value.message
    assert caught.value.hint == "raise it"


def test_what_came_before_ctrl_c_is_kept(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        ran(FINDING, out=tmp_path / "r", error=KeyboardInterrupt())

    assert len((tmp_path / "r.partial").read_text().splitlines()) == 2


def taking(out, *more):
    with Intake(out, {"document": "report-1"}) as intake:
        for line in lines(start(), *more):
            intake.take(line)
        intake.finish("cut off")


def test_a_run_that_broke_off_is_in_nobodys_way(tmp_path):
    for _ in range(2):
        with pytest.raises(KitError, match="cut off"):
            taking(tmp_path / "r", FINDING)


def test_a_whole_run_takes_away_what_an_earlier_one_left_that_broke_off(tmp_path):
    with pytest.raises(KitError, match="cut off"):
        taking(tmp_path / "r", FINDING)
    assert left_in(tmp_path) == ["r.partial"]

    taking(tmp_path / "r", FINDING, end(finding=1))

    assert left_in(tmp_path) == ["r"]


def full(*_args, **_more):
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize(
    ("module", "name", "left"),
    [
        pytest.param(running, "write_all", [], id="write"),
        pytest.param(running.os, "fsync", ["r.partial"], id="fsync"),
        pytest.param(Path, "replace", ["r.part"], id="rename"),
    ],
)
def test_a_full_disk_is_said_whenever_it_shows(module, name, left, tmp_path, monkeypatch):
    monkeypatch.setattr(module, name, full)

    with pytest.raises(KitError, match=r"cannot write .*: No space left") as caught:
        taking(tmp_path / "r", end())

    assert left_in(tmp_path) == left
    assert all(f"2 records that came are kept in {tmp_path / place}" in caught.value.message for place in left)


def test_a_disk_that_refuses_at_the_very_end_is_said(tmp_path):
    with pytest.raises(KitError, match=r"cannot write .*: Bad file descriptor"), Intake(tmp_path / "r", {}) as intake:
        os.close(intake.file.fileno())


def test_what_is_more_than_the_least_is_said_once_before_the_run_says_anything(tmp_path, monkeypatch):
    note = "node is open to its owner alone"
    granted = access("cpu", ABOUT)
    granted = replace(granted, devices=replace(granted.devices, notes=(note,)))
    monkeypatch.setattr(running, "access", lambda *_: granted)
    heard = []

    def script(files, _argv):
        return Script(lines(start(files)), stderr=["the run's own word"], code=3)

    with pytest.raises(KitError) as caught:
        stream(
            FakeEngine(script),
            IMAGE,
            LOCK,
            "validate",
            [],
            backend="cpu",
            out_path=tmp_path / "r",
            on_stderr=heard.append,
        )

    assert heard == [note, "the run's own word"]
    assert note not in caught.value.message, "the run did not say it"


def test_an_exit_code_after_a_whole_stream_is_the_run_s_own_business(tmp_path):
    assert len(ran(FINDING, end(finding=1), out=tmp_path / "r", code=1)[0]) == 3


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(KitError, match=r"cannot write"):
        ran(end(), out=tmp_path / "file" / "r")


@pytest.mark.parametrize(
    "seconds", [b"1e999", b"0", b"-1", b"NaN", b"null", b'"1"', b"true"], ids=lambda text: text.decode()
)
def test_a_sample_is_not_let_through_by_the_fast_path(seconds, tmp_path):
    line = b'{"kind":"sample","case":"a","process":0,"index":0,"seconds":' + seconds + b',"at_s":1}'
    with pytest.raises(KitError, match="line 2 of the stream"):
        ran(line, out=tmp_path / "r", module="benchmarks")


def test_samples_come_in_faster_than_anything_makes_them(tmp_path):
    count = 20000
    items = lines(*(SAMPLE | {"index": number} for number in range(count)))
    sent = {"document": "results-1"}
    with Intake(tmp_path / "r", sent) as intake:
        intake.take(lines(start(document="results-1", protocol=PROTOCOL))[0])
        documents.validator("results-1", "#/$defs/sample")
        began = time.perf_counter()
        for item in items:
            intake.take(item)
        seconds = time.perf_counter() - began
        intake.take(lines(end(sample=count))[0])
        intake.finish("")

    assert seconds / count < 200e-6  # 10 us here; the general validator takes far more than the limit


PROTOCOL = {
    "suite": "smoke",
    "processes": 1,
    "seed": 0,
    "alpha": 0.05,
    "margin": 0.02,
    "test": "tost-log-process-medians",
    "warm_up_s": 0,
    "sampling_s": 0,
    "sampling_max_s": 0,
    "half_width": 0.01,
    "deadline_s": 1,
    "order": [],
    "cases": [
        {
            "case": "copy.fp32",
            "title": "copy",
            "group": "memory",
            "parameters": {},
            "dtype": "fp32",
            "unit": "B/s",
            "direction": "higher",
            "work": 8,
            "flop": None,
            "bytes": 8,
        }
    ],
}
