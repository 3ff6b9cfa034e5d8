"""YAML into items: what compose files, Kubernetes and CI set, run and start. The only door to `yaml` in this branch."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import yaml

from bundle.folklore import commands
from bundle.folklore.items import Image, Run, Setting, Text, Word

if TYPE_CHECKING:
    from collections.abc import Iterator

_Loader: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
ENVIRONMENTS = frozenset({"env", "environment", "variables", "env_vars", "envs", "x-environment"})
SCRIPTS = frozenset({
    "run", "script", "before_script", "after_script", "command", "commands", "args", "entrypoint", "cmd", "shell",
    "install", "setup", "steps", "healthcheck", "test",
})  # fmt: skip
#: Keys of a service or container, and the option of `docker run` that says the same.
OPTIONS = {"devices": "device", "privileged": "privileged", "ipc": "ipc", "group_add": "group-add", "gpus": "gpus",
           "runtime": "runtime", "security_opt": "security-opt", "shm_size": "shm-size"}  # fmt: skip
VARIABLE = re.compile(r"[A-Za-z_]\w*")
COMMENT = re.compile(r"(?:^|\s)#\s?(.*)$")


def read(source: str, programs: frozenset[str]) -> Text:
    """Return what YAML says; of what is none (a template, say), what its `NAME: value` lines set."""
    text = Text("yaml", source)
    walker = _Walker(text, programs)
    try:
        for node in yaml.compose_all(source, Loader=_Loader):
            walker.walk(node, "")
    except (yaml.YAMLError, ValueError, RecursionError):
        _by_line(text)
    above: list[str] = []
    for number, line in enumerate(source.split("\n"), 1):
        comment = COMMENT.search(line)
        text.comment(number, comment[1] if comment else "")
        if comment and line.lstrip().startswith("#"):
            above.append(comment[1])
        else:
            text.say(number, " ".join(above))
            above = []
    return text


def _by_line(text: Text) -> None:
    for number, line in enumerate(text.source.split("\n"), 1):
        if found := re.match(r"\s*(?:- )?([A-Z][A-Za-z0-9]*_\w+)\s*[:=]\s*['\"]?([^'\"#]*)", line):
            text.items.append(Setting(number, found[1], found[2].strip(), "exported"))


class _Walker:
    """Goes through the nodes of a document, each once: an alias leads to a node that was seen."""

    def __init__(self, text: Text, programs: frozenset[str]) -> None:
        self.text, self.programs = text, programs
        self.seen: set[int] = set()

    def walk(self, node: Any, key: str) -> None:
        if node is None or id(node) in self.seen:
            return
        self.seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            self._mapping(node, key)
        elif isinstance(node, yaml.SequenceNode):
            self._sequence(node, key)
        elif key in SCRIPTS:
            self._script(node)

    def _mapping(self, node: Any, key: str) -> None:
        pairs = {name.value: (name, value) for name, value in node.value if isinstance(name, yaml.ScalarNode)}
        if key in ENVIRONMENTS:
            for name, value in pairs.values():
                self._set(name, name.value, value)
        if {"name", "value"} <= set(pairs) and VARIABLE.fullmatch(str(pairs["name"][1].value)):
            self._set(pairs["name"][1], pairs["name"][1].value, pairs["value"][1])
        if "image" in pairs or ("build" in pairs and "devices" in pairs):
            self._container(node, pairs)
        elif key in {"container", "image"} and "name" in pairs:
            self._image(pairs["name"][1])
        for name, value in pairs.values():
            self.walk(value, name.value)

    def _set(self, at: Any, name: str, value: Any) -> None:
        if isinstance(value, yaml.ScalarNode):
            self.text.items.append(Setting(at.start_mark.line + 1, name, value.value, "exported"))

    def _image(self, node: Any) -> None:
        if isinstance(node, yaml.ScalarNode) and node.value:
            self.text.items.append(Image(node.start_mark.line + 1, node.value, base=False))

    def _sequence(self, node: Any, key: str) -> None:
        scalars = [item for item in node.value if isinstance(item, yaml.ScalarNode)]
        if key in ENVIRONMENTS:
            self._listed(scalars)
        elif key in {"command", "args", "entrypoint", "cmd"} and scalars:
            words = [Word(item.value, _first_line(item)) for item in scalars]
            self.text.items += commands.from_words(words, self.programs)
            for item in scalars:
                if "\n" in item.value:
                    self._script(item)
        elif key in SCRIPTS:
            for item in scalars:
                self._script(item)
        for item in node.value:
            if not isinstance(item, yaml.ScalarNode):
                self.walk(item, key if key in ENVIRONMENTS else "")

    def _listed(self, scalars: list[Any]) -> None:
        """Read `- NAME=VALUE` lines."""
        for item in scalars:
            name, equals, value = item.value.partition("=")
            if equals and VARIABLE.fullmatch(name):
                self.text.items.append(Setting(item.start_mark.line + 1, name, value, "exported"))

    def _script(self, node: Any) -> None:
        if isinstance(node, yaml.ScalarNode):
            commands.read(self.text, node.value, _first_line(node), self.programs)

    def _container(self, node: Any, pairs: dict[str, Any]) -> None:
        """Note a service, or a container of a pod, as if it were started by a command."""
        image = pairs["image"][1] if "image" in pairs else None
        if image is not None:
            self._image(image)
        reference = image.value if isinstance(image, yaml.ScalarNode) else ""
        options = [
            (option, value.value if isinstance(value, yaml.ScalarNode) else "", value.start_mark.line + 1)
            for name, option in OPTIONS.items()
            if name in pairs
            for value in _scalars(pairs[name][1])
        ]
        for path, option in ((("deploy", "driver"), "gpu-driver"), (("securityContext", "privileged"), "privileged")):
            options += [(option, found.value, found.start_mark.line + 1) for found in _deep(pairs, *path)]
        limits = [key for name in ("resources",) if name in pairs for key in _keys(pairs[name][1])]
        options += [("resource", key.value, key.start_mark.line + 1) for key in limits]
        self.text.items.append(Run(node.start_mark.line + 1, "yaml", reference, tuple(options)))


def _scalars(node: Any) -> list[Any]:
    return (
        [node]
        if isinstance(node, yaml.ScalarNode)
        else [item for item in node.value if isinstance(item, yaml.ScalarNode)]
    )


def _keys(node: Any, depth: int = 6) -> Iterator[Any]:
    """Yield the keys of mappings in mappings."""
    for part in getattr(node, "value", []) if depth and not isinstance(node, yaml.ScalarNode) else []:
        if isinstance(part, tuple):
            yield part[0]
            yield from _keys(part[1], depth - 1)
        else:
            yield from _keys(part, depth - 1)


def _deep(pairs: dict[str, Any], top: str, wanted: str) -> Iterator[Any]:
    """Yield the values of the key `wanted` anywhere under the key `top`."""
    if top in pairs:
        yield from _values(pairs[top][1], wanted, 6)


def _values(node: Any, wanted: str, depth: int) -> Iterator[Any]:
    for part in getattr(node, "value", []) if depth and not isinstance(node, yaml.ScalarNode) else []:
        if isinstance(part, tuple):
            if part[0].value == wanted and isinstance(part[1], yaml.ScalarNode):
                yield part[1]
            yield from _values(part[1], wanted, depth - 1)
        else:
            yield from _values(part, wanted, depth - 1)


def _first_line(node: Any) -> int:
    """Return the line on which the words of a scalar begin: those of `|` and `>` stand below it."""
    return int(node.start_mark.line) + (2 if node.style in {"|", ">"} else 1)
