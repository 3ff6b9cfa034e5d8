"""What `pins` prints: the table of locks, or a verdict on versions that are asked about."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any, NamedTuple

from commands.chosen import Which, or_error
from commands.program import say
from schema.errors import KitError

if TYPE_CHECKING:
    from pins.compat import Verdict

WIDTH = 120
HOLDS = {"yes": "yes    ", "no": "no     ", "unknown": "unknown"}


class Asked(NamedTuple):
    """What a verdict is asked for; without any of these the table is printed.

    Options:
        rocm: ROCm version, e.g. 6.4
        pytorch: PyTorch version, e.g. 2.8
        python: Python version, e.g. 3.12
        os: the host's system, e.g. "ubuntu 24.04"
        gfx: target of the GPU, e.g. gfx1100
        driver: amdgpu's module version or release, e.g. 6.12.12 or 30.10
    """

    rocm: str = ""
    pytorch: str = ""
    python: str = ""
    os: str = ""
    gfx: str = ""
    driver: str = ""


def rows() -> list[dict[str, Any]]:
    """Return the table's rows. What cannot be read, and why no lock would be used here, is said."""
    from pins import table
    from pins.choice import find
    from pins.host import look
    from pins.lock import load_all

    locks = load_all(tell=lambda name: say(f"{name} cannot be read: ./kit doctor --lock {name} says why"))
    chosen = or_error(lambda: find(look(), **Which()._asdict()))
    if isinstance(chosen, KitError):
        say(f"no lock would be used here: {chosen}")
        return table.rows(locks)
    say(f"{table.USED} would be used here: {chosen.reason}")
    return table.rows(locks, chosen.lock.name)


def verdict_lines(verdict: Verdict) -> str:
    """Return a verdict for a person: the word, for which releases, each part with its reason, the sources below."""
    from pins.compat import MEANING

    sources = list(dict.fromkeys(source for item in verdict.aspects for source in item.sources))
    named = f" (ROCm {', '.join(verdict.releases)})" if verdict.releases else ""
    lines = [*_wrapped(f"{verdict.verdict}{named}: {MEANING[verdict.verdict]}"), ""]
    for item in verdict.aspects:
        numbers = "".join(f"[{sources.index(source) + 1}]" for source in item.sources)
        row = f" ({item.date}) {numbers}" if numbers else ""
        lines += _wrapped(f"{HOLDS[item.holds]}  {item.aspect} {item.asked}: {item.reason}{row}")
    lines += [""] if sources else []
    return "\n".join(
        [*lines, *(line for number, text in enumerate(sources, 1) for line in _wrapped(f"[{number}] {text}"))]
    )


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
