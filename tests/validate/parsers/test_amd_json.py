"""JSON among other text, cut off, or broken."""

import pytest

from validate.parsers import amd_json


@pytest.mark.parametrize(
    ("text", "documents"),
    [
        ('WARNING: missing "render"\n{"card0": {"a": "1"}}\nbye', [{"card0": {"a": "1"}}]),
        ('[{"gpu": 0}]\n[{"gpu": 1}]', [[{"gpu": 0}], [{"gpu": 1}]]),
        ('[drm] [0x74a1 : 0x00] {x}\n{"a": 1}', [{"a": 1}]),
        ('{"a": 1e999, "b": NaN, "c": -Infinity}', [{"a": None, "b": None, "c": None}]),
        ('{"a": ' + "9" * 5000 + "}", [{"a": None}]),
        ("ERROR:root:Driver not initialized", []),
        ("", []),
    ],
    ids=["text around", "two", "brackets of others", "no numbers", "huge", "no JSON", "empty"],
)
def test_whole_documents_are_found(text, documents):
    assert amd_json.found(text) == (documents, [])


@pytest.mark.parametrize(
    ("text", "document"),
    [
        ('[\n{"gpu": 0, "a": [1, {"b": "c"', [{"gpu": 0, "a": [1, {"b": "c"}]}]),
        ('[\n{"gpu": 0, "n": "N/A",},\n...\n]', [{"gpu": 0, "n": "N/A"}, None]),
        ('{\n"a": {"b": 1.5, ...},\n"c": true\n', {"a": {"b": 1.5}, "c": True}),
        ('    "b": {"v": 1},\n    "c": {"v"', {"b": {"v": 1}, "c": {}}),
        ('{\n"a": "no end\n"b": 2}', {"a": "no end", "b": 2}),
    ],
    ids=["cut", "commas", "dots", "from the middle", "a text without an end"],
)
def test_what_is_cut_off_or_broken_is_read_as_far_as_it_goes(text, document):
    assert amd_json.found(text)[1] == [amd_json.BROKEN]
    found = amd_json.found(text)[0][0]
    assert (found if isinstance(document, dict) else [part for part in found if part]) == (
        document if isinstance(document, dict) else [part for part in document if part]
    )


@pytest.mark.parametrize(
    "text", ["[" * 50_000, '{"a":' * 50_000, '"a": [\n' * 50_000], ids=["lists", "objects", "lines"]
)
def test_absurd_depth_is_a_warning(text):
    assert amd_json.found(text)[1]
