"""A GPU whose queue runs beside the host in real time, and a clock that gives what a script says."""

# ruff: noqa: ARG002, N802 -- names and arguments are those of the real things

import time


class Event:
    """As torch.cuda.Event with timing."""

    def __init__(self, device):
        self.device, self.at = device, 0.0

    def record(self):
        self.at = self.device.queue(0.0)

    def synchronize(self):
        self.device.wait(self.at)

    def elapsed_time(self, other):
        return (other.at - self.at) * 1e3


class FakeCuda:
    """As much of torch.cuda as timing needs: one queue, whose work starts when what was queued before is done."""

    CYCLES_A_SECOND = 1e9

    def __init__(self):
        self.free_at = time.perf_counter()

    def queue(self, seconds):
        self.free_at = max(self.free_at, time.perf_counter()) + seconds
        return self.free_at

    @staticmethod
    def wait(until):
        while time.perf_counter() < until:
            pass

    def synchronize(self):
        self.wait(self.free_at)

    def Event(self, *, enable_timing):
        assert enable_timing
        return Event(self)

    def _sleep(self, cycles):
        self.queue(cycles / self.CYCLES_A_SECOND)

    def steps(self, *, host_s, device_s):
        """Return `run(n)`: n launches that cost the host and the device so much each."""

        def run(count):
            for _ in range(count):
                self.wait(time.perf_counter() + host_s)
                self.queue(device_s)

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
