"""A GPU whose queue runs beside the host, and a clock that gives what a script says; both on a time of their own."""

# ruff: noqa: ARG002, N802 -- names and arguments are those of the real things

import time
from collections import deque


class Event:
    """As torch.cuda.Event with timing."""

    def __init__(self, device):
        self.device, self.at = device, 0.0

    def record(self):
        self.at = self.device.queue(0.0)

    def synchronize(self):
        self.device.wait(self.at)

    def query(self):
        return self.device.now >= self.at

    def elapsed_time(self, other):
        return (other.at - self.at) * 1e3


class FakeCuda:
    """As much of torch.cuda as timing needs: one queue, whose work starts when what was queued before is done.

    When it holds `room` launches it makes the host wait. Time passes only where the host waits or works.
    """

    CYCLES_A_SECOND = 1e9

    def __init__(self, monkeypatch, room=1024):
        self.now = self.free_at = 100.0
        monkeypatch.setattr(time, "perf_counter", lambda: self.now)
        self.ends = deque(maxlen=room)

    def queue(self, seconds):
        if len(self.ends) == self.ends.maxlen:
            self.wait(self.ends[0])
        self.free_at = max(self.free_at, self.now) + seconds
        self.ends.append(self.free_at)
        return self.free_at

    def wait(self, until):
        self.now = max(self.now, until)

    def synchronize(self):
        self.wait(self.free_at)

    def Event(self, *, enable_timing):
        assert enable_timing
        return Event(self)

    def _sleep(self, cycles):
        self.queue(cycles / self.CYCLES_A_SECOND)

    def steps(self, *, host_s, device_s, launches=1):
        """Return `run(n)`: n steps of so many launches, which cost the host and the device so much a step."""

        def run(count):
            for _ in range(count * launches):
                self.wait(self.now + host_s / launches)
                self.queue(device_s / launches)

        return run


class ScriptedClock:
    """A clock whose samples are `seconds(index)` long, on a time of its own; nothing waits."""

    name = "host"
    max_inner = None
    resolution_s = 1e-9

    def __init__(self, seconds, monkeypatch):
        self.seconds, self.index, self.now = seconds, 0, 100.0
        self.facts = {"timing": "scripted"}
        monkeypatch.setattr(time, "monotonic", lambda: self.now)

    def synchronize(self):
        pass

    def survey(self, run, *, may_delay):
        self.may_delay = may_delay
        return self.seconds(0)

    def samples(self, run, inner):
        while True:
            count = inner()
            run(count)
            seconds = self.seconds(self.index)
            self.index += 1
            self.now += seconds * count
            yield seconds, self.now
