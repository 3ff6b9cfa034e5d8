"""Where everything lies in a bundle, what role it has, and how large it may be."""

from __future__ import annotations

import re

MANIFEST = "bundle.json"
LOCK = "lock.json"
IMAGE = "image.json"
REPORT = "validate/report.jsonl"
PROTOCOL = "benchmarks/protocol.json"
SAMPLES = "benchmarks/samples.jsonl.gz"
SUMMARY = "benchmarks/summary.json"
CASE_FOLDER = "case/"

#: What was observed. Every other file is generated from these.
EVIDENCE = (LOCK, IMAGE, REPORT, PROTOCOL, SAMPLES)
GUIDE = "VERIFY.md"
#: Every name that the kit gives a file of a bundle; only files in `case/` have names of their own.
NAMES = frozenset(
    {
        MANIFEST, *EVIDENCE, SUMMARY, GUIDE, "benchmarks/summary.csv", "validate/junit.xml", "hardware.json",
        "report.md", "report.html", "card.md", "packages/dpkg.txt", "packages/rpm.txt",
        "packages/pip.txt",
    }
)  # fmt: skip

#: Stands first wherever a CPU's figures are shown.
NOT_A_GPU_RESULT = "not a GPU result"
#: What stands in place of a manifest's digest for an image that was found in an engine.
NO_MANIFEST = "unknown: no registry is known to have this image"
#: How a verdict names, among what was not checked, what only the sources that ran could tell.
AT_ITS_WORD = "what only its own sources can tell"
#: How it names the image built again.
THE_IMAGE = "L1: the image"

# A bundle comes from anyone: bounds before anything is read. A million samples take some 25 MB.
MAX_FILES = 1000
MAX_FOLDERS = 5
MAX_FILE_BYTES = 256 << 20
MAX_TOTAL_BYTES = 512 << 20
MAX_MANIFEST_BYTES = 4 << 20
MAX_JSON_BYTES = 64 << 20

_PATH = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*){0,4}")


def fits(path: str) -> bool:
    """Tell whether a path may stand in a bundle: plain characters, no dot first, not deep. As in bundle-1."""
    return len(path) <= 200 and _PATH.fullmatch(path) is not None


def role(path: str) -> str:
    """Return `evidence` (observed), `guide` (for people) or `view` (generated)."""
    if path in EVIDENCE or path.startswith(CASE_FOLDER):
        return "evidence"
    return "guide" if path == GUIDE else "view"
