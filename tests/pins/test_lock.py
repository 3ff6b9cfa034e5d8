import tempfile
import time
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given, settings, strategies

from pins import lock
from schema.canon import digest
from schema.errors import KitError
from tests.pins.fakes_archive import BASE, PIN, deb, document, lock_of

ONNX = {
    "name": "onnx",
    "version": "1.0",
    "file": "onnx-1.0-py3-none-any.whl",
    "index": "pypi",
    "sha256": "1" * 64,
    "size": 1,
}


def written(folder, text, name="small.lock.yaml"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def good(**more):
    return document([deb("aa", b"x")], **more)


def test_what_is_written_reads_back_and_says_what_a_lock_says(tmp_path):
    lock.write(good(gfx=["gfx90a"]), tmp_path / "small.lock.yaml", "a comment")

    found = lock.load(tmp_path / "small.lock.yaml")

    assert found.document == good(gfx=["gfx90a"])
    assert found.sha256 == digest(found.document)
    assert (found.name, found.rocm, found.channel, found.epoch) == ("small", "5.7.1", "debian", 1700000000)
    assert (found.base, found.gfx, found.torch_build, found.wheels) == (None, ("gfx90a",), "cpu", [])
    assert [entry["name"] for entry in found.debs] == ["aa"]


def test_a_package_is_one_line_and_versions_are_quoted():
    text = lock.dump(document([deb("aa", b"x", version="5.10")], rocm="5.10"))

    assert 'rocm: "5.10"\n' in text
    assert '\n- {name: aa, version: "5.10", architecture: all, sha256: "2d711642b726' in text
    assert text == lock.dump(yaml.safe_load(text))


def test_the_strict_reader_gives_what_any_yaml_reader_gives(tmp_path):
    path = written(tmp_path, lock.dump(good()))

    assert lock.read_yaml(path) == yaml.safe_load(path.read_text())


@given(
    strategies.dictionaries(
        strategies.text(),
        strategies.recursive(
            strategies.text() | strategies.booleans() | strategies.none(),
            lambda inner: strategies.lists(inner) | strategies.dictionaries(strategies.text(), inner),
            max_leaves=20,
        ),
    )
)
@example(
    {"a": "no", "b": "1:20", "c": "0x1", "d": "~", "e": "2026-11-30", "f": "- a\n  b: #c", "<<": "&x", "g": "!!int"}
)
@settings(deadline=None)  # a file is synced for each example
def test_any_document_reads_back_as_it_was_written(document):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.yaml")
        lock.write(document, path, "a comment")

        assert lock.read_yaml(path) == document


def test_a_null_hash_is_allowed_here(tmp_path):
    lock.write(document([deb("aa", b"x", sha256=None)]), tmp_path / "small.lock.yaml")

    assert lock.load(tmp_path / "small.lock.yaml").debs[0]["sha256"] is None


HOSTILE = {  # sentence: (what replaces the first by the second in a good lock, what the error must say)
    "a version without quotes": ('rocm: "5.7.1"', "rocm: 5.10", "rocm is the number 5.1, and a version is text"),
    "a component without quotes": ("components: {}", "components: {hip: 5.10}", "hip is the number 5.1"),
    "a package version without quotes": ('version: "1.0-1"', "version: 10", "version is the number 10"),
    "a format number without quotes": ('lock_version: "1"', "lock_version: 1", "lock_version is the number 1"),
    "a key twice": ("name: small", "name: small\nname: other", "name stands twice"),
    "a key twice inside": ("components: {}", "components: {hip: a, hip: b}", "hip stands twice"),
    "an alias": ("components: {}", "environment: &x {A: a}\ncomponents: *x", "stands twice|is an alias"),
    "a Python tag": ("components: {}", "components: !!python/object/apply:os.system [id]", "not YAML as we write it"),
    "a date": ("name: small", "name: 2026-11-30", "name is a date, not text"),
    "a key that is no text": ("components: {}", "components: {1: a}", "the key 1 is not text"),
    "an unknown field": ("name: small", "name: small\nextra: 1", "Additional properties are not allowed"),
    "a missing field": ("gfx: []\n", "", "'gfx' is a required property"),
    "a short hash": ('sha256: "2d7', 'sha256: "7', "is not valid under any"),
    "a path that climbs out": ("path: pool/main", "path: pool/../../main", "does not match"),
    "a path of another shape": ("path: pool/main", "path: /pool/main", "does not match"),
    "a name that climbs out": ("name: small", "name: ../small", "does not match"),
    "a size of nothing": ("size: 1,", "size: 0,", "less than the minimum"),
    "a size with a fraction": ("size: 1,", "size: 1.5,", "is not of type 'integer'"),
    "a merge key": ("name: small", "<<: {name: b}\nname: small", "<< is not allowed here"),
    "not a number": (
        "source_date_epoch: 1700000000",
        "source_date_epoch: .nan",
        "source_date_epoch is a number beyond",
    ),
    "a number without end": (
        "source_date_epoch: 1700000000",
        "source_date_epoch: -.inf",
        "is a number beyond those of",
    ),
    "a size beyond JSON": ("size: 1,", f"size: {10**30},", r"small.lock.yaml: size is a number beyond those of JSON"),
    "a size just beyond JSON": ("size: 1,", f"size: {2**53},", "size is a number beyond"),
    "a size beyond JSON, as a double": ("size: 1,", "size: 1.0e+30,", "size is a number beyond"),
    "a number that Python does not print": ("size: 1,", f"size: -0x{'f' * 9000},", "size is a number beyond"),
    "such a number for a version": ('rocm: "5.7.1"', f"rocm: 0x{'f' * 9000}", "rocm is a number beyond"),
    "such a number for a key": (
        "components: {}",
        f"? 0x{'f' * 9000}\n: a\ncomponents: {{}}",
        "a key of the document is",
    ),
    "an open bracket": ("components: {}", "components: {", "not YAML as we write it: line"),
    "two documents": ("name: small", "name: small\n---\nname: small", "not YAML as we write it"),
    "a tab": ("name: small", "name:\tsmall\n\tb: c", "not YAML as we write it"),
}


@pytest.mark.parametrize(("old", "new", "words"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_lock_is_refused_with_a_reason(tmp_path, old, new, words):
    text = lock.dump(good())
    assert old in text

    with pytest.raises(KitError, match=words) as caught:
        lock.load(written(tmp_path, text.replace(old, new, 1)))
    assert caught.value.hint


WHOLE = {
    "empty": ("", "is not a mapping"),
    "a list": ("- a\n", "is not a mapping"),
    "deep": ("[" * 5000, "not YAML as we write it|is not a mapping"),
    "deep mappings": ("{a: " * 100_000, "not YAML as we write it"),
    "deep JSON, closed": ('{"a":' * 50_000 + "1" + "}" * 50_000, "not YAML as we write it"),
    "deep indents": ("".join(" " * depth + "a:\n" for depth in range(1200)), "not YAML as we write it|nested deeper"),
    "a long number": ("a: " + "1" * 100_000, "not YAML as we write it"),
    "an open quote": ("a: '" + "x" * 500_000, "not YAML as we write it"),
    "bytes of a program": ("\x7fELF\x00\x01", "not YAML as we write it"),
    "an endless loop": ("a: &x {b: *x}\n", "is an alias"),
    "a bomb": ("a: &a [1,1]\nb: &b [*a,*a]\nc: &c [*b,*b]\n", "is an alias"),
    "a bomb of a terabyte": (
        "a0: &a0 [x,x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1},*a{n - 1}]\n" for n in range(1, 40)),
        "is an alias",
    ),
}


@pytest.mark.parametrize(("text", "words"), WHOLE.values(), ids=WHOLE)
def test_a_file_that_is_no_lock_is_refused_at_once(tmp_path, text, words):
    began = time.monotonic()
    with pytest.raises(KitError, match=words) as caught:
        lock.load(written(tmp_path, text))

    assert caught.value.hint
    assert time.monotonic() - began < 5


def test_bytes_that_are_not_text_are_refused(tmp_path):
    (tmp_path / "small.lock.yaml").write_bytes(b"\xff\xfe\x00")

    with pytest.raises(KitError, match=r"is not UTF-8|not YAML"):
        lock.load(tmp_path / "small.lock.yaml")


def test_a_file_that_is_too_large_is_refused_unread_at_once(tmp_path):
    with (tmp_path / "small.lock.yaml").open("wb") as file:
        file.truncate(1 << 40)

    with pytest.raises(KitError, match="is larger than"):
        lock.load(tmp_path / "small.lock.yaml")


WHEEL = {"name": "x", "version": "1", "file": "x-1-py3-none-any.whl", "index": "pypi", "sha256": None, "size": None}
ODD = {  # sentence: (what is odd in a good lock, the field that is named)
    "an epoch of another age": ({"source_date_epoch": 10**10}, "source_date_epoch"),
    "an epoch in milliseconds": ({"source_date_epoch": 10**15}, "source_date_epoch"),
    "an epoch that is no JSON number": ({"source_date_epoch": 10**18}, "source_date_epoch"),
    "an epoch before all": ({"source_date_epoch": -1}, "source_date_epoch"),
    "a ROCm of two words": ({"rocm": "5.7 1"}, "rocm"),
    "a ROCm of another script": ({"rocm": "\u0665.7"}, "rocm"),
    "a component that is an option": ({"components": {"hip": "--x"}}, "components"),
    **{
        f"snapshot {time}": ({"debs": [deb("aa", b"x", snapshot=time)]}, "snapshot")
        for time in ("99999999T999999Z", "99991231T000000Z", "20261301T000000Z", "20260100T000000Z", "20260101T250000Z")
    },
    "a path of a hidden folder": ({"debs": [deb("aa", b"x", path="pool/.x/aa.deb")]}, "path"),
    "a path with an empty part": ({"debs": [deb("aa", b"x", path="pool//aa.deb")]}, "path"),
    "a Debian version that is an option": ({"debs": [deb("aa", b"x", version="-x")]}, "version"),
    **{
        f"wheel {file}": ({"base": BASE, "wheels": [WHEEL | {"file": file}]}, "file")
        for file in (
            "x.whl",
            "x-1.whl",
            "x-1-py3-none.whl",
            "-x-1-py3-none-any.whl",
            "a-1-1-1-1-1-1.whl",
            "x-1-py3--any.whl",
        )
    },
}


@pytest.mark.parametrize(("odd", "field"), ODD.values(), ids=ODD)
def test_an_odd_value_is_refused_by_the_name_of_its_field(tmp_path, odd, field):
    lock.write(good() | odd, tmp_path / "small.lock.yaml")

    with pytest.raises(KitError, match=rf"(does not follow schema lock-1|small.lock.yaml): (\S+\.)?{field}\b"):
        lock.load(tmp_path / "small.lock.yaml")


NAMES = ("host", "rebuilt", "a/b", "..", "../a", ".hidden", "-option", "Small", "SMALL", "a b", "a\n", "", "a" * 101)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_a_folder_of_its_own_on_every_file_system(tmp_path, name):
    lock.write(good(name=name), tmp_path / "x.lock.yaml")
    lock.write(PIN | {"name": name}, tmp_path / "x.pin.yaml")

    for read in (lock.from_document, lambda _document: lock.load_pin(tmp_path / "x.pin.yaml")):
        with pytest.raises(KitError, match=r"does not match|is no name for a lock") as caught:
            read(good(name=name))
        assert caught.value.hint


def test_the_last_second_of_the_bounds_is_within_them():
    assert lock.from_document(good(source_date_epoch=4102444800)).epoch == 4102444800


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(KitError, match=r"cannot read .*gone\.lock\.yaml: No such file"):
        lock.load(tmp_path / "gone.lock.yaml")


def test_a_package_twice_is_refused():
    with pytest.raises(KitError, match="lists a package twice: aa"):
        lock.from_document(document([deb("aa", b"x"), deb("aa", b"y")]))


@pytest.mark.parametrize("field", ["name", "version", "sha256", "path", "snapshot"])
def test_a_line_break_at_the_end_of_a_field_is_refused(field):
    entry = deb("aa", b"x")

    with pytest.raises(KitError, match=r"does not match|is not valid"):
        lock.from_document(document([entry | {field: entry[field] + "\n"}]))


def test_a_lock_of_nothing_is_refused():
    with pytest.raises(KitError, match="neither a base image nor packages"):
        lock.from_document(document())


def test_a_lock_fits_the_pin_beside_it(tmp_path):
    lock.write(PIN, tmp_path / "small.pin.yaml")
    lock.write(good(pin_sha256=digest(PIN)), tmp_path / "small.lock.yaml")

    assert [found.name for found in lock.load_all(tmp_path)] == ["small"]


def test_a_stale_lock_is_refused_with_the_command_that_helps(tmp_path):
    lock.write(PIN | {"python": "3.14"}, tmp_path / "small.pin.yaml")
    lock.write(good(pin_sha256=digest(PIN)), tmp_path / "small.lock.yaml")

    with pytest.raises(KitError, match=r"small\.lock\.yaml is stale: small\.pin\.yaml has changed") as caught:
        lock.load(tmp_path / "small.lock.yaml")

    assert caught.value.hint == "./kit lock --pin small"


def test_a_comment_in_the_pin_does_not_make_the_lock_stale(tmp_path):
    lock.write(PIN, tmp_path / "small.pin.yaml", "another comment")
    lock.write(good(pin_sha256=digest(PIN)), tmp_path / "small.lock.yaml")

    assert lock.load(tmp_path / "small.lock.yaml").name == "small"


def test_a_renamed_lock_is_refused(tmp_path):
    lock.write(PIN, tmp_path / "other.pin.yaml")
    lock.write(good(pin_sha256=digest(PIN)), tmp_path / "other.lock.yaml")

    with pytest.raises(KitError, match=r"other\.lock\.yaml calls itself small"):
        lock.load(tmp_path / "other.lock.yaml")


PINS = {
    "debian without packages": ({"packages": []}, "needs `suite` and `packages`"),
    "amd without a base": ({"channel": "amd"}, "needs `base`"),
    "a package with a version": ({"packages": ["a=1"]}, "does not match"),
    "a package that is an option": ({"packages": ["-o"]}, "does not match"),
    "a suite that is a path": ({"suite": "../trixie"}, "does not match"),
    "another architecture": ({"platform": "linux/arm64"}, "'linux/amd64' was expected"),
    "a wheel with a condition": ({"wheels": ["onnx>=1"]}, "wheels"),
    "a wheel from an address": ({"wheels": ["onnx @ http://a.example/x.whl"]}, "wheels"),
    "a wheel that is an option": ({"wheels": ["--pre"]}, "wheels"),
    "a wheel with a second line": ({"wheels": ["onnx\n--pre"]}, "wheels"),
    "a recorded wheel that names a host": ({"wheels": [ONNX | {"index": "https://a.example"}]}, "wheels"),
    "CUDA without wheels or an image": ({"channel": "cuda"}, "needs `wheels` and .*, or `base`"),
}


@pytest.mark.parametrize(("change", "words"), PINS.values(), ids=PINS)
def test_a_pin_that_cannot_be_resolved_is_refused(tmp_path, change, words):
    lock.write(PIN | change, tmp_path / "small.pin.yaml")

    with pytest.raises(KitError, match=words):
        lock.load_pin(tmp_path / "small.pin.yaml")


@pytest.mark.parametrize("field", ["version: 2.10", "version: 2"])
def test_an_unquoted_version_of_a_wheel_is_refused(tmp_path, field):
    path = written(tmp_path, f"wheels:\n  - name: torch\n    {field}\n", "small.pin.yaml")

    with pytest.raises(KitError, match=r"version is the number 2.*, and a version is text"):
        lock.load_pin(path)


CONTRADICTIONS = {
    "another architecture": ({"platform": "linux/arm64"}, "'linux/amd64' was expected"),
    "a wheel twice": ({"wheels": [ONNX, ONNX]}, "lists a package twice: onnx"),
    "a package twice": ({"debs": [deb("aa", b"x"), deb("aa", b"x")]}, "lists a package twice: aa"),
}


@pytest.mark.parametrize(("change", "words"), CONTRADICTIONS.values(), ids=CONTRADICTIONS)
def test_a_lock_that_is_not_for_this_kit_or_contradicts_itself_is_refused(change, words):
    with pytest.raises(KitError, match=words):
        lock.from_document(good() | change)


def test_a_base_is_named_by_digest_only(tmp_path):
    lock.write(PIN | {"channel": "amd", "base": BASE | {"digest": "latest"}}, tmp_path / "small.pin.yaml")

    with pytest.raises(KitError, match=r"base\.digest: 'latest' does not match"):
        lock.load_pin(tmp_path / "small.pin.yaml")


def test_an_interrupted_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "small.lock.yaml"
    lock.write(good(), path)
    before = path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(KitError, match=r"cannot write .*No space left"):
        lock.write(good(rocm="6"), path)

    assert path.read_bytes() == before
    assert [found.name for found in tmp_path.iterdir()] == ["small.lock.yaml"]


def test_equal_documents_have_equal_digests():
    assert lock_of({"aa": b"x"}).sha256 == lock_of({"aa": b"x"}).sha256
    assert lock_of({"aa": b"x"}).sha256 != lock_of({"aa": b"y"}).sha256
