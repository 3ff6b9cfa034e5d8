"""How a Python function takes the time of GPU work: without waiting for the GPU, or under a profiler."""

from __future__ import annotations

import ast
import re

from bundle.folklore.items import Api

CLOCK = re.compile(r"(^|\.)(time|perf_counter|monotonic)(_ns)?$")
#: What waits for the GPU, or takes the time on it.
WAITS = re.compile(
    r"synchroni[sz]e|elapsed_time|\.item\(|\.cpu\(|\.tolist\(|\.numpy\(|do_bench|benchmark\.Timer|\.generate\(|"
    r"cuda_time|device_time|barrier\(|block_until_ready|\.sync\(|requests\.|\.wait\("
)
GPU = re.compile(r"\.cuda\(|['\"]cuda|torch\.cuda")


def told(tree: ast.Module, source: str, offset: int) -> list[Api]:
    """Return one `unsynchronized` or `profiled` item for each function that takes the time wrongly."""
    if not GPU.search(source) or "torch" not in source:
        return []
    synchronized = bool(WAITS.search(source))
    items = []
    for function in ast.walk(tree):
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        clocks = _clocks(function)
        if len(clocks) > 1 and not synchronized and "warm" in (ast.get_source_segment(source, function) or "").lower():
            items.append(Api(clocks[0] + offset, "clock", "unsynchronized"))
        for block in ast.walk(function):
            if isinstance(block, ast.With) and any("profile" in ast.unparse(item) for item in block.items):
                items += [Api(line + offset, "clock", "profiled") for line in _clocks(block)[:1]]
    return items


def _clocks(tree: ast.AST) -> list[int]:
    """Return the lines on which a clock is read."""
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and not node.args)
    return sorted(call.lineno for call in calls if CLOCK.search(ast.unparse(call.func)))
