"""Which reader a file is for: by its name, or by its first line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bundle.folklore import commands, dockerfile, markdown, plain, python, yaml_text
from bundle.folklore.items import Text

if TYPE_CHECKING:
    from collections.abc import Callable


def read_shell(source: str, programs: frozenset[str]) -> Text:
    """Return what a shell script says."""
    text = Text("shell", source)
    commands.read(text, source, 1, programs)
    return text


READERS: dict[str, Callable[[str, frozenset[str]], Text]] = {
    "dockerfile": dockerfile.read,
    "shell": read_shell,
    "python": python.read,
    "yaml": yaml_text.read,
    "markdown": markdown.read,
    "requirements": plain.read_requirements,
    "env": plain.read_variables,
}
#: The first that fits a file's name, in lower case.
NAMES = (
    (re.compile(r"(dockerfile|containerfile)([._-].*)?|.*[._-]?(dockerfile|containerfile)"), "dockerfile"),
    (re.compile(r".*\.(sh|bash|zsh|ksh|sbatch|slurm)|\.?(bashrc|profile|bash_profile|zshrc)"), "shell"),
    (re.compile(r".*\.pyw?"), "python"),
    (re.compile(r".*\.ya?ml"), "yaml"),
    (re.compile(r".*\.(md|markdown|mdx)|readme(\.txt)?"), "markdown"),
    (re.compile(r"(.*[._-])?(requirements|constraints)([._-].*)?\.(txt|in)"), "requirements"),
    (re.compile(r"\.env([._-].*)?|.*\.env"), "env"),
)
FIRST_LINE = re.compile(r"#!.*?\b(python|(?:ba|z|k|da)?sh)[\d.]*(?:\s|$)")
#: What a file is taken for that was asked for by name and has none of these.
OTHERWISE = "markdown"


def kind_of(name: str, beginning: str) -> str | None:
    """Return the kind of a file by its name or its first line; None where it is none that is checked."""
    for pattern, kind in NAMES:
        if pattern.fullmatch(name.lower()):
            return kind
    first = FIRST_LINE.match(beginning)
    if not first:
        return None
    return "python" if first[1] == "python" else "shell"
