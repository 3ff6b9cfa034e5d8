"""How a Python function takes the time of GPU work: without waiting for the GPU, or under a profiler."""

from __future__ import annotations

import ast
import re

from bundle.folklore.items import Api

CLOCK = re.compile(r"(^|\.)(time|perf_counter|monotonic)(_ns)?$")
#: What waits for the GPU, or takes the time on it.
WAITS = re.compile(r"synchroni[sz]e|elapsed_time|do_bench|benchmark\.Timer|block_until_ready|\bsync\w*\(")
WAITS_HERE = re.compile(r"\.(item|cpu|tolist|numpy|generate|wait|barrier)\(|requests\.")  # within the function
WARMED = re.compile(r"warm[-_ ]?(up|ing)", re.IGNORECASE)  # what a benchmark does first
GPU = re.compile(r"\.cuda\(|['\"]cuda|torch\.cuda")
WORKS = re.compile(r"\.cuda\(|\.to\(|\bmodel\w*\(|torch\.cuda\.(?!is_available|device_count)")


def told(tree: ast.Module, source: str, offset: int) -> list[Api]:
    """Return one `unsynchronized` or `profiled` item for each function that takes the time wrongly."""
    if "torch" not in source or not GPU.search(source):
        return []
    waits = not WARMED.search(source) or bool(WAITS.search(source))
    items = []
    for function in ast.walk(tree):
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        clocks = _clocks(function)
        body = "" if waits or len(clocks) <= 1 else ast.get_source_segment(source, function) or ""
        if WARMED.search(body) and WORKS.search(body) and not WAITS_HERE.search(body):
            items.append(Api(clocks[0] + offset, "clock", "unsynchronized"))
        for block in ast.walk(function):
            if isinstance(block, ast.With) and any("profile" in ast.unparse(item) for item in block.items):
                items += [Api(line + offset, "clock", "profiled") for line in _clocks(block)[:1]]
    return items


def _clocks(tree: ast.AST) -> list[int]:
    """Return the lines on which a clock is read."""
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and not node.args)
    return sorted(call.lineno for call in calls if CLOCK.search(ast.unparse(call.func)))
