"""Cut a module into parts to be read side by side: the prose of a docstring and its code.

A part is what stands before the first definition, a function, a class up to its first method, or
a method. A definition without a docstring has nothing to stand beside it and stays with the part
above. The code of all parts is the file, without its docstrings.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from textwrap import dedent

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass
class Part:
    """One row of a page.

    Attributes:
        name: `causal_mask`, `Residual.forward`; empty for what stands before the definitions.
        prose: The docstring, its margin taken away.
        lines: The code, one string a line.
    """

    name: str
    prose: str
    lines: list[str] = field(default_factory=list)

    @property
    def code(self) -> str:
        """The code without its margin, and without blank lines above and below."""
        return dedent("\n".join(self.lines)).strip("\n")

    @property
    def level(self) -> int:
        """0 before the definitions, 1 for a function or a class, 2 for a method."""
        return len(self.name.split(".")) if self.name else 0


def parts(source: str) -> list[Part]:
    """Cut the source of a module into its parts, in the file's order."""
    module = ast.parse(source)
    described = [Part("", ast.get_docstring(module) or ""), *_described(module, "")]
    starts = [0, *(_first_line(node) for node in _definitions(module) if ast.get_docstring(node))]
    lines = source.splitlines()
    skipped = set(_docstring_lines(module))
    skipped |= {i + 1 for i in skipped if lines[i + 1 : i + 2] == [""]}
    ends = _pulled_up(lines, [*starts[1:], len(lines)])
    for part, (start, end) in zip(described, pairwise([0, *ends]), strict=True):
        part.lines = [lines[i] for i in range(start, end) if i not in skipped]
    return described


def _definitions(node: ast.AST) -> Iterator[Definition]:
    """The functions, the classes and their methods, as they stand in the file."""
    for inner in getattr(node, "body", []):
        if isinstance(inner, Definition):
            yield inner
        if isinstance(inner, ast.ClassDef):
            yield from _definitions(inner)


def _described(node: ast.AST, prefix: str) -> Iterator[Part]:
    """An empty part for each definition that has a docstring."""
    for inner in getattr(node, "body", []):
        if not isinstance(inner, Definition):
            continue
        if prose := ast.get_docstring(inner):
            yield Part(prefix + inner.name, prose)
        if isinstance(inner, ast.ClassDef):
            yield from _described(inner, f"{prefix}{inner.name}.")


def _first_line(node: Definition) -> int:
    """The place of a definition's first line, decorators included; from 0."""
    return min(each.lineno for each in (node, *node.decorator_list)) - 1


def _pulled_up(lines: list[str], ends: list[int]) -> list[int]:
    """Attach to each definition the comments that stand right above it."""
    pulled = []
    for end in ends:
        while end < len(lines) and end and lines[end - 1].lstrip().startswith("#"):
            end -= 1
        pulled.append(end)
    return pulled


def _docstring_lines(module: ast.Module) -> Iterator[int]:
    """The places of all lines that belong to docstrings; from 0."""
    for node in (module, *_definitions(module)):
        if ast.get_docstring(node):
            text = node.body[0]
            yield from range(text.lineno - 1, text.end_lineno or text.lineno)
