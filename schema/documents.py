"""Hold documents against their JSON Schemas (2020-12). Host only, the one door to `jsonschema`."""

from __future__ import annotations

import functools
import json
import re
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jsonschema import Draft202012Validator

FOLDER = Path(__file__).parent
MAX_PROBLEMS = 12
MAX_DEPTH = 40
#: Which part of which schema each record of a document follows; samples and telemetry are `schema.samples`' business.
PARTS = {
    "report-1": {
        "start": ("report-1", "#/$defs/start"),
        "facts": ("report-1", "#/$defs/facts"),
        "finding": ("report-1", "#/$defs/finding"),
        "end": ("report-1", "#/$defs/end"),
    },
    "results-1": {
        "start": ("report-1", "#/$defs/start"),
        "process": ("results-1", "#/$defs/process"),
        "end": ("report-1", "#/$defs/end"),
    },
}


def load_schema(name: str) -> dict[str, Any]:
    """Return the schema called `name`, e.g. `lock-1`."""
    schema: dict[str, Any] = json.loads((FOLDER / f"{name}.schema.json").read_text(encoding="utf-8"))
    return schema


def check(document: Any, name: str, where: str = "") -> None:
    """Raise KitError, listing what is wrong and where, unless `document` follows schema `name`.

    `where` is the file or thing to name in the message. Use `validator(name, "#/$defs/x")` for parts.
    """
    if depth(document) > MAX_DEPTH:
        raise KitError(f"{where or name}: nested deeper than {MAX_DEPTH}")
    found = problems(document, validator(name))
    if found:
        raise KitError(f"{where or 'document'} does not follow schema {name}: " + "; ".join(found))


def problems(document: Any, against: Draft202012Validator) -> list[str]:
    """Return what is wrong with `document`, each with its path, wrong values before missing ones; else nothing."""
    errors = sorted(against.iter_errors(document), key=lambda error: (error.validator == "required", error.json_path))
    found = [f"{error.json_path[2:] or 'top level'}: {error.message[:200]}" for error in errors[:MAX_PROBLEMS]]
    if len(errors) > MAX_PROBLEMS:
        found.append(f"and {len(errors) - MAX_PROBLEMS} more")
    return found


@functools.cache
def validator(name: str, pointer: str = "") -> Draft202012Validator:
    """Return the validator for schema `name`, or for the part of it at `pointer` (`#/$defs/sample`)."""
    from jsonschema import Draft202012Validator, validators  # 0.3 s: only where a document is checked

    schema: dict[str, Any] = load_schema(name)
    if pointer:
        schema = {"$schema": schema["$schema"], "$ref": f"{name}.schema.json{pointer}"}
    strict: type[Draft202012Validator] = validators.extend(  # type: ignore[no-untyped-call]
        Draft202012Validator, {"pattern": _pattern}
    )
    return strict(schema, registry=_registry())


def _pattern(_validator: Any, pattern: str, instance: Any, _schema: Any) -> Iterator[Any]:
    """Match as JSON Schema means it: Python's `$` lets a last newline through, and digits are of any script."""
    from jsonschema import ValidationError

    if isinstance(instance, str) and not re.search(re.sub(r"\$$", r"\\Z", pattern), instance, re.ASCII):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


@functools.cache
def _registry() -> Any:
    from referencing import Registry, Resource

    resources = []
    for path in sorted(FOLDER.glob("*.schema.json")):
        contents = json.loads(path.read_text(encoding="utf-8"))
        resources += [
            (path.name, Resource.from_contents(contents)),
            (contents["$id"], Resource.from_contents(contents)),
        ]
    return Registry().with_resources(resources)


def depth(document: Any) -> int:
    """Return how deep a JSON document nests, without recursion; an early answer above `MAX_DEPTH`."""
    level, layer = 0, [document]
    while layer and level <= MAX_DEPTH:
        below: list[Any] = []
        for item in layer:
            if isinstance(item, dict):
                below += item.values()
            elif isinstance(item, list):
                below += item
        layer, level = below, level + 1
    return level


def read_json(path: Path, limit: int = 256 << 20) -> Any:
    """Return the parsed JSON file; KitError, naming it, when it is missing, too large, or not strict JSON."""
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):  # a pipe would keep us waiting, a device has no end
            raise KitError(f"{path} is not a regular file")
        if found.st_size > limit:
            raise KitError(f"{path} is larger than {limit} bytes")
        return parse_json(path.read_bytes(), str(path))
    except OSError as error:
        raise KitError(f"cannot read {path}: {error.strerror}") from error


def parse_json(data: bytes, where: str) -> Any:
    """Return the parsed JSON; duplicate keys, NaN, numbers that overflow and bad UTF-8 are refused.

    Integers of more than 15 digits become doubles, which is what they are in JSON.
    """

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(items)
        if len(found) != len(items):
            raise ValueError("a key stands twice in one object")
        return found

    def number(text: str) -> float:
        value = float(text)
        if value in {float("inf"), float("-inf")}:
            raise ValueError(f"the number {text[:40]} is out of range")
        return value

    def integer(text: str) -> float:
        # JSON's numbers are doubles, and RFC 8785 writes 6.5e20 as digits: that must read back as the same double.
        return int(text) if len(text) <= 15 else number(text)

    def constant(text: str) -> Any:
        raise ValueError(f"{text} is not a number in JSON")

    try:
        return json.loads(
            data.decode("utf-8"),
            object_pairs_hook=pairs,
            parse_float=number,
            parse_int=integer,
            parse_constant=constant,
        )
    except (ValueError, RecursionError) as error:
        raise KitError(f"{where} is not strict JSON: {str(error)[:160]}") from error


def show(document: Any) -> None:
    """Print one document as JSON on stdout, the form that `--json` promises to scripts."""
    json.dump(document, sys.stdout, indent=2, ensure_ascii=False, allow_nan=False)
    sys.stdout.write("\n")
