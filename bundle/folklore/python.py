"""Python into items: names used with what they stand for, variables set, commands run. From the syntax tree."""

from __future__ import annotations

import ast
import re
from contextlib import suppress
from dataclasses import replace

from bundle.folklore import commands, timing
from bundle.folklore import python_lines as lines
from bundle.folklore.items import Api, Sentence, Setting, Text, Word

ENVIRONMENT = re.compile(r"(^|\.)environ$|(^|_|\.)env(iron(ment)?)?(_vars|_variables|_dict)?$", re.IGNORECASE)
VARIABLE = re.compile(r"[A-Za-z][A-Za-z0-9]*_\w+")
SETTERS = re.compile(r"(environ\.setdefault|(^|\.)putenv|\.setenv)$")
HOLE = "{}"  # what only a run would tell


def read(source: str, programs: frozenset[str], first: int = 1) -> Text:
    """Return what Python says; where it is no Python as a whole, what its statements say one by one."""
    text = Text("python", source)
    source = lines.magics(text, source, programs, first)
    reader = _Reader(text, source, programs, first - 1)
    try:
        trees = [lines.parsed(source)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        trees = list(lines.pieces(source))
    with suppress(RecursionError):  # deeper than any program that a person wrote
        for tree in trees:
            reader.visit(tree)
        if len(trees) == 1:  # a function is whole only in a tree that is
            text.items += timing.told(trees[0], source, first - 1)
    lines.comments(text, source, first - 1)
    return text


class _Reader(ast.NodeVisitor):
    """Walks a tree; names are told by what they were imported as."""

    def __init__(self, text: Text, source: str, programs: frozenset[str], offset: int) -> None:
        self.text, self.lines, self.programs, self.offset = text, source.split("\n"), programs, offset
        self.meaning: dict[str, str] = {}
        self.depth = 0
        self.loaded = False  # whether PyTorch is loaded, or in a function the GPU used, when the line runs
        self.seen: set[int] = set()

    def add_setting(self, node: ast.AST, name: str, value: ast.expr | None) -> None:
        line = getattr(node, "lineno", 1) + self.offset
        self.text.items.append(Setting(line, name, _text(value), "late" if self.loaded else "exported"))

    def visit_Import(self, node: ast.Import) -> None:
        for name in node.names:
            self.meaning[name.asname or name.name.split(".")[0]] = name.name if name.asname else name.name.split(".")[0]
            self.loaded |= not self.depth and name.name.split(".")[0] == "torch"

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for name in node.names:
            self.meaning[name.asname or name.name] = f"{node.module}.{name.name}"
        self.loaded |= not self.depth and str(node.module).split(".")[0] == "torch"

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        before, self.loaded = self.loaded, False
        self.depth += 1
        self.generic_visit(node)
        self.depth -= 1
        self.loaded = before

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815 -- ast's names

    def visit_Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            if isinstance(target, ast.Attribute):
                self._api(target, "assign", _text(node.value))
            elif isinstance(target, ast.Subscript) and ENVIRONMENT.search(self.dotted(target.value)):
                self.add_setting(node, _text(target.slice), node.value)
            elif isinstance(target, ast.Name) and ENVIRONMENT.search(target.id):
                self._variables(node.value)
        self.generic_visit(node)

    def visit_Assert(self, node: ast.Assert) -> None:
        self._api(node.test, "assert", _text(node.msg))
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        name = self.dotted(node.func)
        arguments = ", ".join(
            [_text(argument) for argument in node.args] + [f"{word.arg}={_text(word.value)}" for word in node.keywords]
        )
        self._api(node.func, "call", arguments)
        if SETTERS.search(name) and len(node.args) > 1:
            self.add_setting(node, _text(node.args[0]), node.args[1])
        if name.endswith("environ.update") or name == "dict":
            for argument in node.args:
                self._variables(argument)
            for word in node.keywords if name.endswith("environ.update") else ():
                self.add_setting(node, word.arg or "", word.value)
        for word in node.keywords:
            if word.arg and ENVIRONMENT.search(word.arg):
                self._variables(word.value)
        self.loaded |= bool(self.depth) and (name.startswith("torch.cuda.") or name.endswith(".cuda"))
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self._api(node, "read", "")
        self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if not ENVIRONMENT.search(self.dotted(node.value)):
            self._api(node, "read", "")
        self.generic_visit(node)

    def visit_List(self, node: ast.List | ast.Tuple) -> None:
        words = [Word(_text(item), item.lineno + self.offset) for item in node.elts]
        if words and words[0].text.rpartition("/")[2] in self.programs:
            self.text.items += commands.from_words(words, self.programs)
        self.generic_visit(node)

    visit_Tuple = visit_List  # noqa: N815 -- ast's names

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):
            self._string(node, node.value)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        self._string(node, _text(node))
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                self.visit(part)

    def _string(self, node: ast.expr, value: str) -> None:
        """Read the lines of a string that are commands, and what a string of several words claims."""
        for index, line in enumerate(value.split("\n")):
            at = self._line_of(node, line.strip(), index) + self.offset
            words = line.strip().removeprefix("$ ").split()
            if len(words) > 1 and (words[0] in self.programs | {"export", "docker", "pip", "sudo"}):
                inner = Text("shell", line)
                commands.read(inner, line.strip().removeprefix("$ "), at, self.programs)
                self.text.items += [replace(item, near=" ".join(line.split())) for item in inner.items]
            elif len(words) > 3:
                self.text.items.append(Sentence(at, line.strip()))

    def _line_of(self, node: ast.expr, words: str, index: int) -> int:
        """Return the line of a string's part: where its words stand, for a string may be written in pieces."""
        last = node.end_lineno or node.lineno
        for line in range(node.lineno, last + 1):
            if words and words[:40] in self.lines[line - 1]:
                return line
        return min(node.lineno + index, last)

    def _variables(self, value: ast.expr) -> None:
        """Read a dict of environment variables."""
        for child in _parts(value):
            if isinstance(child, ast.Dict):
                for key, item in zip(child.keys, child.values, strict=True):
                    if key is not None and VARIABLE.fullmatch(_text(key)) and id(key) not in self.seen:
                        self.seen.add(id(key))
                        self.add_setting(key, _text(key), item)

    def _api(self, node: ast.expr, role: str, value: str) -> None:
        name = self.dotted(node)
        if "." in name or role in {"call", "assert"}:
            line = node.end_lineno or node.lineno
            shown = self.lines[line - 1] if line <= len(self.lines) else ""
            self.text.items.append(Api(line + self.offset, name, role, value, shown))

    def dotted(self, node: ast.AST) -> str:
        """Return `torch.cuda.Event().record` for an expression; what cannot be told by reading is left empty."""
        if isinstance(node, ast.Name):
            return self.meaning.get(node.id, node.id)
        if isinstance(node, ast.Attribute):
            return f"{self.dotted(node.value)}.{node.attr}"
        if isinstance(node, ast.Call):
            shown = (
                f"[{_text(node.args[0])}]"
                if isinstance(node.func, ast.Attribute) and node.func.attr == "get" and node.args
                else "()"
            )
            return self.dotted(node.func) + shown
        if isinstance(node, ast.Subscript):
            return f"{self.dotted(node.value)}[{_text(node.slice)}]"
        return ""


def _parts(value: ast.expr) -> list[ast.AST]:
    """Return a dict, or the dicts that a call makes one of, with what is in them."""
    if isinstance(value, ast.Call):
        return [*value.args, *(word.value for word in value.keywords)]
    return list(ast.walk(value))


def _text(node: ast.AST | None) -> str:
    """Return a constant's value, a string with holes, or the expression as it is written."""
    if node is None:
        return ""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else HOLE for part in node.values)
    try:
        return ast.unparse(node)
    except RecursionError:
        return HOLE
