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
    import hashlib, json, pathlib, sys

    def form(item):
        return json.dumps(item, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()

    raw = pathlib.Path("bundle.json").read_bytes()
    seal = json.loads(raw)
    listed = {item["path"]: item["sha256"] for item in seal["files"]}
    found = {}
    for path in pathlib.Path().rglob("*"):
        if path.is_symlink() or not path.is_dir():
            plain = path.is_file() and not path.is_symlink()
            found[path.as_posix()] = hashlib.sha256(path.read_bytes()).hexdigest() if plain else "no plain file"
    del found["bundle.json"]
    wrong = {name for name in listed.keys() | found.keys() if listed.get(name) != found.get(name)}
    own = {key: value for key, value in seal.items() if key != "bundle_hash"}
    if raw != form(seal) + b"\\n" or hashlib.sha256(form(own)).hexdigest() != seal["bundle_hash"]:
        wrong.add("bundle.json")
    if wrong:
        sys.exit("NOT as it was sealed: " + ", ".join(sorted(wrong)))
    print("every file is as it was sealed, bundle_hash " + seal["bundle_hash"])
    EOF

It compares bytes alone. That figures, findings and reports follow from the evidence, only the kit checks.

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
    return TEXT.replace("{commands}", "\n".join(commands)).encode()
