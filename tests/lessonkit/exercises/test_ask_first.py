"""A lesson that asks first holds its cells as they are given, and hides what they would reveal."""

import copy
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import nbformat
import pytest

from lessonkit.exercises import attention
from lessonkit.exercises.recall import CELL
from tests.helpers.ask_first_walk import RECALLS, predictions
from tests.helpers.exercise_walk import lesson_module, lessons

LESSONS = lessons()
REVEALS = re.compile(r"\bex\.(\w+)\.compare\(")
FEWEST = 2  # predictions in a lesson
RECALL_BEFORE = 4  # cells: the header, the import, the questions' heading


def faults(cells: list[Any], module: Any) -> list[str]:
    """Say what is wrong with a lesson's predictions and questions."""
    sources = [cell["source"] for cell in cells]
    text = "\n".join(sources)
    own = predictions(module)
    used = set(re.findall(r"\bex\.(\w+)\.predict\(", text)) | set(REVEALS.findall(text))
    found = [f"{name}: the lesson has no such prediction" for name in sorted(used - set(own))]
    if len(own) < FEWEST:
        found.append(f"predictions: the lesson has {len(own)}, and must have {FEWEST} or more")
    if module.__name__ in RECALLS and not any(CELL in each for each in sources[:RECALL_BEFORE]):
        found.append(f"recall: among the first {RECALL_BEFORE} cells there must be: {CELL}")
    for name, each in own.items():
        if sources.count(each.blank) != 1:
            found.append(f"{name}: one cell must hold just this:\n{each.blank}")
            continue
        place = sources.index(each.blank)
        above = _plain(sources[place - 1])
        if _plain(each.question) not in above:
            found.append(f"{name}: the cell above must hold this question:\n{each.question}")
        later = [cell for cell in cells[place + 1 :] if name in REVEALS.findall(cell["source"])]
        if len(later) != 1:
            found.append(f"{name}: {len(later)} cells below compare it, not one")
        between = cells[place + 1 : cells.index(later[0]) + 1] if later else []
        for cell in between:
            hidden = cell["metadata"].get("jupyter", {}).get("outputs_hidden", False)
            if cell.get("outputs") and not hidden:
                found.append(f"{name}: an output below is not hidden: {cell['source'][:40]!r}")
    return found


def _plain(text: str) -> str:
    """The words of a Markdown text, whatever its lines: marks of a quotation are left out."""
    return " ".join(re.sub(r"^>", "", text, flags=re.MULTILINE).split())


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_that_asks_first_does_it_in_full(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    assert not faults(notebook.cells, lesson_module(notebook))


def lesson() -> list[dict[str, Any]]:
    """A lesson that asks all of lesson 02's predictions."""
    cells = [cell("markdown", "# A lesson"), cell("code", CELL)]
    for each in predictions(attention).values():
        cells.append(cell("markdown", f"Text.\n\n{each.question.replace(' ', chr(10) + '> ', 9)}"))
        cells.append(cell("code", each.blank, shown=True))
        cells.append(cell("code", "draw()", shown=True, hidden=True))
        cells.append(cell("code", f"ex.{each.name}.compare(3)", shown=True, hidden=True))
        cells.append(cell("markdown", "*What to see.* A line."))
    return cells


def cell(kind: str, source: str, *, shown: bool = False, hidden: bool = False) -> dict[str, Any]:
    outputs = [{"output_type": "stream", "name": "stdout", "text": "3\n"}] if shown else []
    metadata = {"jupyter": {"outputs_hidden": True}} if hidden else {}
    return {"cell_type": kind, "source": source, "metadata": metadata, "outputs": outputs}


def test_a_lesson_in_full_has_no_faults() -> None:
    assert faults(lesson(), attention) == []


def test_a_lesson_that_asks_nothing_is_found() -> None:
    nothing = faults([cell("markdown", "# A lesson")], ModuleType("lesson"))
    assert nothing == ["predictions: the lesson has 0, and must have 2 or more"]


def without(cells: list[dict[str, Any]], start: str) -> list[dict[str, Any]]:
    return [each for each in cells if not each["source"].startswith(start)]


def changed(cells: list[dict[str, Any]], old: str, new: str) -> list[dict[str, Any]]:
    cells = copy.deepcopy(cells)
    for each in cells:
        each["source"] = each["source"].replace(old, new)
    return cells


def opened(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first drawing is no longer hidden."""
    cells = copy.deepcopy(cells)
    next(each for each in cells if each["source"] == "draw()")["metadata"] = {}
    return cells


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        (without(lesson(), CELL), "recall: among the first 4 cells"),
        (without(lesson(), "guess = None"), "one cell must hold just this"),
        (changed(lesson(), "guess = None", "guess = 3"), "one cell must hold just this"),
        (changed(lesson(), "64", "65"), "the cell above must hold this question"),
        (without(lesson(), "ex.silent_query"), "silent_query: 0 cells below compare it"),
        (lesson()[:2] + lesson()[4:6] + lesson()[2:4], "0 cells below compare it"),
        ([*lesson(), cell("code", "ex.silent_query.compare(4)")], "2 cells below compare it"),
        (opened(lesson()), "an output below is not hidden: 'draw()'"),
        ([*lesson(), cell("code", "ex.other.predict(4)")], "other: the lesson has no such"),
    ],
)
def test_each_fault_is_found(broken: list[dict[str, Any]], says: str) -> None:
    assert says in "\n".join(faults(broken, attention))
