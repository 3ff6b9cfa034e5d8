"""What is written of an image that exists: what was read in it, and nothing that was not."""

from dataclasses import replace

import pytest

from images import adopt
from images.adopt import epoch, in_engine, name_of, named, release, written
from pins import lock as locks
from schema import documents
from schema.errors import KitError
from tests.fakes import FakeEngine
from tests.images.test_inspect import FACTS, ID, IMAGE, INVENTORY, VERSIONS

DIGEST = "sha256:" + "d" * 64
TORCH = {
    "version": "2.6.0+rocm6.4.1",
    "build": "rocm",
    "hip": "6.4.43483",
    "arch_list": ["gfx942", "gfx90a:sramecc+:xnack-", "gfx90a", "gfx11-generic", "sm_90"],
}
TODAY = "2026-12-01"


def records(torch=None, **changed):
    start = {"kind": "start", "python": "3.12.3", "torch": TORCH | (torch or {})}
    return [start, *({"kind": "facts", "check": name, "facts": facts} for name, facts in (FACTS | changed).items())]


def adopted(**changed):
    pin, lock = written(in_engine(IMAGE, TODAY), IMAGE, records(**changed))
    return pin, lock


def test_pin_and_lock_agree_and_are_read_back_as_they_were_written(tmp_path):
    pin, document = adopted()
    locks.write(pin, tmp_path / f"{pin['name']}.pin.yaml")
    locks.write(document, tmp_path / f"{pin['name']}.lock.yaml", "x")

    lock = locks.load(tmp_path / f"{pin['name']}.lock.yaml")

    assert (lock.document, locks.load_pin(tmp_path / f"{pin['name']}.pin.yaml")) == (document, pin)
    assert (lock.channel, lock.rocm, lock.gfx) == ("adopted", "6.4.1", ("gfx942", "gfx90a"))
    assert lock.document["inventory"] == {"deb": {"dash": "0.5"}, "wheel": {"torch": "2"}}
    assert (lock.document["components"], lock.document["environment"]) == ({}, {})


def test_one_package_is_one_line_of_a_lock():
    debs = {f"package{number}": "1" for number in range(30)}
    _, document = adopted(inventory=INVENTORY | {"debs": debs})

    text = locks.dump(document)

    assert [line for line in text.splitlines() if "package7" in line] == ['    package7: "1"']


@pytest.mark.parametrize(
    ("tags", "digests", "reference", "expected"),
    [
        (["x:1"], [], "x:1", ("x", "1", ID, "config")),
        (["x:1", "y:2"], [], "y:2", ("y", "2", ID, "config")),
        (["x:latest", "a:1"], [], "x", ("x", "latest", ID, "config")),
        (["h:5000/x:1"], [], "h:5000/x:1", ("h:5000/x", "1", ID, "config")),
        ([], [], ID, ("unnamed", None, ID, "config")),
        (["<none>:<none>"], ["<none>@<none>"], ID, ("unnamed", None, ID, "config")),
        (["x:1"], [f"x@{DIGEST}"], "x:1", ("x", "1", DIGEST, "unknown")),
        (["x:1"], [f"b/x@{DIGEST}", f"a/x@{DIGEST}"], "x:1", ("a/x", "1", DIGEST, "unknown")),
        ([], [f"x@{DIGEST}"], f"x@{DIGEST}", ("x", None, DIGEST, "unknown")),
    ],
    ids=[
        "a tag",
        "the tag that was asked for",
        "no tag is latest",
        "a registry's port",
        "an id alone",
        "dangling",
        "its registry's digest",
        "of several registries the first",
        "a digest alone",
    ],
)
def test_an_engines_image_is_known_by_a_registrys_digest_or_its_own_id(tags, digests, reference, expected):
    base = in_engine(replace(IMAGE, tags=tags, digests=digests, reference=reference), TODAY)

    assert tuple(base[key] for key in ("repo", "tag", "digest", "digest_kind")) == expected
    assert (base["status"], base["recorded"]) == ("recorded", TODAY)
    documents.check(adopted()[1] | {"base": base}, "lock-1", "x")


@pytest.mark.parametrize(
    ("rows", "build", "expected"),
    [
        ([["/opt/rocm/.info/version", "6.4.1-83"], ["label", "6.2"]], "rocm", "6.4.1"),
        ([["header", "6.2.1.0-96-a1b2c3d"]], "rocm", "6.2.1"),
        ([["odd", "unreadable"], ["label", "6.3"]], "rocm", "6.3"),
        ([["package libamdhip64-5", "5.7.1-6+deb13u1"]], "cpu", "5.7.1"),
        ([], "rocm", "unknown"),
        ([], "cuda", "none"),
        ([], "cpu", "none"),
    ],
)
def test_the_release_is_that_of_the_most_direct_source(rows, build, expected):
    assert release(rows, build) == expected


@pytest.mark.parametrize(
    ("created", "expected"),
    [
        ("2026-11-28T00:00:00Z", 1795824000),
        ("2026-11-28T00:00:00.123456789Z", 1795824000),
        ("0001-01-01T00:00:00Z", 0),
        ("9999-12-31T23:59:59Z", adopt.MAX_EPOCH),
        ("", 0),
        ("yesterday", 0),
    ],
)
def test_when_it_was_created_is_its_epoch(created, expected):
    assert epoch(created) == expected


@pytest.mark.parametrize(
    ("repo", "tag", "expected"),
    [
        ("rocm/pytorch", "rocm6.4.1_py3.12", "adopted-rocm-pytorch-rocm6.4.1_py3.12-dddddddddddd"),
        ("h:5000/x", "V1", "adopted-h-5000-x-v1-dddddddddddd"),
        ("unnamed", None, "adopted-unnamed-dddddddddddd"),
        ("x" * 200, "1", f"adopted-{'x' * 70}-dddddddddddd"),
    ],
)
def test_a_lock_is_called_after_its_image(repo, tag, expected):
    assert name_of({"repo": repo, "tag": tag, "digest": DIGEST}) == expected


def test_an_image_is_written_as_people_write_it():
    assert named({"repo": "x", "tag": None, "digest": DIGEST}) == f"x@{DIGEST}"
    assert named({"repo": "x", "tag": "1", "digest": DIGEST}) == f"x:1@{DIGEST}"


def test_components_are_what_the_most_direct_source_tells_and_odd_words_are_none():
    sources = VERSIONS["sources"] | {
        "hip": [["hipconfig", "6.4.4"], ["package", "6"]],
        "miopen": [["x", "a b\x1b"]],
        "rccl": [],
    }

    _, document = adopted(versions={"sources": sources})

    assert document["components"] == {"hip": "6.4.4"}


@pytest.mark.parametrize("build", ["cpu", "cuda"])
def test_only_a_pytorch_for_rocm_serves_targets(build):
    assert adopted(torch={"build": build})[1]["gfx"] == []


def test_without_a_pytorch_nothing_is_locked():
    with pytest.raises(KitError, match="no PyTorch that can be imported: ImportError: libMIOpen") as caught:
        adopted(torch={"version": None, "build": None, "error": "ImportError: libMIOpen.so.1"})

    assert "./kit inspect" in caught.value.hint


@pytest.mark.parametrize(
    "changed",
    [
        {"torch": {"version": "2 6\x1b[2J"}},
        {"inventory": INVENTORY | {"debs": {"dash": "5" * 300}}},
        {"inventory": INVENTORY | {"debs": {f"package-{number}": "1" * 100 for number in range(12000)}}},
    ],
    ids=["a version that is none", "a version without end", "more than a lock can hold"],
)
def test_what_no_lock_can_hold_is_refused(changed):
    with pytest.raises(KitError, match="x:1") as caught:
        adopted(**changed)

    assert caught.value.hint == adopt.LOOK


def test_a_store_that_hides_what_an_image_is_is_said(monkeypatch):
    engine = FakeEngine(about={"storage": "containerd"})
    monkeypatch.setattr(adopt.inspect, "look", lambda *_: IMAGE)

    with pytest.raises(KitError, match="containerd store") as caught:
        adopt.found(engine, "x:1", tell=lambda _: None, today=TODAY)

    assert "push it to a registry" in caught.value.hint
