"""A command's options, from the signature and the docstring of a function."""

from __future__ import annotations

import functools
import inspect
import re
from typing import TYPE_CHECKING, Any, get_type_hints

from invoke.tasks import task

from commands.program import explained
from schema.errors import KitError

if TYPE_CHECKING:
    from collections.abc import Callable

JSON_HELP = {"json": "print one JSON document"}


def command(body: Callable[..., None]) -> Any:
    """Make an Invoke task of a function.

    Its help is in its docstring. A parameter whose type is a NamedTuple stands for one option for each field (help from
    the type's docstring): what several commands ask alike is said once.
    """
    summary, described = _help(body.__doc__)
    described |= JSON_HELP
    groups = {
        name: kind
        for name, kind in get_type_hints(body).items()
        if isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")
    }
    options: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(body).parameters.items():
        if kind := groups.get(name):
            described |= _help(kind.__doc__)[1]
            options += [_option(field, kind._field_defaults[field]) for field in kind._fields]  # type: ignore[attr-defined]
        else:
            options.append(_option(parameter.name, parameter.default))
    # What must be given comes first.
    options.sort(key=lambda option: option.default is not inspect.Parameter.empty)
    required = [option.name for option in options if option.default is inspect.Parameter.empty]

    @functools.wraps(body)
    def guarded(_context: Any, **given: Any) -> None:
        with explained():
            for name in required:
                if not given[name]:
                    raise KitError(f"{name} is empty", f"./kit {body.__name__} --help")
            folded = {name: kind(*(given.pop(field) for field in kind._fields)) for name, kind in groups.items()}
            body(**given, **folded)

    guarded.__doc__ = summary
    guarded.__signature__ = inspect.Signature([_option("context", inspect.Parameter.empty), *options])  # type: ignore[attr-defined]
    shown = {option.name.replace("_", "-"): _text(option, described) for option in options}
    return task(guarded, auto_shortflags=False, help=shown)


def _option(name: str, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default)


def _text(option: inspect.Parameter, described: dict[str, str]) -> str:
    """Return the help of an option; a word that stands when none is given is said."""
    text = described.get(option.name, "")
    return f"{text}; default: {option.default}" if option.default and isinstance(option.default, str) else text


def _help(docstring: str | None) -> tuple[str, dict[str, str]]:
    """Return what a docstring says of the whole, and of each option."""
    summary, _, options = inspect.cleandoc(docstring or "").partition("\n\nOptions:\n")
    return summary, dict(re.findall(r"^ {4}(\w+): (.+)$", options, re.MULTILINE))
