"""Results that were measured otherwise are set aside when new ones take their place; nothing else is kept twice."""

import json

import pytest

from commands import earlier
from tests.bundle import fakes_bundle as fakes


def results(path, *, suite="publish", seed=1, status="ok", when="2026-11-30T12:00:00Z"):
    records = fakes.results(processes=3, samples=5, seed=seed)
    records[0]["protocol"]["suite"] = suite
    records[0]["started_at"] = when
    for record in records:
        if record["kind"] == "process":
            record["status"] = status
    path.write_bytes(fakes.lines(records))
    return path.read_bytes()


def kept(folder):
    return {path.name: path.read_bytes() for path in (folder / "earlier").glob("*")}


@pytest.mark.parametrize(
    ("before", "after", "aside"),
    [
        pytest.param({}, {"suite": "smoke"}, True, id="a smoke run after a long one"),
        pytest.param({}, {"status": "failed"}, True, id="a run that failed"),
        pytest.param({}, {"suite": "custom"}, True, id="a case of the user's own"),
        pytest.param({}, {"seed": 2, "when": "2026-12-01T00:00:00Z"}, False, id="the same again"),
        pytest.param({"status": "failed"}, {"suite": "smoke"}, False, id="a failed run before"),
        pytest.param({"status": "throttled"}, {"suite": "smoke"}, True, id="throttled figures are figures"),
    ],
)
def test_what_was_measured_otherwise_stays(tmp_path, capsys, before, after, aside):
    path = tmp_path / "results.jsonl"
    old = results(path, **before)

    with earlier.setting_aside(path):
        path.unlink()
        results(path, **after)

    name = "results-publish-20261130T120000Z.jsonl"
    assert kept(tmp_path) == ({name: old} if aside else {})
    assert (name in capsys.readouterr().err) == aside
    assert (tmp_path / "earlier").exists() == aside


def test_a_run_that_was_interrupted_leaves_all_as_it_was(tmp_path):
    path = tmp_path / "results.jsonl"
    old = results(path)

    with pytest.raises(KeyboardInterrupt), earlier.setting_aside(path):
        raise KeyboardInterrupt

    assert (path.read_bytes(), sorted(tmp_path.iterdir())) == (old, [path])


@pytest.mark.parametrize(
    "data", [None, b"", b"\xff", b"{}\n", b"[]\n", b'{"kind":"start"}\n', b'{"protocol":{"cases":7}}\n', b"{\n"]
)
def test_what_cannot_be_read_is_nobodys_loss(tmp_path, data):
    path = tmp_path / "results.jsonl"
    if data is not None:
        path.write_bytes(data)

    with earlier.setting_aside(path):
        results(path)

    assert kept(tmp_path) == {}


def test_a_suite_that_names_a_path_names_no_path(tmp_path):
    path = tmp_path / "results.jsonl"
    results(path, suite="../../x")

    with earlier.setting_aside(path):
        path.unlink()
        results(path, suite="smoke")

    (aside,) = kept(tmp_path)
    assert "/" not in aside
    assert json.loads((tmp_path / "earlier" / aside).read_text(encoding="utf-8").splitlines()[0])["kind"] == "start"
