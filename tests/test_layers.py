"""The branches never import each other, and each outside thing has one door."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MAY_IMPORT = {
    "schema": set(),
    "pins": {"schema"},
    "images": {"schema", "pins"},
    "validate": {"schema"},
    "benchmarks": {"schema", "validate"},
    "bundle": {"schema", "validate", "benchmarks"},
}
DOORS = {
    "docker": {"images/engine.py"},
    "jsonschema": {"schema/documents.py"},
    "referencing": {"schema/documents.py"},
    "rfc8785": {"schema/canon.py"},
    "yaml": {"pins/lock.py"},
    "subprocess": {"pins/process.py", "validate/machine.py", "benchmarks/children.py"},
}
CONTAINER = {"schema", "validate", "benchmarks"}
HOST_ONLY = {"schema/canon.py", "schema/documents.py"}
FILES = sorted(path for package in MAY_IMPORT for path in (ROOT / package).rglob("*.py"))


def imports(path, *, top_level_only=False):
    """Yield the first name of every module that the file imports."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    guarded = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    nodes = tree.body if top_level_only else ast.walk(tree)
    for node in nodes:
        if id(node) in guarded:
            continue
        if isinstance(node, ast.Import):
            yield from (name.name.split(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield (node.module or "").split(".")[0]


def relative(path):
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_a_file_imports_only_what_its_package_may(path):
    package = relative(path).split("/")[0]
    ours = set(imports(path)) & {*MAY_IMPORT, "tasks", "tests"}

    assert ours - {package} <= MAY_IMPORT[package]


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_each_outside_thing_has_one_door(path):
    for module, doors in DOORS.items():
        if module in set(imports(path)):
            assert relative(path) in doors, f"{module} is imported outside its door"


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_container_code_needs_the_standard_library_and_torch_alone(path):
    name = relative(path)
    if name.split("/")[0] not in CONTAINER or name in HOST_ONLY:
        return
    foreign = set(imports(path)) - set(sys.stdlib_module_names) - set(MAY_IMPORT)

    assert foreign <= {"torch", "torchvision"}
    assert not foreign & set(imports(path, top_level_only=True)), "torch is imported where it is used, not before"


def test_container_code_does_not_use_the_host_only_files():
    for path in FILES:
        if relative(path).split("/")[0] in CONTAINER and relative(path) not in HOST_ONLY:
            text = path.read_text(encoding="utf-8")
            assert "schema.canon" not in text, relative(path)
            assert "schema.documents" not in text, relative(path)
