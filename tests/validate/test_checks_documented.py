"""The codes are the contract with scripts, so the reference names them all."""

import re
from pathlib import Path

import pytest

from validate import checking, checks

PAGE = (Path(__file__).parents[2] / "docs/reference/checks.md").read_text(encoding="utf-8")
SOURCES = [*Path(checks.__file__).parent.glob("*.py"), Path(checks.__file__).parents[1] / "override.py"]


def codes():
    """Return the codes that stand in the sources whole; those put together at run time have their own rows."""
    names = "|".join(checking.BY_NAME)
    texts = [path.read_text(encoding="utf-8") for path in SOURCES]
    return sorted({code for text in texts for code in re.findall(rf'"((?:{names})\.[a-z_]+)"', text)})


@pytest.mark.parametrize("code", codes())
def test_a_code_is_on_the_page(code):
    assert f"`{code}`" in PAGE


@pytest.mark.parametrize("check", checks.CHECKS, ids=checking.name_of)
def test_a_check_has_its_section_with_its_question(check):
    assert f"## {checking.name_of(check)}\n{checking.question_of(check)}\n" in PAGE
