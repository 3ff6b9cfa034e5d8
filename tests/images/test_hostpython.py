import sys

import pytest

from images import hostpython
from schema import sources
from schema.errors import KitError
from schema.stream import compact


def cargo(root, program, name="validate"):
    """Lay out a checkout whose only module does what `program` says."""
    (root / name).mkdir(parents=True)
    (root / name / "__init__.py").write_text("", encoding="utf-8")
    (root / name / "__main__.py").write_text(program, encoding="utf-8")


def start(**changed):
    said = {
        "kind": "start",
        "document": "report-1",
        "started_at": "2026-11-30T00:00:00Z",
        "runtime": "host",
        "backend": "cpu",
        "lock_sha256": None,
        "cargo_sha256": "0" * 64,
        "image_id": None,
        "python": "3.13.5",
        "torch": {"version": None, "build": None},
        "devices": [],
        "host": dict.fromkeys(("identity", "kernel", "cpu", "cores", "memory_bytes", "driver")) | {"architecture": "x"},
        "environment": {},
    }
    return compact(said | changed)


END = compact({"kind": "end", "finished_at": "2026-11-30T00:00:01Z", "counts": {"start": 1}})


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "ROOT", tmp_path / "checkout")
    monkeypatch.setattr(sources, "digest", lambda: "0" * 64)
    return tmp_path / "checkout"


def run(tmp_path, **options):
    heard = []
    options = {
        "python": sys.executable,
        "deadline_s": 30,
        "out_path": tmp_path / "out" / "report.jsonl",
        "on_stderr": heard.append,
    } | options
    return hostpython.stream("validate", [], **options), heard


def test_records_come_from_stdout_and_words_from_stderr(checkout, tmp_path):
    cargo(checkout, f"import sys\nprint({start()!r})\nprint('careful', file=sys.stderr)\nprint({END!r})\n")

    records, heard = run(tmp_path)

    assert [record["kind"] for record in records] == ["start", "end"]
    assert heard == ["careful"]
    assert (tmp_path / "out" / "report.jsonl").read_text(encoding="utf-8") == f"{start()}\n{END}\n"


@pytest.mark.parametrize(
    ("program", "message"),
    [
        pytest.param("raise SystemExit(3)", "exit code 3 and no `end`", id="it ends before it begins"),
        pytest.param(f"print({start()!r})", "exit code 0 and no `end`", id="it ends without an end"),
        pytest.param("print('hello')", "not strict JSON", id="it prints something else"),
        pytest.param(f"print({start(cargo_sha256='1' * 64)!r})", "cargo_sha256", id="other sources ran than ours"),
        pytest.param("import os\nos.kill(os.getpid(), 9)", "exit code -9", id="it is killed"),
        pytest.param("import time\ntime.sleep(60)", "killed at its deadline", id="it hangs"),
    ],
)
def test_a_run_that_goes_wrong_is_an_error_and_leaves_no_result(checkout, tmp_path, program, message):
    cargo(checkout, program)

    with pytest.raises(KitError, match=message):
        run(tmp_path, deadline_s=1 if "sleep" in program else 30)

    assert not (tmp_path / "out" / "report.jsonl").exists()
