"""The branches never import each other, and each outside thing has one door."""

import ast
import re
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
    "commands": {"schema", "pins", "images", "validate", "benchmarks", "bundle"},
}
DOORS = {
    # what `docker login` left is read by the SDK's own reader, wherever a registry is asked; engines have one door
    "docker": {"images/engine.py", "pins/credentials.py"},
    "requests": {"images/engine.py", "pins/registry_client.py", "pins/registry_errors.py"},
    "jsonschema": {"schema/documents.py"},
    "referencing": {"schema/documents.py"},
    "invoke": {"commands/options.py", "commands/program.py"},
    "rfc8785": {"schema/canon.py"},
    "yaml": {"pins/lock.py", "bundle/folklore/yaml_text.py"},  # one in each branch; the second only looks
    "http.client": {"pins/web.py", "pins/download.py"},
    "urllib.request": {"pins/web.py"},
    "subprocess": {"pins/process.py", "images/inside/steps.py", "validate/machine.py", "benchmarks/children.py"},
}
CONTAINER = {"schema", "validate", "benchmarks"}
HOST_ONLY = {"schema/canon.py", "schema/documents.py"}
FILES = sorted(path for package in MAY_IMPORT for path in (ROOT / package).rglob("*.py"))


def relative(path):
    return path.relative_to(ROOT).as_posix()


def full_imports(path, *, top_level_only=False):
    """Yield every dotted name that the file imports at run time, `from a import b` as `a` and as `a.b`."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    guarded = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in tree.body if top_level_only else ast.walk(tree):
        if id(node) in guarded:
            continue
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)


def imports(path, *, top_level_only=False):
    """Yield the first name of every module that the file imports."""
    return (name.split(".")[0] for name in full_imports(path, top_level_only=top_level_only))


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_a_file_imports_only_what_its_package_may(path):
    package = relative(path).split("/")[0]
    ours = set(imports(path)) & {*MAY_IMPORT, "tasks", "tests"}

    assert ours - {package} <= MAY_IMPORT[package]


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_each_outside_thing_has_one_door(path):
    for name in full_imports(path):
        for module, doors in DOORS.items():
            if f"{name}.".startswith(f"{module}."):
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
            used = {name.replace(".", "/") + ".py" for name in full_imports(path)}
            assert not used & HOST_ONLY, relative(path)


def calls(path):
    """Yield every dotted call in the file, `os.system` for instance."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield ast.unparse(node.func)


@pytest.mark.parametrize("path", [*FILES, ROOT / "tasks.py"], ids=relative)
def test_no_program_is_started_past_the_doors(path):
    started = {
        name for name in calls(path) if re.fullmatch(r"os\.(system|popen|spawn\w*|exec\w*|posix_spawn\w*)", name)
    }

    assert started == set()
