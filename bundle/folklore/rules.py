"""The rules, as data, and whether one of them holds for an item."""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bundle.folklore.items import Api, Command, Image, Item, Requirement, Run, Sentence, Setting, Text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

LONGEST = 2_000  # characters that a pattern looks at: what people write is shorter
MANY = 200  # words of a command
FOLDER = Path(__file__).parent / "rules"


@functools.cache
def load() -> tuple[dict[str, Any], ...]:
    """Return every rule, in the order of the files and in them; treat them as read-only."""
    rules: list[dict[str, Any]] = []
    for name in ("variables", "commands", "containers", "python", "packages", "claims"):
        document = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
        rules += [{"date": document["date"], **rule} for rule in document["rules"]]
    return tuple(rules)


def about(code: str) -> dict[str, Any]:
    """Return the rule that has the words for what `names` finds."""
    return next(rule for rule in load() if rule["code"] == code and rule["on"] == "name")


@functools.cache
def options() -> dict[str, dict[str, int]]:
    """Return the options of programs whose lists are closed: how many words each takes, -1 for all that follow."""
    loaded: dict[str, dict[str, int]] = json.loads((FOLDER / "options.json").read_text(encoding="utf-8"))["options"]
    return loaded


@functools.cache
def programs() -> frozenset[str]:
    """Return the programs that a rule asks about."""
    return frozenset(name for rule in load() for name in rule["match"].get("program", []))


@functools.cache
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text)


@functools.cache
def _by_kind() -> dict[str, list[dict[str, Any]]]:
    kinds: dict[str, list[dict[str, Any]]] = {kind.__name__: [] for kind, _ in MATCHERS.values()}
    for rule in load():
        if rule["on"] in MATCHERS:
            kinds[MATCHERS[rule["on"]][0].__name__].append(rule)
    return kinds


def asked_about(item: Item) -> list[dict[str, Any]]:
    """Return the rules that are asked about items of this one's kind."""
    return _by_kind()[type(item).__name__]


def holds(rule: Mapping[str, Any], item: Item, text: Text) -> dict[str, str] | None:
    """Return what a rule's sentences may name of an item that it holds for (`line` among it, if another); None else."""
    found: dict[str, str] | None = MATCHERS[rule["on"]][1](rule["match"], item)
    return found if found is not None and _applies(rule.get("when", {}), item, text, found) else None


def _applies(when: Mapping[str, Any], item: Item, text: Text, found: Mapping[str, str]) -> bool:
    """Tell whether the surroundings are those that a rule asks for."""
    words = text.words_near(item)
    shown = item.shown if isinstance(item, Api) else ""
    near, around = (
        f"{shown} {part}"[:LONGEST] for part in (words.partition("\n")[0], words)
    )  # without the heading, with
    if "kinds" in when and text.kind not in when["kinds"]:
        return False
    asked = (("file", text.narrow), ("not_file", text.narrow), ("near", near), ("not_near", around))
    return all(
        bool(_pattern(when[part].replace("{gfx}", found.get("gfx", "{gfx}"))).search(words))
        is not part.startswith("not_")
        for part, words in asked
        if part in when
    )


def _fits(match: Mapping[str, Any], part: str, value: str) -> bool:
    """Tell whether a value is as a rule asks: `value` to match wholly, `not_value` not to."""
    wanted, other, value = match.get(part), match.get(f"not_{part}"), value[:LONGEST]
    return (wanted is None or bool(_pattern(wanted).fullmatch(value))) and not (
        other is not None and _pattern(other).fullmatch(value)
    )


def _setting(match: Mapping[str, Any], item: Setting) -> dict[str, str] | None:
    if not _fits(match, "name", item.name) or not _fits(match, "value", item.value):
        return None
    if item.how not in match.get("how", [item.how]):
        return None
    target = re.fullmatch(r"(\d+)\.(\d+)\.(\d+)", item.value)
    gfx = f"gfx{target[1]}{target[2]}{int(target[3]):x}" if target else "gfx"
    return {"name": item.name, "value": item.value, "gfx": gfx}


def _program(match: Mapping[str, Any], item: Command) -> dict[str, str] | None:
    if item.program not in match["program"]:
        return None
    for word in item.words[1:MANY] if "word" in match else item.words[:1]:
        if "word" not in match or _pattern(match["word"]).fullmatch(word.text[:LONGEST]):
            return {"program": item.program, "word": word.text, "line": str(word.line)}
    return None


def _word(match: Mapping[str, Any], item: Command) -> dict[str, str] | None:
    for word in item.words[:MANY]:
        if _pattern(match["word"]).search(word.text[:LONGEST]):
            return {"word": word.text, "line": str(word.line)}
    return None


def _option(match: Mapping[str, Any], item: Command) -> dict[str, str] | None:
    """Find an option that a program does not have. argparse takes the beginning of one for it: seldom what is meant."""
    if item.program not in match["program"]:
        return None
    known = options()[item.program]
    left = 0
    for word in item.words[1:MANY]:
        name = word.text.partition("=")[0]
        if left or not name.startswith("--"):
            if not left and not name.startswith("-") and match.get("until_argument"):
                return None  # what follows belongs to the program that is run
            left = left - 1 if left else known.get(name, 0)
            continue
        if name in {"--", "--help"} or not re.fullmatch(r"--[a-z][\w-]*", name):
            return None
        if name not in known:
            longer = next((option for option in sorted(known) if option.startswith(name)), "")
            taken = f"; it takes it for {longer}" if longer else ""
            return {"program": item.program, "word": name, "line": str(word.line), "taken": taken}
        left = 0 if "=" in word.text else known.get(name, 0)
    return None


def _argument(match: Mapping[str, Any], item: Command) -> dict[str, str] | None:
    """Find what a program takes for the program to run: the first word that is no option's."""
    if item.program not in match["program"]:
        return None
    known, left = options()[item.program], 0
    for index, word in enumerate(item.words[1:]):
        if left or word.text.startswith("-"):
            left = left - 1 if left else known.get(word.text, 0)
            continue
        last = index == len(item.words) - 2
        fits = last and _pattern(match["argument"]).fullmatch(word.text)
        return {"program": item.program, "word": word.text, "line": str(word.line)} if fits else None
    return None


def _pipeline(match: Mapping[str, Any], item: Command) -> dict[str, str] | None:
    own = tuple(word.text for word in item.words)
    shown = [" ".join(words[:MANY])[:LONGEST] for words in (*item.after, own)]
    wanted = match["pipeline"]
    fits = len(shown) >= len(wanted) and all(
        _pattern(part).search(words) for part, words in zip(wanted, shown[-len(wanted) :], strict=True)
    )
    return {"word": " | ".join(shown)} if fits else None


def _run(match: Mapping[str, Any], item: Run) -> dict[str, str] | None:
    """Find an option among those that a container is started with, and others that are missing."""
    shown = [f"{name}={value}" for name, value, _ in item.options]
    if not _fits(match, "image", item.image) or item.engine not in match.get("engine", [item.engine]):
        return None
    if "without" in match and any(_pattern(match["without"]).search(option) for option in shown):
        return None
    if "with" in match and not any(_pattern(match["with"]).search(option) for option in shown):
        return None
    for option, (_, value, line) in zip(shown, item.options, strict=True):
        if _pattern(match["option"]).fullmatch(option):
            return {"image": item.image, "word": option, "value": value, "line": str(line)}
    return None


def _api(match: Mapping[str, Any], item: Api) -> dict[str, str] | None:
    if item.role not in match["role"] or not _fits(match, "value", item.value):
        return None
    named = _pattern(match["name"]).fullmatch(item.name[:LONGEST])
    return {"name": item.name, "value": item.value} if named else None


def _requirement(match: Mapping[str, Any], item: Requirement) -> dict[str, str] | None:
    text = item.text[:LONGEST]
    found = _pattern(match["requirement"]).fullmatch(text) if item.tool in match["tool"] else None
    return {"word": text, **{key: value or "" for key, value in found.groupdict().items()}} if found else None


def _image(match: Mapping[str, Any], item: Image) -> dict[str, str] | None:
    return {"word": item.reference} if _pattern(match["image"]).search(item.reference[:LONGEST]) else None


def _sentence(match: Mapping[str, Any], item: Sentence) -> dict[str, str] | None:
    words = item.text[:LONGEST]
    fits = all(_pattern(part).search(words) for part in match["all"])
    return {"word": words} if fits and not any(_pattern(part).search(words) for part in match["none"]) else None


#: What a rule is `on` -> the items it is asked about, and how.
MATCHERS: dict[str, tuple[type[Item], Callable[[Any, Any], dict[str, str] | None]]] = {
    "variable": (Setting, _setting),
    "program": (Command, _program),
    "word": (Command, _word),
    "option": (Command, _option),
    "argument": (Command, _argument),
    "pipeline": (Command, _pipeline),
    "run": (Run, _run),
    "api": (Api, _api),
    "requirement": (Requirement, _requirement),
    "image": (Image, _image),
    "sentence": (Sentence, _sentence),
}
