import pytest

from schema import canon, documents
from schema.errors import KitError


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(b'{"a":1,"a":2}', id="a key twice"),
        pytest.param(b'{"a":NaN}', id="not a number"),
        pytest.param(b'{"a":1e999}', id="a number out of range"),
        pytest.param(b'{"a":1' + b"0" * 400 + b"}", id="an integer out of range"),
        pytest.param(b'{"a":"\xff"}', id="bytes that are not UTF-8"),
        pytest.param(b"[" * 100_000, id="nesting without end"),
        pytest.param(b'{"a":', id="half a document"),
        pytest.param(b"", id="nothing"),
    ],
)
def test_what_is_not_strict_json_is_refused_by_name(text):
    with pytest.raises(KitError, match=r"evil\.json is not strict JSON"):
        documents.parse_json(text, "evil.json")


def test_all_problems_of_a_document_are_told_with_their_places():
    with pytest.raises(KitError) as refused:
        documents.check({"pin_version": 1, "rocm": 5.7}, "pin-1", "my.pin.yaml")

    text = str(refused.value)
    assert "my.pin.yaml" in text
    assert "rocm: 5.7 is not of type 'string'" in text
    assert "'name' is a required property" in text


def test_a_document_nested_without_end_is_refused_before_it_is_judged():
    document = []
    for _ in range(1000):
        document = [document]

    with pytest.raises(KitError, match="nested deeper"):
        documents.check(document, "lock-1")


def test_canonical_json_sorts_keys_and_writes_numbers_in_one_way():
    assert canon.dumps({"b": 1.0, "a": [1e-7, "\u20ac"]}) == '{"a":[1e-7,"€"],"b":1}'.encode()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 2**60], ids=["nan", "infinity", "a huge integer"])
def test_what_canonical_json_cannot_say_is_refused(value):
    with pytest.raises(KitError, match="canonical JSON"):
        canon.digest({"value": value})


@pytest.mark.parametrize("value", ["debian\n", "\ndebian", "DEBIAN", "-debian", ""])
def test_a_name_has_no_newline_and_nothing_else_at_its_ends(value):
    assert documents.problems(value, documents.validator("shared-1", "#/$defs/name")) != []


def test_every_pattern_is_anchored_at_both_ends():
    def patterns(node):
        if isinstance(node, dict):
            for key, value in node.items():
                if key == "pattern" and isinstance(value, str):
                    yield value
                yield from patterns(value)
        elif isinstance(node, list):
            for value in node:
                yield from patterns(value)

    for path in documents.FOLDER.glob("*.schema.json"):
        for pattern in patterns(documents.load_schema(path.name.removesuffix(".schema.json"))):
            assert (pattern[0], pattern[-1]) == ("^", "$"), path.name


@pytest.mark.parametrize("value", [6.6803446918e20, 1e15, 123456789012345, 2**53 - 1, -1e20, 0.1, 0, -1])
def test_a_number_written_canonically_reads_back_as_the_same_number(value):
    assert documents.parse_json(canon.dumps([value]), "here") == [value]
