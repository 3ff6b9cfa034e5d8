"""Random changes to outputs: no parser raises, none takes long, and what it returns is a document.

`KIT_PARSER_MUTATIONS=100000` makes more of them, in parts of a thousand; `KIT_CAPTURES` adds captures to start from.
"""

import csv
import json
import os
import random
import time
from pathlib import Path

import pytest

from tests.validate.parsers import samples
from validate.parsers import amd_smi, kfd, nvidia_smi, rocm_smi, rocminfo
from validate.parsers.catalogue import PARSERS

COUNT = int(os.environ.get("KIT_PARSER_MUTATIONS", "300"))
CAPTURES = os.environ.get("KIT_CAPTURES", "")
PART = 1000
SEEDS = [range(begin, min(begin + PART, COUNT)) for begin in range(0, COUNT, PART)]
PIECES = [
    b"{", b"[", b"}", b"]", b'"', b":", b",", b"|", b"\n", b"\r", b"\t", b"    ", b"<gpu id='1'>", b"</",
    b"### a/nodes/1/properties\n", b"1e999", b"-1", b"9" * 60, b"0x", b"NaN", b"N/A", b"\0", b"\xff\xfe",
    b"\x1b[31m", b"\x1b[", "\u00b2\u0661\u2028".encode(), b"GPU: 0\n", b"GPU[0] : ", b"Agent 1\n", b"card0",
    b"Lines: 99999\n", b"%", b"(", b"\\", b"...",
]  # fmt: skip
SECONDS = 2.0  # for a text that takes milliseconds; a slow machine is no fault


def outputs():
    """Return what the mutations of each tool start from."""
    found = {tool: [text.encode() for text in texts] for tool, texts in samples.SAMPLES.items()}
    if CAPTURES:
        with (Path(CAPTURES) / "INDEX.tsv").open(encoding="utf-8") as index:
            for row in csv.DictReader(index, delimiter="\t"):
                found.setdefault(row["tool"], []).append((Path(CAPTURES) / row["file"]).read_bytes())
    return found


OUTPUTS = outputs()


def changed(data, rng):
    """Return the bytes with some random things changed: bytes, pieces that mean something, lines, lengths."""
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 6])):
        place, length, what = rng.randrange(len(data) + 1), rng.choice([1, 1, 2, 8, 100, 1000]), rng.randrange(7)
        if what == 0:
            data[place : place + length] = rng.randbytes(length)
        elif what == 1:
            del data[place : place + length]
        elif what == 2:
            data[place:place] = data[rng.randrange(len(data) + 1) :][:length]
        elif what == 3:
            data[place:place] = rng.choice(PIECES) * rng.choice([1, 1, 3, 50])
        elif what == 4:
            rows = data.split(b"\n")
            number = rng.randrange(len(rows))
            rows[number : number + 1] = [rows[number]] * rng.randrange(4)
            data = bytearray(b"\n".join(rows))
        elif what == 5:
            data = data[place:]
        else:
            del data[place:]
    return bytes(data)


@pytest.mark.parametrize("seeds", SEEDS, ids=lambda seeds: f"{seeds.start}-{seeds.stop}")
@pytest.mark.parametrize("tool", sorted(OUTPUTS))
def test_a_random_change_ends_in_a_reading(tool, seeds):
    understood = 0
    for seed in seeds:
        rng = random.Random(seed)
        text = changed(rng.choice(OUTPUTS[tool]), rng).decode("utf-8", "replace")
        begun = time.monotonic()
        reading = PARSERS[tool](text)
        spent = time.monotonic() - begun
        json.dumps(vars(reading), allow_nan=False)
        understood += reading.understood
        assert spent < SECONDS, (seed, spent)

    assert understood > len(seeds) // 20  # changes that leave nothing to understand would prove nothing


@pytest.mark.parametrize("seeds", SEEDS, ids=lambda seeds: f"{seeds.start}-{seeds.stop}")
@pytest.mark.parametrize(
    ("tool", "parse"),
    [
        ("rocminfo", rocminfo.parse),
        ("rocm-smi", rocm_smi.parse),
        ("amd-smi", amd_smi.parse),
        ("sysfs-kfd", kfd.parse),
        ("nvidia-smi", nvidia_smi.parse),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_checks_own_readers_do_not_raise_either(tool, parse, seeds):
    for seed in seeds:
        rng = random.Random(seed)
        parse(changed(rng.choice(OUTPUTS[tool]), rng).decode("utf-8", "replace"))


@pytest.mark.parametrize("tool", sorted(PARSERS))
def test_another_tools_output_is_read_without_harm(tool):
    for texts in OUTPUTS.values():
        for text in texts:
            json.dumps(vars(PARSERS[tool](text.decode("utf-8", "replace"))), allow_nan=False)
