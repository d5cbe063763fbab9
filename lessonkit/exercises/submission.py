"""What a learner hands in, read with care: statements, and which of them may be run.

Not in the paper.
"""

import ast
import contextlib
import json
from collections.abc import Sequence
from pathlib import Path

from transformer.support.errors import UserError

# What an answer may import, and which names it may not use.
ALLOWED_LIBRARIES = {
    *("bisect", "collections", "copy", "dataclasses", "functools", "heapq", "itertools", "math"),
    *("numpy", "operator", "random", "re", "statistics", "torch", "transformer"),
}
FORBIDDEN_NAMES = {
    *("compile", "eval", "exec", "gc", "globals", "inspect", "open", "os", "sys", "vars"),
    *("ex", "own"),  # the lesson's names of all answers
}
DEFINITION_NODES = (ast.FunctionDef, ast.ClassDef)

Statements = Sequence[ast.stmt]


def read_code_texts(file: Path) -> list[str]:
    """Return the code cells of a notebook, or the text of a file.

    Raises:
        UserError: it cannot be read.
    """
    try:
        text = file.read_text(encoding="utf-8")
        if file.suffix != ".ipynb":
            return [text]
        cells = json.loads(text)["cells"]
        return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{file} cannot be read as a notebook or Python: {error}") from error


def parse_statements_if_python(text: str) -> Statements:
    """Return a cell's statements, without IPython's own; none if it is not Python."""
    lines = ["" if line.startswith(("%", "!")) else line for line in text.splitlines()]
    with contextlib.suppress(SyntaxError, ValueError):
        tree: ast.Module = _CourseCallUnwrapper().visit(ast.parse("\n".join(lines)))
        return tree.body
    return []


def forbidden_names(statement: ast.stmt) -> list[str]:
    """Return the names that no answer needs: they reach out of it, or into the course."""
    forbidden: set[str] = set()
    for node in ast.walk(statement):
        names = {getattr(node, "id", ""), getattr(node, "attr", ""), getattr(node, "module", "")}
        if isinstance(node, ast.Import | ast.ImportFrom):
            names |= {alias.name for alias in node.names}
            modules = [getattr(node, "module", None) or alias.name for alias in node.names]
            forbidden |= {module.partition(".")[0] for module in modules} - ALLOWED_LIBRARIES
        parts = {part for name in names for part in str(name).split(".")}
        forbidden |= parts & FORBIDDEN_NAMES
        forbidden |= {part for part in parts if part.startswith("__") and part != "__init__"}
    return sorted(forbidden)


def is_harmless(statement: ast.stmt) -> bool:
    """Return whether a statement may be run: a definition, an import, or a name without a call."""
    if forbidden_names(statement):
        return False
    if isinstance(statement, ast.Assign):
        return not any(isinstance(node, ast.Call) for node in ast.walk(statement))
    return isinstance(statement, (*DEFINITION_NODES, ast.Import, ast.ImportFrom))


class _CourseCallUnwrapper(ast.NodeTransformer):
    """Write `ex.NAME.accept(my_NAME)` as `my_NAME`, and `own.load("MyName")` as `MyName`."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Replace a call by what it returns."""
        called = ast.unparse(node.func)
        if called.endswith(".accept") and len(node.args) == 1:
            return node.args[0]
        if called == "own.load" and isinstance(node.args[0], ast.Constant):
            return ast.Name(str(node.args[0].value), ast.Load())
        return self.generic_visit(node)
