"""A long silence is broken, a short one is not."""

import time

from benchmarks import progress


def test_after_a_while_it_is_said_what_goes_on_and_how_long_it_may(monkeypatch, capsys):
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    shown = progress.Progress("importing own.py", 180.0)

    for step in (1.0, progress.QUIET_S - 1, 1.0, progress.QUIET_S):
        now[0] += step
        shown.tick()
    shown.begin("sampling")
    now[0] += progress.QUIET_S - 1
    shown.tick()

    assert capsys.readouterr().err.splitlines() == [
        "    importing own.py: 15 s so far (a case may take 180 s)",
        "    importing own.py: 31 s so far (a case may take 180 s)",
    ]
