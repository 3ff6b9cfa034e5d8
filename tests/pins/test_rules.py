"""What a lock and a pin must keep beside their schema is asked of both, once, before anything is made of them."""

import pytest

from pins import lock, rules
from schema.errors import KitError
from tests.pins.fakes_archive import PIN, deb, document

MOST = rules.MAX_VARIABLE_BYTES - len("A=")
VARIABLES = {
    "a line break": ("1\nRUN evil", "the variable A has a line break"),
    "the end of a line": ("1\n", "the variable A has a line break"),
    "another system's line break": ("1\rRUN evil", "the variable A has a line break"),
    "a NUL": ("1\0", "the variable A has a line break or a NUL"),
    "half a million characters": ("x" * 500_000, "the variable A has 500002 bytes, more than"),
    "a byte more than there may be": ("x" * (MOST + 1), "bytes, more than"),
    "a byte more, in letters of two": ("\N{LATIN SMALL LETTER U WITH DIAERESIS}" * (MOST // 2) + "xx", "bytes, more"),
}


@pytest.fixture(params=["a lock", "a pin", "a lock without a file"])
def read(request, tmp_path):
    """Read a lock or a pin with some fields of its own."""

    def do(**fields):
        if request.param == "a pin":
            path = tmp_path / "small.pin.yaml"
            lock.write(PIN | fields, path)
            return lock.load_pin(path)
        made = document([deb("aa", b"x")], **fields)
        return lock.from_document(made, tmp_path / "small.lock.yaml" if request.param == "a lock" else None).document

    return do


@pytest.mark.parametrize(("value", "words"), VARIABLES.values(), ids=VARIABLES)
def test_a_variable_that_no_image_can_be_given_is_refused_by_name(read, value, words):
    with pytest.raises(KitError, match=words) as caught:
        read(environment={"A": value})

    assert caught.value.message.startswith(("the lock: ", "/"))
    assert caught.value.hint
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("value", ["", "x" * MOST, '"$\\\t\x0b\x0c\x85\u2028 \N{SNOWMAN}#`'], ids=len)
def test_any_other_variable_is_taken_as_it_is(read, value):
    assert read(environment={"A": value})["environment"] == {"A": value}


UNWRITABLE = {
    "a size beyond JSON": {"debs": [deb("aa", b"x", size=10**30)]},
    "a size just beyond JSON": {"debs": [deb("aa", b"x", size=2**53)]},
    "a number of four hundred digits": {"debs": [deb("aa", b"x", size=10**400)]},
    "half a character": {"environment": {"A": "\ud800"}},
}


@pytest.mark.parametrize("fields", UNWRITABLE.values(), ids=UNWRITABLE)
def test_a_document_that_canonical_json_cannot_hold_is_named(fields):
    with pytest.raises(KitError, match=r"^the lock: this cannot be written as canonical JSON") as caught:
        lock.from_document(document([deb("aa", b"x")]) | fields)

    assert caught.value.hint == "correct that value"
    assert len(str(caught.value)) < 300
