"""Does the kit's device time agree with Triton's `do_bench`? `python3 tests/gpu/compare_do_bench.py` on a GPU.

Both time the same bf16 products of the same random factors in one process, in turns, with the last-level cache cold:
`do_bench` by clearing a buffer before each call, the kit by using input sets in turn. Prints one JSON document; ends 1
when the medians differ by more than 2 %.

One thing differs by nature: `do_bench` spends part of its time clearing the cache, in which the card draws less power,
so a card at its power cap may clock a little higher under it.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks import hardware, statistics
from benchmarks.cases import matmul
from benchmarks.clocks import EventClock
from benchmarks.measuring import Run, sample, warm_up
from benchmarks.steps import Steps
from benchmarks.workbench import Workbench
from validate.nvml import Nvml

MARGIN = 0.02
PROTOCOL = {"warm_up_s": 3.0, "warm_up_max_s": 15.0, "sampling_s": 3.0, "sampling_max_s": 6.0, "half_width": 0.002}


def main() -> int:
    """Compare, print, judge."""
    import torch
    import triton.testing

    options = argparse.ArgumentParser()
    options.add_argument("--size", type=int, default=8192)
    options.add_argument("--rounds", type=int, default=5)
    options = options.parse_args()
    size, device = options.size, torch.device("cuda")
    name = torch.cuda.get_device_name(device)
    properties = torch.cuda.get_device_properties(device)
    cache = hardware.last_level_cache(name, properties.multi_processor_count, properties.L2_cache_size)
    bench = Workbench(device, 0, cache, torch.cuda.mem_get_info()[0] // 4)
    state = matmul.prepare(bench, {"dtype": "bf16", "m": size, "n": size, "k": size})
    turns = itertools.cycle(state["sets"])

    def product():
        a, b, out = next(turns)
        return torch.matmul(a, b, out=out)

    before = matmul.check(state, 0, matmul.step(state, 0))
    flop = 2 * size**3
    nvml = Nvml()
    pci = f"{properties.pci_domain_id:04x}:{properties.pci_bus_id:02x}:{properties.pci_device_id:02x}.0"
    rounds = []
    for number in range(options.rounds):
        turn = {}
        for who in ("kit", "do_bench") if number % 2 else ("do_bench", "kit"):
            begin = time.monotonic()
            if who == "kit":
                seconds, how = _kit(state, bench)
                turn["kit_how"] = how
            else:
                seconds = 1e-3 * triton.testing.do_bench(product, warmup=3000, rep=3000, return_mode="median")
            turn[f"{who}_s"] = seconds
            turn[f"{who}_flop_a_second"] = flop / seconds
            turn[f"{who}_wall_s"] = time.monotonic() - begin
            turn[f"{who}_sensors_after"] = nvml.sensors(pci)
        turn["ratio"] = turn["kit_s"] / turn["do_bench_s"]
        rounds.append(turn)
        print(f"{turn['kit_s']:.6e} {turn['do_bench_s']:.6e} {turn['ratio']:.4f}", file=sys.stderr, flush=True)
    ratios = [turn["ratio"] for turn in rounds]
    interval = statistics.t_interval(ratios)
    after = matmul.check(state, 0, matmul.step(state, 0))
    good = abs(math.log(interval.centre)) <= math.log1p(MARGIN) and before["passed"] and after["passed"]
    document = {
        "size": size,
        "device": name,
        "driver": nvml.driver(),
        "torch": torch.__version__,
        "triton": triton.__version__,
        "cache": bench.cache,
        "check_before": before,
        "check_after": after,
        "rounds": rounds,
        "ratio": {"centre": interval.centre, "low": interval.low, "high": interval.high},
        "within": MARGIN,
        "agree": good,
    }
    json.dump(document, sys.stdout, indent=1)
    return 0 if good else 1


def _kit(state, bench):
    clock = EventClock()
    run = Run("matmul", 0)
    steps = Steps(matmul.step, state, bench.cache["sets"])
    values = []
    samples = warm_up(clock, steps, PROTOCOL, run, may_delay=True)
    sample(samples, PROTOCOL, run, lambda _index, seconds, _at: values.append(seconds), 0.0)
    samples.close()
    clock.synchronize()
    how = {**run.fields, **run.facts, **clock.facts, "status": run.end()["status"]}
    return statistics.median(values), how


if __name__ == "__main__":
    sys.exit(main())
