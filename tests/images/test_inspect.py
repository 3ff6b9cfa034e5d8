"""What an engine tells of an image, and what an image tells of itself: both are a stranger's words."""

import contextlib
import json
from dataclasses import replace

import pytest

from images import inspect, inspect_inside
from images.endpoint import EngineError
from images.inspect import BASE_DIGEST, BASE_NAME, Layer, Looked
from schema.errors import KitError
from schema.stream import compact
from tests.fakes import FakeEngine, Script
from tests.images.test_running import end, start

ID = "sha256:" + "1" * 64
IMAGE = Looked("x:1", ID, ["x:1"], [], inspect.PLATFORM, "2026-11-28T00:00:00Z", 5, {}, {}, [])
TOLD = {
    "Id": ID,
    "RepoTags": ["x:2", "x:1"],
    "RepoDigests": None,
    "Os": "linux",
    "Architecture": "amd64",
    "Created": "2026-11-28T00:00:00Z",
    "Size": 7,
    "Config": {"Env": ["PATH=/bin", "EMPTY=", "TWO=a=b", "NAKED"], "Labels": {"a": "b"}},
}
HISTORY = [{"Size": 0, "CreatedBy": "ENV A=1", "Comment": ""}, {"Size": 7, "CreatedBy": "", "Comment": "Imported"}]


class Api:
    def __init__(self, told=None, history=HISTORY, error=None):
        self.told, self.rows, self.error = told or TOLD, history, error

    def inspect_image(self, _reference):
        if self.error:
            raise self.error
        return self.told

    def history(self, image):
        assert image == ID, "what was inspected is what the history is of"
        return self.rows


class Told(FakeEngine):
    """An engine that tells what it is given."""

    def __init__(self, **told):
        super().__init__()
        self.api = Api(**told)

    def door(self, _what):
        return contextlib.nullcontext()


def test_layers_stand_lowest_first_with_what_made_them():
    found = inspect.look(Told(), "x:1")

    assert found.layers == [Layer(7, "", "Imported"), Layer(0, "ENV A=1", "")]
    assert (found.tags, found.platform, found.size_bytes) == (["x:1", "x:2"], "linux/amd64", 7)
    assert found.environment == {"PATH": "/bin", "EMPTY": "", "TWO": "a=b", "NAKED": ""}


@pytest.mark.parametrize(
    "told",
    [
        {"Id": ID},
        {"Id": ID, "Config": None, "RepoTags": None},
        {"Id": ID, "Config": {"Env": None, "Labels": None}, "Size": None, "Created": None},
    ],
    ids=["nothing else", "no configuration", "an empty one"],
)
def test_an_image_of_which_little_is_known_is_looked_at_all_the_same(told):
    found = inspect.look(Told(told=told, history=None), "x")

    assert (found.tags, found.layers, found.environment, found.labels, found.created) == ([], [], {}, {}, "")


def test_an_image_that_is_not_there_is_none_and_what_is_asked_for_is_named():
    engine = Told(error=EngineError("no such image", "", status=404))

    assert inspect.look(engine, "moon:1") is None
    with pytest.raises(KitError, match="no image moon:1"):
        inspect.require(engine, "moon:1")


def test_an_engine_that_fails_is_not_an_image_that_is_not_there():
    with pytest.raises(EngineError, match="busy"):
        inspect.look(Told(error=EngineError("busy", "", status=500)), "moon:1")


@pytest.mark.parametrize(
    ("labels", "comment", "expected"),
    [
        ({}, "", ("", "")),
        ({BASE_NAME: "rocm/pytorch:latest"}, "", ("rocm/pytorch:latest", "")),
        ({BASE_NAME: "x:1", BASE_DIGEST: ID}, "", ("x:1", ID)),
        ({BASE_NAME: f"x:1@{ID}"}, "", ("x:1", ID)),
        ({}, "FROM docker.io/library/debian:trixie", ("docker.io/library/debian:trixie", "")),
        ({}, f"FROM x@{ID}", ("x", ID)),
        ({BASE_NAME: "label"}, "FROM comment", ("label", "")),
        ({}, "FROM two words", ("", "")),
    ],
    ids=["nothing", "a tag", "both labels", "in one label", "Buildah's comment", "with a digest", "both", "prose"],
)
def test_what_it_was_made_from_is_known_where_somebody_left_word(labels, comment, expected):
    assert inspect.base_of(replace(IMAGE, labels=labels, layers=[Layer(1, "x", comment)])) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "rocm/pytorch:rocm6.4.1_ubuntu24.04_py3.12_pytorch_release_2.6.0",
            {"rocm": "6.4.1", "python": "3.12", "torch": "2.6.0"},
        ),
        ("rocm-repro-kit:debian13-hip5.7-torch2.6cpu", {"torch": "2.6"}),
        ("rocm/vllm:rocm7.0.0_vllm_0.10.1", {"rocm": "7.0.0"}),
        ("rocm/pytorch:latest", {}),
        ("pytorch/pytorch:2.6.0-cuda12.4-cudnn9-runtime", {}),
        ("python:3.12", {"python": "3.12"}),
    ],
)
def test_a_name_claims_versions(name, expected):
    assert inspect.claims(name.replace("python:", "python-")) == expected


VERSIONS = {"sources": {"rocm": [["/opt/rocm/.info/version", "6.4.1-83"]], "python": [["this interpreter", "3.12.3"]]}}
INVENTORY = {
    "runtime": "container",
    "debs": {"dash": "0.5"},
    "rpms": None,
    "wheels": [{"name": "torch", "version": "2"}],
}
FACTS = {"versions": VERSIONS, "torch_build": {}, "torch_family": {}, "inventory": INVENTORY}


def told(**changed):
    """Return a script of an image that tells of itself, some of it otherwise."""

    def script(files, argv):
        rows = [
            {"kind": "facts", "check": check, "question": "?", "seconds": 0.1, "facts": facts}
            for check, facts in (FACTS | changed).items()
        ]
        asked.update(argv=argv, context=json.loads(files["context.json"]), lock="lock.json" in files)
        records = [start(files, lock_sha256=None, image_id=ID), *rows, end(facts=len(rows))]
        return Script([compact(row).encode() for row in records], stderr=["\x1b[2Jnoise"])

    asked = {}
    return script, asked


def test_an_image_is_asked_by_its_own_python_on_a_processor_alone():
    script, asked = told()
    engine = FakeEngine(script)

    records = inspect_inside.read(engine, IMAGE)

    assert inspect_inside.facts(records)["versions"] == VERSIONS
    assert asked["argv"][:3] == ["python3", "-m", "validate"]
    assert asked["context"] == {"runtime": "container", "backend": "cpu", "image_id": ID, "lock_sha256": None}
    assert asked["lock"] is False
    (ran,) = engine.ran
    assert ran["access"].host_config["NetworkMode"] == "none"
    assert ran["access"].host_config["CapDrop"] == ["ALL"]
    assert ran["access"].host_config["ReadonlyRootfs"] is True
    assert ran["access"].devices.nodes == ()


def test_an_image_for_another_platform_is_not_started():
    engine = FakeEngine()

    with pytest.raises(KitError, match="is for linux/arm64") as caught:
        inspect_inside.read(engine, replace(IMAGE, platform="linux/arm64"))

    assert (engine.ran, "linux/amd64" in caught.value.hint) == ([], True)


@pytest.mark.parametrize(
    ("script", "says"),
    [
        (
            Script(error=EngineError("the image cannot run this command (exec: python3)", "x", code="start")),
            "no python3",
        ),
        (Script([b"\x1b]0;not our stream\x07"], code=0), "not strict JSON"),
        (Script([], stderr=["ImportError: cannot import name 'cache'"], code=1), "cannot import name 'cache'"),
        (Script([b"{}"]), "is not a record of report-1"),
        (told(versions={"gather_error": "KeyError at x.py:1: boom"})[0], "stopped inside: KeyError"),
        (told(versions={"sources": {"rocm": "6.4"}})[0], "not what the kit's checks tell"),
        (told(versions={"sources": {"rocm": [["a", 6]]}})[0], "not what the kit's checks tell"),
        (told(versions={"sources": []})[0], "not what the kit's checks tell"),
        (told(versions={})[0], "not what the kit's checks tell"),
        (told(inventory={**INVENTORY, "debs": ["dash"]})[0], "not what the kit's checks tell"),
        (told(inventory={**INVENTORY, "debs": {"dash": 5}})[0], "not what the kit's checks tell"),
        (told(inventory={**INVENTORY, "wheels": None})[0], "not what the kit's checks tell"),
        (told(inventory={**INVENTORY, "wheels": [{"name": "x"}]})[0], "not what the kit's checks tell"),
        (told(**{f"more{number}": {} for number in range(200)})[0], "more than 100 things"),
    ],
    ids=[
        "no python",
        "another program's words",
        "an old python",
        "no record",
        "a check that stopped",
        "rows that are none",
        "a version that is a number",
        "a list for a table",
        "nothing",
        "packages without versions",
        "a package's version that is a number",
        "no wheels",
        "a wheel without a version",
        "a flood",
    ],
)
def test_whatever_an_image_says_in_place_of_our_checks_ends_in_one_message(script, says):
    with pytest.raises(KitError) as caught:
        inspect_inside.read(FakeEngine(script), IMAGE)

    assert says in caught.value.message
    assert caught.value.message.startswith("x:1")
    assert caught.value.hint == inspect_inside.PYTHON
    assert "are kept in" not in caught.value.message, "they lay in a folder that is gone"


def test_what_is_not_the_images_fault_keeps_its_own_remedy():
    script = Script(error=EngineError("it was killed at its deadline", "raise the deadline", code="deadline"))

    with pytest.raises(EngineError) as caught:
        inspect_inside.read(FakeEngine(script), IMAGE)

    assert caught.value.hint == "raise the deadline"
