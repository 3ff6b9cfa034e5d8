"""The bundle that ships with the kit, from a real GPU, and what the demo shows with it."""

import hashlib
import json
import time

import pytest

from bundle import identity
from bundle.demo import EXAMPLE, demo
from bundle.verify import verify


def tree(folder):
    return {
        str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.rglob("*") if p.is_file()
    }


def test_the_example_is_small_and_of_a_gpu():
    manifest = json.loads((EXAMPLE / "bundle.json").read_bytes())

    assert manifest["gpu_result"] is True
    assert "H200" in manifest["title"]
    assert sum(path.stat().st_size for path in EXAMPLE.rglob("*") if path.is_file()) < 1_000_000


def test_the_example_is_confirmed_whatever_became_of_the_kits_sources_since():
    verdict = verify(EXAMPLE)

    assert verdict["contradicted"] == []
    assert verdict["verdict"] == "CONFIRMED"
    assert verdict["gpu_result"] is True


def test_it_stays_confirmed_under_sources_that_nobody_has_written_yet(monkeypatch):
    monkeypatch.setattr(identity, "cargo", lambda: "f" * 64)
    monkeypatch.setattr(identity, "renderer", lambda: "f" * 64)

    assert verify(EXAMPLE)["verdict"] == "CONFIRMED"


def test_the_demo_confirms_the_bundle_and_catches_one_changed_byte_in_seconds():
    before, begun = tree(EXAMPLE), time.monotonic()

    shown = demo()

    assert time.monotonic() - begun < 30
    assert (shown["verdict"]["verdict"], shown["caught"]["verdict"]) == ("CONFIRMED", "CONTRADICTED")
    assert shown["caught"]["contradicted"][0]["what"] == shown["changed"] == "benchmarks/summary.json"
    assert (EXAMPLE / "report.html").samefile(shown["report"])
    assert tree(EXAMPLE) == before


@pytest.mark.parametrize("name", ["report.md", "report.html", "card.md", "benchmarks/summary.csv"])
def test_the_example_has_what_a_reader_looks_for(name):
    text = (EXAMPLE / name).read_text(encoding="utf-8")

    assert "matmul.bf16.4096" in text
