"""Cases that go wrong in every way a process can, without torch.

`VARIANTS` names them; each step sleeps a little so that there is something to time.
"""

# ruff: noqa: ARG001 -- a case has these arguments, used or not

import atexit
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

GROUP = "custom"
UNIT = "s"
NAMES = (
    "fine", "hang", "crash", "exits", "oom", "hip-oom", "unsupported", "no-kernel", "wrong", "nan-before", "nan-after",
    "noise", "raises", "slow", "path", "no-words", "system-exit", "interrupt", "odd-name", "no-memory-at-setup",
    "check-empty", "check-none", "check-nan", "check-text", "check-more", "check-praises", "check-denies",
    "check-raises", "forks", "forks-and-exits", "writes-records", "writes-noise", "closes-files",
    "helper", "escaped", "escaped-talking", "thread", "talks", "sets", "writes-a-line", "wrong-then-noise",
    "wrong-then-dies", "clock-slow", "clock-fast", "clock-short", "clock-long", "gives-nothing", "silent-error",
    "error-without-words", "silent-refusal",
)  # fmt: skip
VARIANTS = {name: {"dtype": "fp32", "what": name} for name in NAMES}
FINE = {"passed": True, "error": 0.0, "tolerance": 0.0, "finite": True, "reference": "itself"}


CHECKS = {
    "check-empty": {},
    "check-none": None,
    "check-nan": {**FINE, "error": float("nan")},
    "check-text": {**FINE, "error": "small"},
    "check-more": {**FINE, "speed": 3},
    "check-praises": {**FINE, "error": 1.0},
    "check-denies": {**FINE, "passed": False},
}


def refuse_silently():
    from benchmarks.workbench import Unsupported

    raise type("Refusal", (SilentError, Unsupported), {})


LINGERING = [sys.executable, "-c", "import time; time.sleep(30)"]
AT_ONCE = {
    "helper": lambda: subprocess.Popen(LINGERING),
    "escaped": lambda: subprocess.Popen(LINGERING, start_new_session=True),
    "escaped-talking": lambda: subprocess.Popen(["yes"], start_new_session=True),
    "thread": lambda: threading.Thread(target=time.sleep, args=(30,)).start(),
    # How many seconds a second lasts, by the clock that dates samples and by the one that times them.
    "clock-slow": lambda: bend(1 / 50, 1 / 50),
    "clock-fast": lambda: bend(50, 50),
    "clock-short": lambda: bend(1, 1 / 1000),
    "clock-long": lambda: bend(1, 50),
    "silent-refusal": refuse_silently,
}


class SilentError(Exception):
    def __str__(self):
        raise SystemExit(9)

    __repr__ = __str__


class WordlessError(Exception):
    def __str__(self):
        return ""

    __repr__ = __str__


class OutOfMemoryError(RuntimeError):
    pass


def work(p):
    return {}


def prepare(bench, p):
    from benchmarks.workbench import Unsupported

    what = p["what"]
    if what == "unsupported":
        raise Unsupported("no such unit in this device")
    if what == "noise":
        print("a library prints to stdout")
        os.write(1, b"and C code does too\n")
        print("and to stderr", file=sys.stderr)
    if what == "no-words":
        raise Unsupported
    if what == "no-memory-at-setup":
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory")
    if what == "sets":
        list(bench.sets(1))
    if what in AT_ONCE:
        AT_ONCE[what]()
    if what == "forks":
        os.fork()
    if what == "forks-and-exits" and os.fork() == 0:
        os._exit(0)
    return {"what": what, "steps": 0, "checks": 0}


def bend(dates, times):
    """Put other clocks where the kit has its own."""
    from benchmarks import clocks, measuring

    begin, begin_ns = time.monotonic(), time.perf_counter_ns()

    class Bent:
        perf_counter = staticmethod(time.perf_counter)
        monotonic = staticmethod(lambda: begin + (time.monotonic() - begin) * dates)
        perf_counter_ns = staticmethod(lambda: begin_ns + int((time.perf_counter_ns() - begin_ns) * times))

    clocks.time = measuring.time = Bent


class Deadly:
    """Ends the process as soon as garbage is collected."""

    def __init__(self):
        self.me = self

    def __del__(self):
        os._exit(5)


def every_file(act):
    for fd in range(3, 20):
        with contextlib.suppress(OSError):
            act(fd)


def step(state, i):
    state["steps"] += 1
    STEPS.get(state["what"], lambda: None)()
    time.sleep(0.05 if state["what"] == "slow" else 0.0005)
    return None if state["what"] == "gives-nothing" else state


def hang():
    print("about to hang", flush=True)
    time.sleep(600)


def talks():
    while True:
        print("still talking")


def crash():
    print("about to crash", flush=True)
    os.kill(os.getpid(), signal.SIGSEGV)


def oom():
    raise MemoryError


def hip_oom():
    raise OutOfMemoryError("HIP out of memory. Tried to allocate 2.00 GiB\nmore text")


def no_kernel():
    raise RuntimeError("\"addmm_impl_cpu_\" not implemented for 'Half'")


def path():
    Path("/srv/my secret/weights.bin").read_bytes()


def raises():
    raise ValueError("this case is broken")


def silent_error():
    raise SilentError


def error_without_words():
    raise WordlessError


def system_exit():
    sys.exit("enough")


def interrupt():
    raise KeyboardInterrupt


def odd_name():
    raise LookupError("caf\udce9")


WRONG_THEN = {
    "wrong-then-noise": lambda: atexit.register(every_file, lambda fd: os.write(fd, b"noise\n")),
    "wrong-then-dies": Deadly,
}
STEPS = {
    "hang": hang,
    "talks": talks,
    "crash": crash,
    "exits": lambda: os._exit(3),
    "oom": oom,
    "hip-oom": hip_oom,
    "no-kernel": no_kernel,
    "path": path,
    "raises": raises,
    "silent-error": silent_error,
    "error-without-words": error_without_words,
    "system-exit": system_exit,
    "interrupt": interrupt,
    "odd-name": odd_name,
    "writes-records": lambda: every_file(lambda fd: os.write(fd, b'{"kind":"sample","case":"x"}\n')),
    "writes-a-line": lambda: every_file(lambda fd: os.write(fd, os.environb[b"ODD_LINE"] + b"\n")),
    "writes-noise": lambda: every_file(lambda fd: os.write(fd, b"\xff garbage")),
    "closes-files": lambda: every_file(os.close),
}


def check(state, i, output):
    state["checks"] += 1
    if state["what"] == "check-raises":
        return FINE["speed"]
    if state["what"] in CHECKS:
        return CHECKS[state["what"]]
    if state["what"] in WRONG_THEN and state["checks"] > 1:
        WRONG_THEN[state["what"]]()
    if state["what"] == "wrong" or (state["what"] in WRONG_THEN and state["checks"] > 1):
        return {**FINE, "passed": False, "error": 0.5}
    if state["what"] == "nan-before" or (state["what"] == "nan-after" and state["checks"] > 1):
        return {**FINE, "passed": False, "error": None, "finite": False}
    return FINE
