"""Judge a text by the rules: what is wrong in it, where, why, and what holds instead."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from bundle.folklore import names, rules
from bundle.folklore.items import Sentence, Setting
from bundle.folklore.kinds import READERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bundle.folklore.items import Item, Text

SUPPRESSED = re.compile(r"kit-folklore:\s*ok\s+([\w-]+(?:\s*,\s*[\w-]+)*)")
#: A sentence that says this around the wrong form does not advise it.
WARNS = re.compile(
    r"\b(?:do(?:es)? not|don'?t|doesn'?t|never|(?<!to )avoid|must not|should not|shouldn'?t|cannot|can'?t|isn'?t|"
    r"aren'?t|no such|no longer|nothing reads|not (?:an? |the )?(?:real|exist\w*|support\w*|needed|necessary|read|"
    r"recommended|valid|required|used|available|work\w*|set|exhaustive)|removed|deprecated|obsolete|wrong|incorrect|bogus|myths?|"
    r"folklore|instead of|rather than|(?:is|are|be|was|were) ignored|no effect|harmful|non-?existent|unset|ruled out|"
    r"mistakes?|still crash\w*|typos?|fake)\b|❌|✗|🚫|不要|不存在|无效|错误",
    re.IGNORECASE,
)
#: What holds in the reader's case (`if your GPU is not supported, ...`) is no warning.
CONDITION = re.compile(r"\b(?:if|when|in case|because|since|unless|where)\b[^,;:.\n]*", re.IGNORECASE)
HEADING = re.compile(
    r"\b(?:wrong|myths?|folklore|don'?ts?|pitfalls?|anti-?patterns?|mistakes|obsolete|deprecated|does not exist|do not|"
    r"corrected|not followed)\b|❌",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Finding:
    """One thing that does not hold. `source` says where that is known from, `date` when it was looked at."""

    path: str
    line: int
    code: str
    what: str
    why: str
    instead: str
    source: str
    date: str

    def document(self) -> dict[str, Any]:
        """Return it as JSON types."""
        return asdict(self)


def check(source: str, kind: str, path: str = "") -> list[Finding]:
    """Return what does not hold in a text of a kind (`kinds.READERS`), by line; each thing once a line."""
    source = source.replace("\r\n", "\n").replace("\r", "\n")
    text = READERS[kind](source, rules.programs())
    lines = source.split("\n")
    found = {
        (finding.line, finding.code, finding.what): finding
        for item in text.items
        for finding in _judged(item, text, path)
        if not _suppressed(finding, lines)
    }
    return sorted(found.values(), key=lambda finding: (finding.line, finding.code, finding.what))


def _judged(item: Item, text: Text, path: str) -> Iterator[Finding]:
    for rule in rules.asked_about(item):
        said = rules.holds(rule, item, text)
        if said is not None and not _warned(item, rule.get("when", {}).get("near")):
            yield _finding(rule, said, item, path)
    if isinstance(item, Setting):
        for code, said in names.told(item, text):
            if not _warned(item):
                yield _finding(rules.about(code), said, item, path)


def _finding(rule: dict[str, Any], said: dict[str, str], item: Item, path: str) -> Finding:
    what, why, instead = (_filled(rule[part], said) for part in ("what", "why", "instead"))
    return Finding(
        path, int(said.get("line", item.line)), rule["code"], what, why, instead, rule["source"], rule["date"]
    )


def _filled(sentence: str, said: dict[str, str]) -> str:
    """Return a rule's sentence with what was found in it."""
    return re.sub(r"\{(\w+)\}", lambda found: said.get(found[1], found[0]), sentence)


def _warned(item: Item, claim: str | None = None) -> bool:
    """Tell whether prose around an item warns of it. A comment in code that runs undoes nothing.

    `claim` is what the rule looked for there: that is no warning, whatever words it is made in.
    """
    words, _, heading = (item.near or (item.text if isinstance(item, Sentence) else "")).partition("\n")
    words = re.sub(claim, "", words) if claim else words
    return bool(WARNS.search(CONDITION.sub("", words)) or HEADING.search(heading))


def _suppressed(finding: Finding, lines: list[str]) -> bool:
    """Tell whether the line, or a line of its own above it, has the comment that says so."""
    line = lines[finding.line - 1] if finding.line <= len(lines) else ""
    above = lines[finding.line - 2].strip() if 1 < finding.line <= len(lines) + 1 else ""
    candidates = [line, above] if above.startswith(("#", "<!--")) else [line]
    return any(
        finding.code in re.split(r"\s*,\s*", found[1]) for text in candidates for found in SUPPRESSED.finditer(text)
    )
