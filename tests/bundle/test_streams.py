"""Streams of any length are read strictly, in seconds."""

import subprocess
import sys
from pathlib import Path

import pytest

from bundle import evidence, streams
from schema.errors import KitError
from tests.bundle import fakes_bundle as fakes


def lines(records):
    return list(streams.lines(iter([fakes.lines(records)])))


def read(source, document="results-1"):
    return list(streams.records(iter(source), document))


def test_samples_come_as_numbers_and_all_else_as_objects():
    records = fakes.results(processes=1, samples=2)

    found = read(lines(records))

    assert found[0] == records[0]
    assert found[1] == (b"matmul.bf16.8192", 0, 0, records[1]["seconds"], records[1]["at_s"], False)
    assert found[-1] == records[-1]


def test_a_sample_in_another_form_is_read_the_slow_way_to_the_same():
    source = lines(fakes.results())
    spaced = [line.replace(b'"process":', b'"process": ') for line in source]

    assert read(spaced) == read(source)


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_lines_do_not_hang_on_how_the_bytes_arrive(size):
    data = fakes.lines(fakes.report())

    assert list(streams.lines(data[at : at + size] for at in range(0, len(data), size))) == data.split(b"\n")[:-1]


def test_a_line_without_an_end_is_bounded(monkeypatch):
    monkeypatch.setattr(streams, "MAX_LINE_BYTES", 100)

    with pytest.raises(KitError, match="longer than"):
        list(streams.lines(b"x" * 50 for _ in range(9)))


def test_records_beside_the_samples_are_bounded(monkeypatch):
    monkeypatch.setattr(evidence, "MAX_OBJECTS", 5)

    with pytest.raises(KitError, match="more than 5"):
        evidence.report(fakes.lines(fakes.report()))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param(lambda source: source[1:], "out of order", id="no start"),
        pytest.param(lambda source: [source[0], *source], "out of order", id="two starts"),
        pytest.param(lambda source: source[:-1], "no `end`", id="no end"),
        pytest.param(lambda source: [*source, source[1]], "out of order", id="after the end"),
        pytest.param(lambda source: [*source[:2], *source[3:]], "its `end` says", id="one fewer"),
        pytest.param(lambda source: [source[0], b"", *source[1:]], "line 2 is not strict JSON", id="an empty line"),
        pytest.param(lambda source: [source[0], b"3", *source[1:]], "line 2 is not a record", id="a number"),
        pytest.param(lambda source: [source[0], b'{"kind":"x"}', *source[1:]], "does not belong", id="unknown kind"),
        pytest.param(lambda source: [source[0], b'{"kind":["x"]}', *source[1:]], "not a record", id="kind of a list"),
        pytest.param(lambda _: [], "no `end`", id="nothing at all"),
    ],
)
def test_a_stream_that_is_not_whole_is_refused(change, words):
    with pytest.raises(KitError, match=words):
        read(change(lines(fakes.results())))


SCRIPT = """
import pathlib, re, sys
from bundle.verify import verify
assert verify(sys.argv[1])["verdict"] == "CONFIRMED"
# not ru_maxrss: that counts what the process was before it became this program
print(re.search(r"VmHWM:\\s+(\\d+) kB", pathlib.Path("/proc/self/status").read_text()).group(1))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of a process is read from /proc")
def test_two_hundred_thousand_samples_are_judged_in_little_memory(tmp_path):
    folder = fakes.write(fakes.bundle(processes=10, samples=10_000), tmp_path / "bundle")

    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(folder)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )

    assert int(ran.stdout) / 1024 < 200
