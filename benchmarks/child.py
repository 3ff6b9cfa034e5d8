"""One fresh process: `python3 -m benchmarks.child` measures the cases of its job and says how each went.

The job is one JSON object on stdin; records go to the file descriptor it names, each a line; whatever anything prints
goes to stderr. Lines of kind `phase` say what is being done, so that a hang can be named.
"""

from __future__ import annotations

import ctypes
import faulthandler
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks import blame, cases, hardware
from benchmarks.clocks import CLOCKS
from benchmarks.endings import redact
from benchmarks.measuring import Misfit, Run, measure
from benchmarks.workbench import Unsupported, Workbench
from schema.errors import KitError
from schema.records import SampleStatus
from schema.stream import compact
from validate.backends import BACKENDS

PR_SET_PDEATHSIG = 1
#: Share of the device's free memory that input sets may take, and a bound for a CPU's.
SHARE = 0.25
CPU_BUDGET_BYTES = 256 << 20
CPU_CACHES = "/sys/devices/system/cpu/cpu0/cache"
#: What torch says, in words, where a type or operator is missing, and where memory is.
NOT_IMPLEMENTED = ("not implemented for", "not supported", "NotImplemented")
NO_MEMORY = ("out of memory", "can't allocate memory", "not enough memory")


def main() -> int:
    """Measure what the job says."""
    begin = time.perf_counter()
    job = json.loads(sys.stdin.readline())
    die_with_parent()
    faulthandler.enable()
    # The parent asks for all threads' stacks before it kills a process that hangs.
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    send = Channel(job["fd"]).send
    send({"kind": "phase", "phase": "import"})
    try:
        found = {loaded.name: loaded for loaded in _load(job)}
        if job.get("describe"):
            send({"kind": "described", "cases": [item for case in found.values() for item in cases.describe(case)]})
            return 0
        import torch
    except (KitError, ImportError, OSError) as error:
        send(
            {
                "kind": "refused",
                "message": getattr(error, "message", "") or repr(error),
                "hint": getattr(error, "hint", ""),
            }
        )
        return 0
    imported_s = time.perf_counter() - begin
    for task in job["tasks"]:
        send(_one(torch, task, job, found, imported_s=imported_s, send=send))
        imported_s = 0.0  # the next case of this process finds torch imported
    return 0


class Channel:
    """The pipe for records, which only the process that it was made in writes to."""

    def __init__(self, fd: int) -> None:
        os.set_inheritable(fd, False)  # noqa: FBT003 - what a case starts has no business with it
        self.fd, self.pid = fd, os.getpid()

    def send(self, item: dict[str, Any]) -> None:
        """Write one record. In a copy made by os.fork, say that there is one, and end it."""
        copied = os.getpid() != self.pid
        # A name that is no UTF-8 must not cost the record.
        data = (compact({"kind": "copied"} if copied else item) + "\n").encode("utf-8", "replace")
        try:
            while data:
                data = data[os.write(self.fd, data) :]
        except OSError as error:
            sys.exit(f"the pipe for records is gone ({error.strerror}): close only file descriptors that you opened")
        if copied:
            os._exit(1)


def die_with_parent() -> None:
    """Ask the kernel to kill this process when its parent dies: a killed run leaves nothing on the GPU."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _load(job: dict[str, Any]) -> list[cases.Loaded]:
    if job.get("file"):
        return [cases.load_file(Path(job["file"]), job["file_sha256"])]
    return cases.built_in()


def _one(
    torch: Any, task: dict[str, Any], job: dict[str, Any], found: dict[str, Any], *, imported_s: float, send: Any
) -> dict[str, Any]:
    """Measure one case and return its process record, whatever happens."""
    item, process = task["item"], task["process"]
    name = item["case"]
    run = Run(name, process, fields={"setup_s": imported_s})

    def phase(text: str) -> None:
        send({"kind": "phase", "case": name, "process": process, "phase": text})

    def emit(index: int, seconds: float, at_s: float) -> None:
        send({"kind": "sample", "case": name, "process": process, "index": index, "seconds": seconds, "at_s": at_s})

    try:
        module = found[name.partition(".")[0]].module
        parameters = {**item["parameters"], "dtype": item["dtype"]}
        bench, clock = _prepare(torch, job, item, process, run)
        fields = measure(
            module,
            {**item, "parameters": parameters},
            bench,
            clock,
            protocol=job["protocol"],
            run=run,
            emit=emit,
            phase=phase,
            origin=job["origin"],
        )
        if bench.notes:
            run.facts["notes"] = bench.notes
    except Unsupported as error:
        fields = run.end(SampleStatus.UNSUPPORTED, blame.words(error) or "it does not say why")
    except BaseException as error:  # noqa: BLE001 - a case may fail, or exit, in any way it likes: that is data
        fields = run.end(*classify(error, job.get("file", "")))
    return {"kind": "process", "case": name, "process": process, "order": task["order"], **_after(torch, job, fields)}


def _prepare(torch: Any, job: dict[str, Any], item: dict[str, Any], process: int, run: Run) -> tuple[Workbench, Any]:
    backend = BACKENDS[job["backend"]]
    device = torch.device(backend.torch_device)
    if not backend.available():
        raise Unsupported(f"torch sees no device for the backend {backend.name}")
    seed = job["protocol"]["seed"] + process
    described = job["device"]
    if device.type == "cpu":
        name, budget, cache = described.get("name", "cpu"), CPU_BUDGET_BYTES, cpu_cache_bytes()
    else:
        torch.cuda.reset_peak_memory_stats()
        name, budget = torch.cuda.get_device_name(device), int(SHARE * torch.cuda.mem_get_info()[0])
        units = torch.cuda.get_device_properties(device).multi_processor_count
        cache = hardware.last_level_cache(name, units, described.get("l2_bytes"))
    run.fields["device"] = name
    run.facts.update(input_seed=seed, inputs="N(0, 1)", torch_threads=torch.get_num_threads())
    torch.manual_seed(seed)
    # The declared type decides, for each case anew: the switch is torch's and global.
    return Workbench(device, seed, cache, budget, tf32=item["dtype"] == "tf32"), CLOCKS[backend.name]()


def _after(torch: Any, job: dict[str, Any], fields: dict[str, Any]) -> dict[str, Any]:
    """Add what the process knows only now, and give memory back before the next case."""
    import gc

    gc.collect()
    if BACKENDS[job["backend"]].torch_device == "cuda" and torch.cuda.is_initialized():
        try:
            fields.setdefault("facts", {})["peak_allocated_bytes"] = torch.cuda.max_memory_allocated()
            torch.cuda.empty_cache()
        except RuntimeError as error:
            # After a fault on the device every further call fails; the record must still come out.
            fields.setdefault("facts", {})["peak_allocated_bytes"] = {"unknown": str(error).splitlines()[0]}
    return fields


def classify(error: BaseException, path: str = "") -> tuple[SampleStatus, str]:
    """Return the status and reason for what a case raised; the reason begins with the place in the user's own file."""
    first = blame.words(error) or "it says no more"
    misfit = isinstance(error, Misfit)
    text = first[:400] if misfit else f"{type(error).__name__}: {redact(first)[:300]}"
    if path:
        place = blame.of_function(error.function, path) if misfit else blame.of_error(error, path)
        text = f"{place}: {text}"
    if isinstance(error, MemoryError) or "OutOfMemory" in type(error).__name__ or any(s in first for s in NO_MEMORY):
        return SampleStatus.OUT_OF_MEMORY, text
    if isinstance(error, NotImplementedError) or any(s in first for s in NOT_IMPLEMENTED):
        return SampleStatus.UNSUPPORTED, text
    return SampleStatus.FAILED, text


def cpu_cache_bytes() -> int | None:
    """Return the largest cache that the kernel lists for the first processor; None where it lists none."""
    sizes = []
    for path in Path(CPU_CACHES).glob("index*/size"):
        text = path.read_text(encoding="ascii").strip()
        if text.endswith("K") and text[:-1].isdigit():
            sizes.append(int(text[:-1]) * 1024)
    return max(sizes, default=None)


if __name__ == "__main__":
    sys.exit(main())
