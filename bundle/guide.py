"""Write `VERIFY.md`: how to check this bundle, with and without a GPU, with and without our kit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bundle import story as tell

if TYPE_CHECKING:
    from bundle.evidence import Evidence

TEXT = """\
# How to check this bundle

`bundle.json` lists every other file with its size and sha256. Nothing in here needs to be believed: what can be
computed again is computed again.

## Without our kit

    python3 - <<'EOF'
    import hashlib, json
    for item in json.load(open("bundle.json"))["files"]:
        data = open(item["path"], "rb").read()
        assert hashlib.sha256(data).hexdigest() == item["sha256"], item["path"]
    print("every file is as it was sealed")
    EOF

## With it

{commands}

`verify` needs neither GPU nor container engine. It recomputes the summary from the raw samples, judges the findings
again from the recorded facts, makes every report and table again, and says what it did not check.

## What lies where

- evidence: `validate/report.jsonl`, `benchmarks/samples.jsonl.gz`, `benchmarks/protocol.json`, `lock.json`,
  `image.json`, `case/` (those that there are): what was observed
- views: every other file, generated from the evidence

## What this cannot show

That the evidence was really measured on the machine it names. Measure it yourself: the same lock builds the same image
on any machine, bit for bit.
"""


def text(evidence: Evidence) -> bytes:
    """Return the guide."""
    commands = [f"{index}. `{command}`: {said}" for index, (command, said) in enumerate(tell.commands(evidence), 1)]
    return TEXT.format(commands="\n".join(commands)).encode()
