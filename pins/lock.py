"""Read and write pins and locks. The only door to `yaml`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from pins import channels, rules, surprises
from pins.paths import matching, opened, there
from pins.store import replacing
from schema.canon import digest
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

PINS = Path(__file__).parent
LOCK_SUFFIX, PIN_SUFFIX = ".lock.yaml", ".pin.yaml"
MAX_BYTES = 1 << 20  # ten times the largest lock we know; of a hostile one, some seconds of reading
OTHER_FILE = "name a lock or a pin, such as those in pins/"
AGAIN = "./kit lock --pin NAME makes it again"
LONGEST_LINE = 20  # fields of a mapping that is written in one line

_BaseLoader: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml reads a lock ten times faster
_BaseDumper: type = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


@dataclass(frozen=True)
class Lock:
    """One lock file. `document` follows schema lock-1 and is never changed; `sha256` is L, the digest of it."""

    document: dict[str, Any] = field(repr=False)
    sha256: str
    path: Path | None = None

    @property
    def name(self) -> str:
        """Name of the lock, safe as a file name."""
        return str(self.document["name"])

    @property
    def rocm(self) -> str:
        """ROCm version."""
        return str(self.document["rocm"])

    @property
    def channel(self) -> str:
        """Where the software comes from: amd, debian, wheel, cuda, adopted."""
        return str(self.document["channel"])

    @property
    def epoch(self) -> int:
        """No file in the image is younger, seconds since 1970."""
        return int(self.document["source_date_epoch"])

    @property
    def debs(self) -> list[dict[str, Any]]:
        """Debian packages, sorted by name."""
        return list(self.document["debs"])

    @property
    def wheels(self) -> list[dict[str, Any]]:
        """Python wheels, sorted by name."""
        return list(self.document["wheels"])

    @property
    def base(self) -> dict[str, Any] | None:
        """Image by digest that is built upon, or None."""
        base: dict[str, Any] | None = self.document["base"]
        return base

    @property
    def adds(self) -> bool:
        """Say whether the lock puts anything on its base; the image is the base itself where it does not."""
        return bool(self.debs or self.wheels or self.document["environment"])

    @property
    def gfx(self) -> tuple[str, ...]:
        """AMD targets that the GPU binaries serve; empty for a CPU build of PyTorch."""
        return tuple(self.document["gfx"])

    @property
    def torch_build(self) -> str:
        """Backend that PyTorch was built for: rocm, cuda, cpu."""
        return str(self.document["torch"]["build"])


def from_document(document: dict[str, Any], path: Path | None = None) -> Lock:
    """Return the lock in a parsed document; KitError unless it follows the schema and contradicts itself nowhere."""
    where = str(path or "the lock")
    sha256 = rules.check(document, "lock-1", where, AGAIN)
    for kind in ("debs", "wheels"):
        names = [item["name"] for item in document[kind]]
        if len(set(names)) != len(names):
            raise KitError(f"{where} lists a package twice: {_first_double(names)}", AGAIN)
    if document["base"] is None and not document["debs"]:
        raise KitError(f"{where} has neither a base image nor packages", AGAIN)
    return Lock(document, sha256, path)


def load(path: Path | str) -> Lock:
    """Return the lock in a file.

    Raises KitError when it cannot be read, does not follow the schema, or is stale: the pin beside it has changed
    since. A hash may be null here; `build` refuses it.
    """
    return fresh(read(Path(path)))


def read(path: Path) -> Lock:
    """Return the lock in a file, stale or not; KitError when it cannot be read or does not follow the schema."""
    return from_document(read_yaml(path), path)


def fresh(lock: Lock) -> Lock:
    """Return the lock; KitError when the pin beside its file has another name or has changed since it was made."""
    path = lock.path or Path(lock.name)
    pin_path = path.with_name(path.name.removesuffix(LOCK_SUFFIX) + PIN_SUFFIX)
    if path.name.endswith(LOCK_SUFFIX) and there(pin_path):
        if path.name != lock.name + LOCK_SUFFIX:
            raise KitError(f"{path.name} calls itself {lock.name}", f"rename it to {lock.name}{LOCK_SUFFIX}")
        pin = load_pin(pin_path)
        if digest(pin) != lock.document["pin_sha256"]:
            raise KitError(
                f"{path.name} is stale: {pin_path.name} has changed since it was made",
                f"./kit lock --pin {lock.name}",
            )
    return lock


def load_pin(path: Path) -> dict[str, Any]:
    """Return the pin in a file; KitError unless it follows schema pin-1 and its channel has what it needs."""
    pin = read_yaml(path)
    rules.check(pin, "pin-1", str(path), "correct it; the pins in pins/ show what a pin has")
    if needed := channels.lacking(pin):
        raise KitError(f"{path.name}: a pin of channel {pin['channel']} needs {needed}", "add what is missing")
    return pin


def load_all(folder: Path = PINS, *, tell: Callable[[str], None] = lambda _: None) -> list[Lock]:
    """Return every lock of a folder that can be read, stale ones too, sorted by name; `tell` gets the others' names."""

    def readable(path: Path) -> Lock | None:
        try:
            return read(path)
        except KitError:
            tell(path.name.removesuffix(LOCK_SUFFIX))
            return None

    return [lock for path in matching(folder, "*" + LOCK_SUFFIX) if (lock := readable(path))]


def read_yaml(path: Path) -> dict[str, Any]:
    """Return the mapping in a YAML file as JSON types; KitError, naming file and place, for anything else.

    Doubled keys, aliases, tags, dates and unquoted versions are refused.
    """
    try:
        with opened(path) as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise KitError(f"{path} is larger than {MAX_BYTES} bytes", OTHER_FILE)
        document = yaml.load(data.decode("utf-8"), Loader=_Loader)  # noqa: S506 (a safe loader, made stricter)
    except OSError as error:
        raise KitError(f"cannot read {path}: {error.strerror}", OTHER_FILE) from error
    except UnicodeDecodeError as error:
        raise KitError(f"{path} is not UTF-8", OTHER_FILE) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise KitError(f"{path} is not YAML as we write it: {_short(error)}", "correct that line") from error
    if not isinstance(document, dict):
        raise KitError(f"{path} is not a mapping of fields", OTHER_FILE)
    surprises.refuse(document, path.name)
    return document


def dump(document: dict[str, Any]) -> str:
    """Return YAML that reads back to the same document and is the same for the same document."""
    text: str = yaml.dump(
        document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, default_flow_style=False, width=100_000
    )
    return text


def write(document: dict[str, Any], path: Path, comment: str = "") -> None:
    """Write a document as YAML, atomically; KitError when the folder cannot be written."""
    head = "".join(f"# {line}\n" for line in comment.splitlines())
    try:
        with replacing(path) as part:
            part.write((head + dump(document)).encode())
    except OSError as error:
        raise KitError(f"cannot write {path}: {error.strerror}", "name a folder that is there, with room") from error


class _Loader(_BaseLoader):  # type: ignore[misc]  # the base is chosen at run time
    """YAML without its surprises."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:  # noqa: FBT001, FBT002 (PyYAML's signature)
        """Refuse a key that stands twice, of which YAML would take the last, and merged mappings, which hide such."""
        if any(key.tag == "tag:yaml.org,2002:merge" for key, _ in node.value):
            raise yaml.constructor.ConstructorError(None, None, "<< is not allowed here", node.start_mark)
        keys = [key.value for key, _ in node.value]
        if len(set(map(str, keys))) != len(keys):
            raise yaml.constructor.ConstructorError(None, None, f"{_first_double(keys)} stands twice", node.start_mark)
        found: dict[Hashable, Any] = super().construct_mapping(node, deep=deep)
        return found


class _Dumper(_BaseDumper):  # type: ignore[misc]  # the base is chosen at run time
    """YAML in which text that begins with a digit is quoted: all versions and hashes look alike."""

    def ignore_aliases(self, data: Any) -> bool:
        """Write everything out."""
        del data
        return True

    def represent_mapping(self, tag: str, mapping: Any, flow_style: bool | None = None) -> Any:  # noqa: FBT001 (PyYAML's signature)
        """Write a mapping of scalars in one line, unless it is a long list: one package is one line of a diff."""
        node = super().represent_mapping(tag, mapping, flow_style=flow_style)
        if len(node.value) <= LONGEST_LINE and all(isinstance(value, yaml.ScalarNode) for _, value in node.value):
            node.flow_style = True
        return node


def _text(dumper: Any, value: str) -> Any:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style='"' if value[:1].isdigit() else None)


_Dumper.add_representer(str, _text)


def _first_double(keys: list[Any]) -> str:
    return str(next(key for key in keys if keys.count(key) > 1))


def _short(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error)
    return f"line {mark.line + 1}: {problem}" if mark else str(problem)[:200]
