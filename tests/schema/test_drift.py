"""The dataclasses that our code constructs and the schemas that readers hold them against are one thing."""

import dataclasses
import json
import re
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from schema import documents, records

SCHEMAS = sorted(path.name.removesuffix(".schema.json") for path in documents.FOLDER.glob("*.schema.json"))
PLACES = {
    "start": ("report-1", "start"),
    "facts": ("report-1", "facts"),
    "finding": ("report-1", "finding"),
    "sample": ("results-1", "sample"),
    "process": ("results-1", "process"),
    "telemetry": ("results-1", "telemetry"),
    "end": ("report-1", "end"),
}


def definition(kind):
    name, part = PLACES[kind]
    return documents.load_schema(name)["$defs"][part]


def test_every_kind_of_record_has_a_place_in_a_schema():
    assert set(PLACES) == set(records.KINDS)


@pytest.mark.parametrize("kind", PLACES)
def test_a_record_has_the_fields_of_its_schema(kind):
    names = {item.name for item in dataclasses.fields(records.KINDS[kind])}

    assert names | {"kind"} == set(definition(kind)["properties"])


@pytest.mark.parametrize("kind", PLACES)
def test_a_record_demands_what_its_schema_requires(kind):
    always = {
        item.name
        for item in dataclasses.fields(records.KINDS[kind])
        if item.default is dataclasses.MISSING and item.default_factory is dataclasses.MISSING
    }

    assert always | {"kind"} == set(definition(kind)["required"])


@pytest.mark.parametrize(
    ("kind", "enum"),
    [("finding", records.FindingStatus), ("process", records.SampleStatus)],
)
def test_the_statuses_are_one_vocabulary(kind, enum):
    assert [status.value for status in enum] == definition(kind)["properties"]["status"]["enum"]


def test_the_summary_knows_the_same_statuses_as_a_process():
    summary = documents.load_schema("summary-1")["properties"]["cases"]["items"]["properties"]["status"]["enum"]

    assert summary == definition("process")["properties"]["status"]["enum"]


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_a_valid_schema_and_says_its_own_name(name):
    schema = documents.load_schema(name)

    Draft202012Validator.check_schema(schema)
    assert schema["$id"] == f"urn:rocm-repro-kit:schema:{name}"


def objects_in(node, path=""):
    if isinstance(node, dict):
        if "properties" in node and node.get("type") == "object":
            yield path, node
        for key, value in node.items():
            yield from objects_in(value, f"{path}/{key}")
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from objects_in(value, f"{path}/{index}")


@pytest.mark.parametrize("name", SCHEMAS)
def test_what_we_write_admits_no_unknown_fields(name):
    open_objects = [
        path for path, node in objects_in(documents.load_schema(name)) if node.get("additionalProperties") is not False
    ]

    assert open_objects == []


def described(node, name):
    if "description" in node or "const" in node:
        return True
    if "$ref" not in node:
        return False
    file, _, pointer = node["$ref"].partition("#")
    name = file.removesuffix(".schema.json") or name
    target = documents.load_schema(name)
    for key in filter(None, pointer.split("/")):
        target = target[key]
    return described(target, name)


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_field_says_what_it_means(name):
    silent = [
        f"{path}/{field}"
        for path, node in objects_in(documents.load_schema(name))
        for field, value in node["properties"].items()
        if not described(value, name)
    ]

    assert silent == []


UNITS = {"_s": "second", "_bytes": "byte", "_hz": "hertz", "_w": "watt", "_c": "celsius"}


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_field_with_a_unit_in_its_name_says_it_in_words(name):
    silent = [
        f"{path}/{field}"
        for path, node in objects_in(documents.load_schema(name))
        for field, value in node["properties"].items()
        for end, unit in UNITS.items()
        if field.endswith(end) and unit not in value["description"].lower()
    ]

    assert silent == []


def references_in(node):
    if isinstance(node, dict):
        if "$ref" in node:
            yield node["$ref"]
        for value in node.values():
            yield from references_in(value)
    elif isinstance(node, list):
        for value in node:
            yield from references_in(value)


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_reference_between_schemas_resolves(name):
    for reference in references_in(documents.load_schema(name)):
        file, _, pointer = reference.partition("#")
        node = documents.load_schema(file.removesuffix(".schema.json") if file else name)
        for key in filter(None, pointer.split("/")):
            node = node[key]
        assert isinstance(node, dict)


def test_the_facts_are_dated_and_have_sources():
    for path in sorted((Path(documents.__file__).parent / "facts").glob("*.json")):
        facts = json.loads(path.read_text(encoding="utf-8"))

        assert re.search(r"\d{4}-\d{2}-\d{2}", str(facts.get("compiled"))), path.name
        assert facts["sources"], path.name
