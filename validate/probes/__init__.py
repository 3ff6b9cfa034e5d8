"""Children that touch torch and the drivers: a crash, a hang or a noisy library stays theirs.

`ask` is the parent's side, `answer` the child's. A probe prints one JSON object; `ask` returns it, or `{"error": why}`.
"""

from __future__ import annotations

import faulthandler
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable

from schema.stream import claim_stdout, compact

if TYPE_CHECKING:
    from validate.machine import Machine

ROOT = Path(__file__).resolve().parent.parent.parent
TAIL = 1200  # characters of a dead probe's stderr that are kept as evidence


def ask(machine: Machine, name: str, timeout_s: float, *arguments: str) -> dict[str, Any]:
    """Run probe `name` in a child of its own and return what it learnt.

    When it dies or runs out of time the answer is `{"error": why, "stderr": its last words}`, Python stacks included.
    """
    path = ":".join(part for part in (str(ROOT), machine.env.get("PYTHONPATH", "")) if part)
    ran = machine.run(
        [machine.python, "-m", f"validate.probes.{name}", str(timeout_s), *arguments],
        timeout_s,
        env={"PYTHONPATH": path},
    )
    try:
        found = json.loads(ran.stdout.strip().splitlines()[-1])
    except (ValueError, IndexError):
        found = None
    if isinstance(found, dict):
        return found
    return {"error": f"probe {name}: {ran.why or 'it printed no answer'}", "stderr": ran.stderr[-TAIL:]}


def answer(learn: Callable[[], dict[str, Any]]) -> None:
    """Print what `learn` returns; just before the time limit (first argument, seconds) leave all Python stacks."""
    limit_s = float(sys.argv[1]) if len(sys.argv) > 1 else 60
    faulthandler.enable()
    faulthandler.dump_traceback_later(max(limit_s - 2, 1), exit=True)
    writer = claim_stdout()
    writer.channel.write(compact(learn()) + "\n")
    writer.channel.flush()
