"""Each lesson holds its exercises' blanks, and they can be solved with what it has imported."""

import ast
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from IPython.core.inputtransformer2 import TransformerManager

from tests.helpers.exercise_walk import exercises, lesson_module, lessons

LESSONS = lessons()


def test_lessons_with_exercises_are_found() -> None:
    assert {"00", "07"} <= {path.name[:2] for path in LESSONS}


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_lesson_gives_every_blank_with_its_minutes(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    module = lesson_module(notebook)
    assert module is not None
    own = exercises(module)
    assert 3 <= len(own) <= 5
    assert sum(each.difficulty == "hard" for each in own.values()) == 1
    sources = [cell.source for cell in notebook.cells]
    for each in own.values():
        assert sources.count(each.blank) == 1, f"{path.name} must hold this cell:\n{each.blank}"
        above = sources[sources.index(each.blank) - 1]
        assert f"({each.minutes} minutes, {each.difficulty})" in above.splitlines()[0]


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_subpackage_lists_its_exercises_in_the_order_of_the_lesson(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    module = lesson_module(notebook)
    assert module is not None
    text = "\n".join(cell.source for cell in notebook.cells)
    listed = [name for name in module.__all__ if name in exercises(module)]
    assert listed == re.findall(r"^ex\.(\w+)\.check\(", text, re.MULTILINE)
    assert set(listed) == set(exercises(module))


def imports(notebook: Any) -> str:
    """Give every import of a lesson's own cells; nothing else of theirs is run."""
    found: list[str] = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            lines = ast.parse(TransformerManager().transform_cell(cell.source)).body
            found += [ast.unparse(x) for x in lines if isinstance(x, ast.Import | ast.ImportFrom)]
    return "\n".join(found)


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
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
