"""Bytes from pipes become lines."""

import pytest

from benchmarks.children import Lines


@pytest.mark.parametrize(
    ("chunks", "expected", "rest"),
    [
        ([b"a\nb\n"], [b"a", b"b"], b""),
        ([b"a", b"b\nc"], [b"ab"], b"c"),
        ([b"\n\n"], [b"", b""], b""),
    ],
)
def test_lines_are_cut_at_newlines_wherever_the_pipe_cut_them(chunks, expected, rest):
    lines = Lines()

    seen = [line for chunk in chunks for line in lines.feed(chunk)]

    assert (seen, lines.rest) == (expected, rest)
