"""Tables as they come: with blank lines, broken off, drawn."""

import pytest

from tests.validate.parsers import samples
from validate.parsers import nvidia_smi, tables
from validate.parsers.catalogue import PARSERS

SEPARATED = [
    ("rocm-smi", samples.ROCM_SMI_CSV),
    ("nvidia-smi", samples.NVIDIA_CSV),
    ("rocprof", samples.ROCPROF_STATS),
    ("rocprof", samples.ROCPROFV3_COUNTERS),
    ("rocprof-compute", samples.PMC_PERF),
    ("rocprof-compute", samples.SYSINFO),
    ("rocprof-compute", samples.ROOFLINE),
]


@pytest.mark.parametrize(("tool", "text"), SEPARATED, ids=lambda value: value.split(",")[0].strip('"'))
@pytest.mark.parametrize("blank", ["\n", "\r\n\r\n", "  \n\t\n"], ids=["one", "foreign", "blanks"])
def test_blank_lines_before_and_between_rows_change_nothing(tool, text, blank):
    assert PARSERS[tool](blank + text.replace("\n", "\n" + blank)) == PARSERS[tool](text)


@pytest.mark.parametrize(("tool", "text"), SEPARATED, ids=lambda value: value.split(",")[0].strip('"'))
def test_a_header_alone_or_broken_off_has_no_rows(tool, text):
    header = text.split("\n")[0]

    for cut in (header, header[:-1], f'{header},"{"x" * 200_000}"\n1,2,3,4,5'):
        reading = PARSERS[tool](cut)
        assert (reading.devices, reading.facts.get("rows") or []) == ([], [])


def test_a_table_that_breaks_off_is_told_and_has_a_first_row():
    rows, warnings = tables.csv_rows('a,b\n1,2\n"' + "x" * 200_000)

    assert (rows, warnings[0][:38]) == ([["a", "b"], ["1", "2"]], "the table breaks off at row 3: field l")
    assert tables.csv_rows("") == ([[]], [])
    assert nvidia_smi.parse("") == {}


def test_drawn_tables_lose_their_rules():
    assert tables.drawn(["+---+---+", "| a | b |", "|===+===|", "│ 1 │   │", "text | text"]) == [["a", "b"], ["1", ""]]
