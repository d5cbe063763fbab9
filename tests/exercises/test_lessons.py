"""Each lesson's exercises can be solved with what the lesson has imported."""

import ast
from pathlib import Path
from typing import Any

import nbformat
import pytest
from IPython.core.inputtransformer2 import TransformerManager

from tests.helpers.exercise_walk import exercises, lesson_module, lessons


def imports(notebook: Any) -> str:
    """Give every import of a lesson's own cells; nothing else of theirs is run."""
    found: list[str] = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            lines = ast.parse(TransformerManager().transform_cell(cell.source)).body
            found += [ast.unparse(x) for x in lines if isinstance(x, ast.Import | ast.ImportFrom)]
    return "\n".join(found)


@pytest.mark.parametrize("path", lessons(), ids=lambda path: path.stem)
def test_the_solutions_pass_in_the_lesson(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    module = lesson_module(notebook)
    assert module is not None
    names: dict[str, Any] = {}
    exec(imports(notebook), names)
    for each in exercises(module).values():
        assert [cell.source for cell in notebook.cells].count(each.blank) == 1
        exec(str(each.solution()), names)
        assert ": passed, " in repr(eval(each.call, names))
