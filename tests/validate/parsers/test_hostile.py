"""Texts made to hurt: long, deep, repeated, without an end. Every parser takes linear time for each."""

import json
import time

import pytest

from tests.validate.parsers import samples
from validate.parsers.catalogue import PARSERS

LENGTH = 150_000  # characters: a quadratic pattern takes minutes, a linear one a tenth of a second
SECONDS = 5.0
PIECES = {
    "digits": "1", "blanks": " ", "newlines": "\n", "tabs": "\t", "colons": ":", "commas": ",", "quotes": '"',
    "lists": "[", "objects": '{"a":', "texts": '["', "pairs": '"a": [\n', "bars": "| ", "boxes": "│ ", "less": "<",
    "tags": "<gpu id='1'>", "attributes": '<a b="c" ', "cards": "GPU[0] : ", "ranks": "# Rank 0 ", "colours": "\x1b[",
    "half colours": "\x1b[0;0;0", "nuls": "\0", "broken": "\ufffd", "surrogates": "\ud800", "words": "a ",
    "equals": "==", "rings": "amdgpu ring ", "loads": "amdgpu failed to load ", "firmware": "Direct firmware load ",
    "versions": "AMDSMI Tool: ", "MIOpen": "MIOpen(HIP): Info [a] ", "problems": 'MIOpen(HIP): Info [] Problem="',
    "channels": "NCCL INFO Channel 00 : 1[", "trees": "NCCL INFO Trees [0] 1/", "escapes": '"\\',
    "headings": "### a/", "cells": '"a,',
    "counts": "Path: a\nLines: 9999999\n", "sizes": "300 MHz (", "numbers": "GPU: 0\n",
    "agents": "Agent 1\n  Name: x\n",
    "deeper": "\n x: y", "pairs of brackets": "[]", "rows": "1  2  0x1, ", "dispatches": '{"ph":"X",',
}  # fmt: skip
WHOLE = {
    "an open text": '{"card0": "' + "a" * LENGTH,
    "a huge number": '{"card0": {"VRAM Total Memory (B)": ' + "9" * LENGTH + "}}",
    "no number": '{"card0": {"VRAM Total Memory (B)": "1e999", "PCI Bus": 1e999}, "system": {"PID1": NaN}}',
    "not finite": '[{"gpu": 1e999, "power": {"socket_power": {"value": Infinity, "unit": "W"}}}]',
    "types that are wrong": '{"card0": [], "card1": {"PCI Bus": {}}, "system": [], "gpu_data": [{"gpu": []}, 1, null]}',
    "a huge cell": 'device,a\ncard0,"' + "x" * LENGTH + '"\n',
    "a huge cell in a header": 'device,"' + "x" * LENGTH + '"\ncard0,1\n',
    "a wide table": "name,calls,totaldurationns," + "y," * (LENGTH // 2) + "\n1,2,3,4\n",
    "a wide matrix": "== Hops between two GPUs ==\n" + " ".join(f"GPU{i}" for i in range(900)) + "\nGPU0" + " 5" * 900,
    "many cards": "".join(f"GPU[{number}] : Card series: x\n" for number in range(LENGTH // 28)),
    "many GPUs": "".join(f"GPU: {number % 10_000}\n  A: 1\n" for number in range(LENGTH // 16)),
    "many nodes": "".join(f"### nodes/{number}/properties\nsimd_count 4\n" for number in range(LENGTH // 44)),
    "ever deeper": "".join(f"{' ' * (number % 400)}k{number}: v\n" for number in range(LENGTH // 200)),
    "a table that goes on": "Device  Node  IDs  Temp  Power\n" + "1  1  0x1, 2  3\n" * (LENGTH // 16),
    "names that go on": "╒══╕\n│ a │ b │\n│ 0 │ x │\n" + "│   │ x │\n" * (LENGTH // 10),
}  # fmt: skip
HOSTILE = {**{name: piece * (LENGTH // len(piece)) for name, piece in PIECES.items()}, **WHOLE}


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_no_text_makes_a_parser_raise_or_take_long(name):
    slow = {}
    for tool, parse in PARSERS.items():
        begun = time.monotonic()
        reading = parse(HOSTILE[name])
        spent = time.monotonic() - begun
        json.dumps(vars(reading), allow_nan=False)
        if spent > SECONDS:
            slow[tool] = spent

    assert slow == {}


@pytest.mark.parametrize("tool", sorted(samples.SAMPLES))
def test_megabytes_of_noise_before_an_output_do_not_hide_it_for_long(tool):
    text = "noise without an end\n" * 50_000 + samples.SAMPLES[tool][0]

    begun = time.monotonic()
    PARSERS[tool](text)

    assert time.monotonic() - begun < SECONDS


@pytest.mark.parametrize("tool", sorted(PARSERS))
@pytest.mark.parametrize("text", ["", "\n", "\0", "\ud800", "x", " " * 10, "\r\r", "{}", "[]", "null"], ids=repr)
def test_nothing_is_made_of_nothing(tool, text):
    reading = PARSERS[tool](text)

    assert (reading.devices, reading.links, reading.processes, reading.understood) == ([], [], [], False)
