"""What a command says: variables it sets, packages it installs, containers it runs, commands inside it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bundle.folklore.items import Command, Image, Item, Requirement, Run, Setting, Text, Word
from bundle.folklore.shell import Script, parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)\+?=(.*)", re.DOTALL)
POWERSHELL = re.compile(r"\$env:(\w+)=?(.*)", re.IGNORECASE | re.DOTALL)
KEYWORDS = frozenset({"if", "then", "elif", "else", "while", "until", "do", "time", "!", "{", "}", "(", "RUN", "CMD"})
EXPORTS = frozenset({"export", "declare", "typeset", "set", "setx"})
#: Programs that run another; which of their words it begins with, only its name tells.
WRAPPERS = frozenset({
    "sudo", "doas", "env", "nohup", "exec", "command", "nice", "ionice", "timeout", "watch", "srun", "mpirun",
    "mpiexec", "xargs", "numactl", "taskset", "stdbuf", "unbuffer", "apptainer", "singularity", "kubectl", "ssh",
    "parallel", "distrobox", "toolbox", "time", "eval", "setsid", "flock", "strace", "perf", "builtin",
})  # fmt: skip
SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh"})
ENGINES = frozenset({"docker", "podman", "nerdctl"})
#: Options of `docker run` without a value; every other has one.
SWITCHES = frozenset({
    "detach", "init", "interactive", "no-healthcheck", "oom-kill-disable", "privileged", "publish-all", "quiet",
    "read-only", "rm", "sig-proxy", "tty", "use-api-socket", "replace", "rmi", "no-hosts", "tls-verify", "help",
})  # fmt: skip
SHORT = {"e": "env", "v": "volume", "u": "user", "w": "workdir", "p": "publish", "m": "memory", "h": "hostname",
         "l": "label", "c": "cpu-shares", "a": "attach", "i": "interactive", "t": "tty", "d": "detach",
         "P": "publish-all", "q": "quiet"}  # fmt: skip
PIP_VALUES = frozenset({
    "-r", "--requirement", "-c", "--constraint", "-f", "--find-links", "-i", "--index-url", "--extra-index-url", "-t",
    "--target", "--root", "--prefix", "--platform", "--python-version", "--cache-dir", "--timeout", "--retries", "-e",
    "--editable", "--no-binary", "--only-binary", "--trusted-host", "--progress-bar", "--proxy", "--python", "-p",
    "--index", "--torch-backend", "--index-strategy", "--config-settings", "-C", "--default-timeout", "-n", "--name",
})  # fmt: skip
SETS = re.compile(r"^[ \t]*(?:export[ \t]+)?[A-Z][A-Z0-9]*_[A-Z0-9_]+=", re.MULTILINE)
PIPED = 3  # commands before one that are kept
APT_VALUES = frozenset({"-o", "--option", "-t", "--target-release", "-c"})


def read(text: Text, source: str, line: int = 1, programs: frozenset[str] = frozenset()) -> None:
    """Add what shell text says to `text`. `programs` are those that a wrapper may run and that rules ask about."""
    script = parse(source, line)
    note_comments(text, script)
    before: list[tuple[str, ...]] = []
    for simple in script.commands:
        said = list(_simple(simple.words, tuple(before), programs))
        text.items += said
        before = [*before[-PIPED:], tuple(word.text for word in simple.words)] if simple.piped else []
        if simple.heredoc and simple.words:
            body, first = simple.heredoc
            if simple.words[0].text.rpartition("/")[2] in SHELLS | {"ssh"} or SETS.search(body):
                read(text, body, first, programs)
        for word in simple.words:
            if "\n" in word.text or word.text.startswith("export "):
                _written(text, word, programs)


def _written(text: Text, word: Word, programs: frozenset[str]) -> None:
    """Read text that is kept or written elsewhere, and sets variables there."""
    if SETS.search(word.text):
        read(text, word.text, word.line, programs)


def note_comments(text: Text, script: Script) -> None:
    """Put each comment beside its line, and one that has a line of its own beside those below it, to the next gap."""
    busy = {word.line for simple in script.commands for word in simple.words}
    own: list[str] = []
    heads = False  # whether the comments have had lines below them
    for line in range(min([*busy, *script.comments], default=1), max([*busy, *script.comments], default=0) + 1):
        comment = script.comments.get(line, "")
        text.comment(line, comment)
        if line in busy:
            text.say(line, " ".join(own))
            heads = True
        elif comment:
            own, heads = [*([] if heads else own), comment], False
        else:
            own, heads = [], False


def _simple(words: Sequence[Word], before: tuple[tuple[str, ...], ...], programs: frozenset[str]) -> Iterator[Item]:
    """Yield what one simple command says."""
    words = list(words)
    while words and words[0].text in KEYWORDS:
        words.pop(0)
    assigned: list[tuple[Word, str, str]] = []
    while words and (found := ASSIGNMENT.fullmatch(words[0].text)):
        assigned.append((words.pop(0), found[1], found[2]))
    for word, name, value in assigned:
        yield Setting(word.line, name, value, "exported" if words else "local")
    if words:
        yield from _command(words, before, programs)


def _command(words: list[Word], before: tuple[tuple[str, ...], ...], programs: frozenset[str]) -> Iterator[Item]:
    """Yield a command, and what it sets, installs, or runs."""
    command = Command(words[0].line, tuple(words), before)
    yield command
    yield from _passed(words)
    program, rest = command.program, words[1:]
    if found := POWERSHELL.fullmatch(words[0].text):
        value = found[2] or (rest[1].text if len(rest) > 1 and rest[0].text == "=" else "")
        yield Setting(words[0].line, found[1], value, "exported")
    elif program in EXPORTS:
        yield from _exports(rest)
    elif program == "setenv" and rest:
        yield Setting(rest[0].line, rest[0].text, rest[1].text if len(rest) > 1 else "", "exported")
    elif program in SHELLS:
        yield from _shell_argument(rest, programs)
    elif program in ENGINES:
        yield from _engine(program, rest, programs)
    elif program in WRAPPERS:
        yield from _wrapped(rest, before, programs)
    else:
        yield from _installed(program, rest)


def _passed(words: Sequence[Word]) -> Iterator[Setting]:
    """Yield the variables that `-e NAME=VALUE` passes on, to whatever program; lists of such options too."""
    for option, word in zip(words, [*words[1:], Word("", 0)], strict=True):
        name, _, value = option.text.partition("=")
        text = word.text if name in {"-e", "--env", "-x"} and not value else value if name == "--env" else ""
        if (found := ASSIGNMENT.fullmatch(text)) and found[1].isupper():
            yield Setting(option.line if value else word.line, found[1], found[2], "exported")


def _exports(words: Sequence[Word]) -> Iterator[Setting]:
    for word in words:
        if found := ASSIGNMENT.fullmatch(word.text):
            yield Setting(word.line, found[1], found[2], "exported")


def _shell_argument(words: Sequence[Word], programs: frozenset[str]) -> Iterator[Item]:
    """Yield what `sh -c TEXT` runs."""
    for index, word in enumerate(words[:-1]):
        if re.fullmatch(r"-[a-z]*c", word.text):
            inner = Text("shell", "")
            read(inner, words[index + 1].text, words[index + 1].line, programs)
            yield from inner.items
            return


def _wrapped(words: list[Word], before: tuple[tuple[str, ...], ...], programs: frozenset[str]) -> Iterator[Item]:
    """Yield what the program does that another one runs, and the variables on the way to it."""
    for index, word in enumerate(words):
        name = word.text.rpartition("/")[2]
        if found := ASSIGNMENT.fullmatch(word.text):
            yield Setting(word.line, found[1], found[2], "exported")
        elif " " in word.text and name.split()[:1] and word.text.split()[0] in programs:
            inner = Text("shell", "")
            read(inner, word.text, word.line, programs)
            yield from inner.items
        elif name in programs | WRAPPERS | SHELLS | ENGINES | {"pip", "pip3", "apt", "apt-get"}:
            yield from _command(words[index:], before, programs)
            return


def _engine(engine: str, words: list[Word], programs: frozenset[str]) -> Iterator[Item]:
    """Yield the container that `docker run` starts, its variables, and the command inside it."""
    verbs = [word for word in words if not word.text.startswith("-")]
    if not verbs or verbs[0].text not in {"run", "create", "exec"}:
        return
    rest, options = words[words.index(verbs[0]) + 1 :], []
    while rest and rest[0].text.startswith("-"):
        word = rest.pop(0)
        name, equals, value = word.text.lstrip("-").partition("=")
        if not word.text.startswith("--"):
            name, equals, value = _short(word.text[1:])
        if not equals and name not in SWITCHES and rest:
            value = rest.pop(0).text
        options.append((name, value, word.line))
    if rest:
        if verbs[0].text != "exec":
            yield Run(words[0].line, engine, rest[0].text, tuple(options))
            yield Image(rest[0].line, rest[0].text, base=False)
        if rest[1:]:
            yield from _simple(rest[1:], (), programs)


def _short(letters: str) -> tuple[str, str, str]:
    """Return name, `=` and value of `-it`, `-e`, `-eX=1`."""
    for index, letter in enumerate(letters):
        name = SHORT.get(letter, letter)
        if name not in SWITCHES:
            rest = letters[index + 1 :].removeprefix("=")
            return name, "=" if rest else "", rest
    return SHORT.get(letters[-1:], letters), "=", ""


def _installed(program: str, words: list[Word]) -> Iterator[Requirement]:
    """Yield the packages that a command installs."""
    texts = [word.text for word in words]
    if re.fullmatch(r"python[\d.]*", program) and texts[:2] == ["-m", "pip"]:
        program, words = "pip", words[2:]
    elif program == "uv" and texts[:1] == ["pip"]:
        program, words = "pip", words[1:]
    if re.fullmatch(r"pip[\d.]*", program):
        tool, values = "pip", PIP_VALUES
    elif program in {"apt", "apt-get", "aptitude"}:
        tool, values = "apt", APT_VALUES
    else:
        return
    if "install" not in [word.text for word in words]:
        return
    skip = False
    for word in words:
        if not skip and not word.text.startswith("-") and word.text != "install":
            yield Requirement(word.line, tool, word.text)
        skip = not skip and word.text in values


def from_words(words: list[Word], programs: frozenset[str]) -> list[Item]:
    """Return what a list of words says that is run without a shell."""
    return list(_simple(words, (), programs))
