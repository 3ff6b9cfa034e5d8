import json

import pytest

import schema
from schema.canon import digest
from schema.documents import problems, validator
from schema.errors import KitError
from schema.records import to_dict
from tests.validate.fakes_node import LOCK, instinct, laptop, nvidia
from validate import context, describe


@pytest.mark.parametrize(
    "machine", [instinct(), nvidia(), laptop(), laptop(probes={})], ids=["rocm", "cuda", "cpu", "no torch"]
)
def test_the_start_record_follows_the_schema(machine):
    record = json.loads(json.dumps(to_dict(describe.start_record("report-1", machine))))

    assert problems(record, validator("report-1", "#/$defs/start")) == []


def test_a_probe_that_died_leaves_its_reason():
    assert describe.torch(laptop(probes={})) == {
        "version": None, "build": None, "error": "probe devices: python3 is not installed",
    }  # fmt: skip


def test_the_lock_is_named_by_its_digest():
    assert describe.start_record("report-1", laptop(), lock=LOCK).lock_sha256 == digest(LOCK)


@pytest.mark.parametrize(
    "lock", [{"a": '\u00e9\n"\\\u2028\x1f\x7f', "b": [1, None, True], "Z": {}}, LOCK], ids=["odd characters", "a lock"]
)
def test_the_digest_without_rfc8785_is_that_with_it(lock):
    assert context.lock_digest(lock) == digest(lock)


def test_the_machine_is_recognised_and_not_named():
    files = {"/etc/machine-id": "0123456789abcdef0123456789abcdef\n"}

    identity = describe.identity(laptop(files=files))

    assert identity == describe.identity(laptop(files=files))
    assert len(identity) == 64
    assert "0123456789abcdef" not in identity


@pytest.mark.parametrize("sign", ["/.dockerenv", "/run/.containerenv"])
def test_the_id_in_an_image_is_not_the_machines(sign):
    assert describe.identity(laptop(files={"/etc/machine-id": "abc", sign: ""})) is None


def test_another_package_called_schema_is_refused(monkeypatch):
    monkeypatch.setattr(schema, "__file__", "/usr/lib/python3/dist-packages/schema/__init__.py")

    with pytest.raises(KitError, match="another package named schema"):
        describe.assert_ours()


@pytest.mark.parametrize("text", ["[]", "{", '{"name": "x"}'])
def test_what_is_no_lock_is_refused(text):
    with pytest.raises(KitError):
        context.read_lock(laptop(files={"x.json": text}), "x.json")


def test_a_lock_that_was_named_must_be_there():
    with pytest.raises(KitError, match=r"cannot read the lock nowhere\.json"):
        context.read_lock(laptop(), "nowhere.json")

    assert context.read_lock(laptop()) is None


def test_a_damaged_context_is_refused():
    with pytest.raises(KitError, match=r"context\.json"):
        context.load(laptop(files={str(context.ROOT / "context.json"): "{"}))
