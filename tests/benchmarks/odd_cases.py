"""Cases that go wrong in every way a process can, without torch.

`VARIANTS` names them; each step sleeps a little so that there is something to time.
"""

# ruff: noqa: ARG001 -- a case has these arguments, used or not

import os
import signal
import sys
import time
from pathlib import Path

GROUP = "custom"
UNIT = "s"
NAMES = (
    "fine", "hang", "crash", "exits", "oom", "hip-oom", "unsupported", "no-kernel", "wrong", "nan-before", "nan-after",
    "noise", "raises", "slow", "path",
)  # fmt: skip
VARIANTS = {name: {"dtype": "fp32", "what": name} for name in NAMES}
FINE = {"passed": True, "error": 0.0, "tolerance": 0.0, "finite": True, "reference": "itself"}


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
    return {"what": what, "steps": 0, "checks": 0}


def step(state, i):
    state["steps"] += 1
    what = state["what"]
    if what == "hang":
        print("about to hang", flush=True)
        time.sleep(600)
    if what == "crash":
        print("about to crash", flush=True)
        os.kill(os.getpid(), signal.SIGSEGV)
    if what == "exits":
        os._exit(3)
    if what == "oom":
        raise MemoryError
    if what == "hip-oom":
        raise OutOfMemoryError("HIP out of memory. Tried to allocate 2.00 GiB\nmore text")
    if what == "no-kernel":
        raise RuntimeError("\"addmm_impl_cpu_\" not implemented for 'Half'")
    if what == "path":
        Path("/srv/my secret/weights.bin").read_bytes()
    if what == "raises":
        raise ValueError("this case is broken")
    time.sleep(0.05 if what == "slow" else 0.0005)
    return state


def check(state, i, output):
    state["checks"] += 1
    if state["what"] == "wrong":
        return {**FINE, "passed": False, "error": 0.5}
    if state["what"] == "nan-before" or (state["what"] == "nan-after" and state["checks"] > 1):
        return {**FINE, "passed": False, "error": None, "finite": False}
    return FINE
