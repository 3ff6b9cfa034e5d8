"""`look`, `look closer` or `add`: carry out plan.json, in this folder of the image; the answer is in out/."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from images.inside import install, listing, look, steps

ROOT = b"/"


def main(words: list[str]) -> None:
    """Leave out/found.json, what is there at last; and out/layer.tar, where something was to be added."""
    here = Path.cwd()
    for name in ("out", "home", "tmp"):
        (here / name).mkdir(exist_ok=True)
    (here / "tmp").chmod(0o1777)
    if words == ["add"]:
        add(here, json.loads((here / "plan.json").read_text(encoding="utf-8")))
    else:
        found = look.look_closer() if words == ["look", "closer"] else look.look()
        (here / "out" / "found.json").write_text(json.dumps(found), encoding="utf-8")


def add(here: Path, plan: dict[str, Any]) -> None:
    """Install what the plan names, and write what changed."""
    variables = install.environment(plan["epoch"], here)
    os.environ.clear()
    os.environ.update(variables)
    os.umask(0o022)
    mounted = listing.mounts(Path("/proc/self/mountinfo").read_text(encoding="utf-8"))
    listing.refuse_foreign(mounted)
    skip = {os.fsencode(here)} | mounted
    before = listing.take(ROOT, skip)
    python = sys.executable
    if plan["debs"]:
        install.debs(here / "debs", plan["debs"])
    if plan["wheels"]:
        install.wheels(here / "wheels", Path(plan["venv"]), here / "wheels.txt")
        python = plan["venv"] + "/bin/python3"
    listing.write(str(here / "out" / "layer.tar"), ROOT, before, listing.take(ROOT, skip))
    # Only now: importing leaves caches in places that nobody knows.
    steps.must([python, "-B", "-m", "images.inside", "look", "closer"])


if __name__ == "__main__":
    main(sys.argv[1:])
