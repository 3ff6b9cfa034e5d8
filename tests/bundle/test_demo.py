"""The bundle that ships with the kit, from a real GPU, and what the demo shows with it."""

import hashlib
import json
import time

import pytest

from bundle import console, identity, layout, seal
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


def test_the_demo_needs_no_room_on_any_disk(monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "full"))

    assert demo()["caught"]["verdict"] == "CONTRADICTED"


def test_what_the_demo_says_is_short_and_ends_with_what_it_showed():
    said = console.demo_lines(demo()).splitlines()

    assert len(said) <= 25
    assert len(said) == len(set(said))
    assert said[-1] == "as it should be: the changed byte was caught"
    assert not any("do not open" in line for line in said)


@pytest.mark.parametrize("changed", [{"verdict": "CONTRADICTED"}, {"caught": "CONFIRMED"}], ids=str)
def test_a_demo_that_goes_wrong_does_not_end_with_praise(changed):
    shown = demo()
    for key, verdict in changed.items():
        shown[key]["verdict"] = verdict

    assert console.demo_lines(shown).splitlines()[-1].startswith("NOT as it should be")


#: After a new run on a GPU the same, with its report and results.
RENEW = (
    "./kit bundle --report docs/example/validate/report.jsonl --results docs/example/benchmarks/samples.jsonl.gz"
    " --out out/example && cp -r out/example/bundle/. docs/example"
)


def test_its_views_are_those_that_this_checkout_writes(tmp_path):
    records = EXAMPLE / layout.REPORT, EXAMPLE / layout.SAMPLES
    seal.seal(*records, image=None, lock=None, out=tmp_path, names={})

    sealed, shipped = tree(tmp_path / "bundle"), tree(EXAMPLE)
    stale = sorted(path for path in sealed.keys() | shipped.keys() if sealed.get(path) != shipped.get(path))
    assert not set(stale) - {layout.MANIFEST}, f"the example is of an earlier checkout; renew it: {RENEW}"


@pytest.mark.parametrize("name", ["report.md", "report.html", "card.md", "benchmarks/summary.csv"])
def test_the_example_has_what_a_reader_looks_for(name):
    text = (EXAMPLE / name).read_text(encoding="utf-8")

    assert "matmul.bf16.8192" in text
