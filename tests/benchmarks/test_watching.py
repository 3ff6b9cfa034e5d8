"""A child that never stops talking has its deadline too, however slowly it is listened to."""

import json
import os
import subprocess
import sys
import time

import pytest

from tests.benchmarks import fakes_benchmarks as fakes

DEADLINE_S = 3


@pytest.mark.parametrize("at_once", [1 << 20, 1000], ids=["a quick reader", "a slow reader"])
def test_a_talking_case_is_ended_at_its_deadline_and_its_line_is_told(at_once):
    argv = ["--case", str(fakes.ODD), "--only", "odd_cases.talks", "--deadline", str(DEADLINE_S)]
    begin = time.monotonic()
    run = subprocess.Popen(
        [sys.executable, "-m", "benchmarks", *argv],
        cwd=fakes.HERE.parents[1],
        env=fakes.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    while os.read(run.stderr.fileno(), at_once):  # stderr ends with the run
        time.sleep(0.05)
    lines = run.communicate(timeout=10)[0].splitlines()

    process = next(record for record in map(json.loads, lines) if record["kind"] == "process")
    talking = fakes.ODD.read_text().splitlines().index('        print("still talking")') + 1
    assert json.loads(lines[-1])["kind"] == "end"
    assert process["status"] == "timeout"
    assert process["reason"].startswith(f"odd_cases.py:{talking}: no answer within {DEADLINE_S} s, during first step")
    assert time.monotonic() - begin < DEADLINE_S + 17  # of it some 3 s for what the slow reader has still to read
