"""Runs of the real parent and real children over cases without torch."""

import hashlib
import io
import json
import os
import time
from pathlib import Path

from benchmarks import plan, running
from benchmarks.cases import describe, load_file
from benchmarks.sampler import Sampler
from schema.stream import Writer
from validate.entry_point import Signals

HERE = Path(__file__).parent
ODD = HERE / "odd_cases.py"
FAKE_TORCH = HERE / "fake_torch"
SHORT = plan.Suite(1, 0.05, 0.2, 0.05, 0.2, half_width=0.2, deadline_s=20)


def digest():
    return hashlib.sha256(ODD.read_bytes()).hexdigest()


def environment():
    """Return the variables of a process that finds the fake torch first."""
    return {**os.environ, "PYTHONPATH": str(FAKE_TORCH), "PYTHONDONTWRITEBYTECODE": "1"}


def protocol(names, timing=SHORT, deadline_s=0):
    found = {item["case"].partition(".")[2]: item for item in describe(load_file(ODD, digest()))}
    return plan.protocol("custom", timing, 0, [found[name] for name in names], deadline_s)


def measure(names, monkeypatch, *, timing=SHORT, deadline_s=0, shared=False, signals=None):
    """Run the odd cases for real; return the records, and the status of each position."""
    monkeypatch.setenv("PYTHONPATH", str(FAKE_TORCH))
    channel = io.StringIO()
    device = {"name": "a processor", "pci": None}
    origin = time.monotonic()
    job = {"backend": "cpu", "device": device, "origin": origin, "file": str(ODD), "file_sha256": digest()}
    sampler = Sampler("cpu", None, origin)
    try:
        statuses = running.run(
            Writer(channel),
            protocol(names, timing, deadline_s),
            job,
            sampler,
            signals or Signals(),
            shared=shared,
            cool_down_s=0.0,
        )
    finally:
        sampler.close()
    return [json.loads(line) for line in channel.getvalue().splitlines()], statuses


def processes(records):
    return [record for record in records if record["kind"] == "process"]
