"""Random changes to a bundle: each is refused. `KIT_MUTATIONS=10000` makes more of them, in parts of a thousand.

The parts are tests of their own, each with seeds of its own: whatever runs tests in parallel can spread them.
"""

import io
import json
import os
import random
from collections import Counter
from pathlib import Path

import pytest

from bundle import archive, console, layout, streams, verify
from schema import documents
from schema.errors import KitError
from tests.bundle import fakes_bundle as fakes

COUNT = int(os.environ.get("KIT_MUTATIONS", "300"))
PART = 1000
SEEDS = [range(begin, min(begin + PART, COUNT)) for begin in range(0, COUNT, PART)]
in_parts = pytest.mark.parametrize("seeds", SEEDS, ids=lambda seeds: f"{seeds.start}-{seeds.stop}")


@pytest.fixture(scope="module")
def good():
    return fakes.bundle(samples=30)


@pytest.fixture(scope="module")
def alone():
    """Return a bundle of the same validation without a run, which is judged in half the time."""
    return fakes.bundle(with_results=False)


def refused(judge):
    try:
        return judge()["verdict"] == "CONTRADICTED"
    except KitError:
        return True


def changed(data, rng):
    """Return the bytes with one random thing changed, or as they were where that changes nothing."""
    data = bytearray(data)
    place, length = rng.randrange(len(data) + 1), rng.choice([1, 1, 1, 2, 8, 100])
    what = rng.randrange(5)
    if what == 0:
        data[place : place + length] = rng.randbytes(length)
    elif what == 1:
        del data[place : place + length]
    elif what == 2:
        data[place:place] = rng.randbytes(length)
    elif what == 3:
        data[place:place] = data[rng.randrange(len(data) + 1) :][:length]
    else:
        del data[place:]
    return bytes(data)


def mutated(files, rng):
    """Return the files with one random thing changed in one of them, or in their set."""
    path, other = rng.sample(sorted(files), 2)
    what = rng.randrange(10)
    if what == 0:
        return {name: data for name, data in files.items() if name != path}
    if what == 1:
        return files | {f"{path}.{rng.randrange(99)}": files[path]}
    if what == 2:
        return files | {path: files[other], other: files[path]}
    if what == 3:
        return {other if name == path else name: data for name, data in files.items()}
    return files | {path: changed(files[path], rng)}


@in_parts
def test_every_random_change_of_a_bundle_is_refused(good, seeds):
    accepted = []
    for seed in seeds:
        files = mutated(good, random.Random(seed))
        if files != good and not refused(lambda files=files: verify.judge(files) if "bundle.json" in files else gone()):
            accepted.append(seed)

    assert accepted == []


def gone():
    raise KitError("no manifest")


@in_parts
def test_every_random_change_of_an_archive_is_refused(good, tmp_path, seeds):
    out = io.BytesIO()
    archive.write(good, out)
    accepted, path = [], tmp_path / "bundle.tar"
    here = list(Path().iterdir())
    for seed in seeds:
        data = changed(out.getvalue(), random.Random(seed))
        path.write_bytes(data)
        if data != out.getvalue() and not refused(lambda: verify.verify(path)):
            accepted.append(seed)

    assert accepted == []
    assert list(tmp_path.rglob("*")) == [path]  # nothing is unpacked anywhere
    assert list(Path().iterdir()) == here


@in_parts
def test_a_random_change_whose_digests_are_made_to_fit_ends_in_a_verdict_not_a_crash(good, seeds):
    """Whoever makes digests fit may invent evidence (another time a check took); nobody may stop the judge."""
    verdicts = set()
    for seed in seeds:
        files = mutated(good, random.Random(seed))
        if files.get(layout.MANIFEST) == good[layout.MANIFEST] and files != good:
            verdicts.add(verify.judge(fakes.sealed_again(files))["verdict"])

    assert "CONTRADICTED" in verdicts


ODD = [
    None, True, -1, 0, 1.5, -0.0, 1e308, 5e-324, 2**53 + 1, 10**400, "", "\ud800", "\x00\x1b[2J\u202e", "x" * 5000,
    "-", "../../etc/passwd", "2026-11-30T12:00:00Z\n", [], [[]], {}, {"unknown": "x"}, {"a": {"b": [None]}},
]  # fmt: skip


ALIKE = 2  # items of a list that are changed, and records of one form: the others go the same way


def places(value, path=()):
    """Yield the path to every value inside a JSON document, of a list to those in its first items."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value[:ALIKE]) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


def put(document, path, value):
    """Return a copy of the document with another value at the path."""
    copy = json.loads(json.dumps(document))
    at = copy
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return copy


def of_each_form(lines):
    """Yield the number of each record but of those of a form that came before, often enough; each check's facts are."""
    seen = Counter()
    for number, line in enumerate(lines):
        form = (line.get("kind"), line.get("check") if line.get("kind") == "facts" else None, *sorted(line))
        seen[form] += 1
        if seen[form] <= ALIKE:
            yield number


@pytest.mark.parametrize("which", [layout.REPORT, layout.SAMPLES, layout.SUMMARY, layout.MANIFEST])
def test_an_odd_value_in_any_place_of_any_record_ends_in_a_verdict_not_a_crash(good, alone, which):
    rng = random.Random(which)
    data = b"".join(streams.unpack(good[which])) if which == layout.SAMPLES else good[which]
    lines = [json.loads(line) for line in data.splitlines()]
    for number in of_each_form(lines):
        line = lines[number]
        whole = alone if which == layout.REPORT and line["kind"] != "start" else good
        for path in places(line):
            if not path:
                continue
            for odd in rng.sample(ODD, min(len(ODD), 1 + COUNT // 500)):
                changed_lines = [*lines[:number], put(line, path, odd), *lines[number + 1 :]]
                text = "".join(json.dumps(item) + "\n" for item in changed_lines).encode()
                files = whole | {which: streams.pack(text) if which == layout.SAMPLES else text}
                verdict = verify.judge(files if which == layout.MANIFEST else fakes.sealed_again(files))
                documents.check(verdict, "verdict-1")
                json.dumps(verdict, ensure_ascii=False).encode()


EXTREMES = [1e-300, 5e-324, 1.7e308, 1e300, -1e300, -1, 0, 10**15 - 1]


def numbers(record):
    """Yield the path to every number in a record."""
    for path in places(record):
        value = record
        for key in path:
            value = value[key]
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            yield path


@pytest.mark.parametrize("kind", ["start", "process", "telemetry", "sample", "end", "every sample"])
def test_a_number_at_the_extremes_ends_in_a_verdict_that_can_be_shown(good, kind):
    """By whatever sources: those of this K would refuse most of it before a figure is made."""
    rng = random.Random(kind)
    lines = [json.loads(line) for line in b"".join(streams.unpack(good[layout.SAMPLES])).splitlines()]
    lines[0]["cargo_sha256"] = "0" * 64
    mine = [number for number, line in enumerate(lines) if line["kind"] == kind.removeprefix("every ")]
    for path in numbers(lines[mine[0]]):
        for odd in rng.sample(EXTREMES, 3):
            chosen = set(mine if kind.startswith("every") else mine[:1])
            changed_lines = [put(line, path, odd) if at in chosen else line for at, line in enumerate(lines)]
            report = good[layout.REPORT].replace(fakes.identity.cargo().encode(), b"0" * 64)
            files = good | {layout.REPORT: report, layout.SAMPLES: streams.pack(fakes.lines(changed_lines))}
            verdict = verify.judge(fakes.sealed_again(files))
            said = console.verdict_lines(verdict)
            assert verdict["verdict"] in said
            assert "Error" not in said, (path, odd, said)
