"""Write HTML and Markdown in which a stranger's text stays text."""

from __future__ import annotations

import html
import re

from bundle.format import visible

_VOID = frozenset({"meta", "link", "br", "hr", "line", "circle", "rect", "path"})
_SPECIAL = re.compile(r"([\\`*_\[\]|#~!])")


class Html(str):
    """HTML that may stand as it is; any other string is escaped."""

    __slots__ = ()


def tag(name: str, /, *children: str | None, **attributes: str | float | None) -> Html:
    """Return one element. Attributes drop a trailing `_`, and turn other underscores into hyphens; None is left out."""
    said = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(visible(str(value)))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Html(f"<{name}{said}>" if name in {"meta", "link", "br", "hr"} else f"<{name}{said}/>")
    return Html(f"<{name}{said}>{join(*children)}</{name}>")


def join(*children: str | None) -> Html:
    """Return the children one after the other, each escaped unless it is Html."""
    return Html("".join(escape(child) for child in children if child is not None))


def escape(text: str) -> Html:
    """Return text as HTML."""
    return text if isinstance(text, Html) else Html(html.escape(visible(text)))


def markdown(text: str) -> str:
    """Return text that Markdown shows as it is, on one line, in a table too; no HTML, no link, no marker."""
    safe = html.escape(visible(text), quote=False)
    safe = _SPECIAL.sub(r"\\\1", safe).strip()
    # a bare address would become a link, a hyphen or number in front a list
    safe = safe.replace("://", ":&#47;/").replace("www.", "www&#46;").replace("@", "&#64;")
    safe = re.sub(r"^([-+=])", r"\\\1", safe)
    return re.sub(r"^(\d+)([.)])(?=\s)", r"\1\\\2", safe)


def code(text: str) -> str:
    """Return text as Markdown code; text that could end it, or hold a marker, is only escaped."""
    text = visible(text).strip()
    return f"`{text}`" if text and not set(text) & set("`<>|&\\") else markdown(text)


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    """Return the lines of a Markdown table; the cells are Markdown already."""
    return [f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows]]
