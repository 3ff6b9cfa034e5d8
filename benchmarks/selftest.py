"""Do the checks of the cases see a wrong result? `python3 -m benchmarks.selftest`: one JSON object a line.

Every case runs at a tiny size in each of its element types, on the GPU where torch has one. Its own output must pass,
and the same output spoilt in any of the `SPOILS`, or made from another input, must be refused. Exit code 0: all do; 1:
some do not; 2: nothing could run here.
"""

from __future__ import annotations

import importlib.util
import math
import sys
from typing import TYPE_CHECKING, Any

from benchmarks import cases
from benchmarks.child import classify
from benchmarks.workbench import Unsupported, Workbench
from schema.records import SampleStatus, exit_code
from schema.stream import compact
from validate.entry_point import guarded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

#: Rows so long that one wrong element of each vanishes in the norm of a bf16 product: the check must look closer.
SIZES: dict[str, dict[str, int]] = {
    "attention": {"batch": 1, "heads": 2, "queries": 64, "keys": 64, "width": 64},
    "copy": {"elements": 1000},
    "decode": {"batch": 2, "heads": 2, "queries": 1, "keys": 64, "width": 64},
    "groupnorm": {"batch": 2, "channels": 8, "size": 16, "groups": 2},
    "matmul": {"m": 64, "n": 8192, "k": 64},
    "resnet50": {"batch": 2},
}


def _one_element(output: Any) -> Any:
    """Zero one element of each row, one of middling size."""
    return output.scatter(-1, output.float().abs().median(-1, keepdim=True).indices, 0.0)


SPOILS: dict[str, Callable[[Any], Any]] = {
    "nan": lambda output: output.fill_(math.nan),
    "zeros": lambda output: output.zero_(),
    "one element a row": _one_element,
    "5 % too large": lambda output: output * 1.05,
    "another shape": lambda output: output[..., :-1],
}


def examine() -> Iterator[dict[str, Any]]:
    """Yield how each case did in each type: `status` pass, fail or skip, and for fail what was let through."""
    for case in cases.built_in():
        for dtype in sorted({variant["dtype"] for variant in case.module.VARIANTS.values()}):
            try:
                found = _examine(case.module, {**SIZES[case.name], "dtype": dtype})
            except Unsupported as error:
                found = {"status": "skip", "reason": str(error)}
            except Exception as error:  # noqa: BLE001 - whatever a case raises is its result
                status, reason = classify(error)
                found = {"status": "skip" if status is SampleStatus.UNSUPPORTED else "fail", "reason": reason}
            yield {"case": f"{case.name}.{dtype}", **found}


def _examine(case: Any, parameters: dict[str, Any]) -> dict[str, Any]:
    import torch

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    # A cache of one byte asks for two input sets.
    bench = Workbench(device, 0, 1, 1 << 30, tf32=parameters["dtype"] == "tf32")
    state = case.prepare(bench, parameters)
    output = case.step(state, 0).clone()
    right = case.check(state, 0, output)
    spoilt = {how: spoil(output.clone()) for how, spoil in SPOILS.items()}
    spoilt["another input"] = _from_another_input(case, state, bench)
    through = [how for how, wrong in spoilt.items() if case.check(state, 0, wrong)["passed"]]
    status = "pass" if right["passed"] and not through else "fail"
    return {"status": status, "check": right, "let_through": through}


def _from_another_input(case: Any, state: Any, bench: Workbench) -> Any:
    """Return the output of the other set, or of images in other order and colours where a case has one set only."""
    if bench.cache["sets"] > 1:
        return case.step(state, 1)
    return case.step({**state, "images": state["images"].flip((0, 1))}, 0)


def main() -> int:
    """Print a line a case."""
    if importlib.util.find_spec("torch") is None:
        print("error: torch cannot be imported", file=sys.stderr)
        return 2
    statuses = []
    for line in examine():
        print(compact(line), flush=True)
        statuses.append(line["status"])
    return exit_code(statuses)


if __name__ == "__main__":
    sys.exit(guarded(lambda _: main()))
