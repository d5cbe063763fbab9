"""Each lesson holds its exercises' blanks, asks first, and hides what its outputs would reveal."""

import ast
import re
from typing import Any

import pytest
from IPython.core.inputtransformer2 import TransformerManager

from lessonkit.exercises.quiz import ANSWER_CELL
from tests.helpers.exercise_walk import LESSONS, cells, exercises, predictions
from tests.notebook_lint import NOTEBOOKS

REVEALS = re.compile(r"\bex\.(\w+)\.compare\(")
FEWEST = 2  # predictions in a lesson
QUIZ_BEFORE = 4  # cells: the header, the import, the questions' heading


def test_lessons_with_exercises_are_found() -> None:
    assert set(LESSONS) == {path.name[:2] for path in NOTEBOOKS.glob("[0-9]*.ipynb")}


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_lesson_gives_every_blank_with_its_minutes_in_order(lesson: str) -> None:
    own = exercises(LESSONS[lesson])
    assert len(own) >= 2
    assert any(each.difficulty == "hard" for each in own.values())
    sources = [cell.source for cell in cells(lesson)]
    judged = r"^(?:\w+ = )?ex\.(\w+)\.(?:check|accept)\("
    checked = re.findall(judged, "\n".join(sources), re.MULTILINE)
    assert checked == [name for name in own if name in checked]
    assert set(checked) == set(own)
    for each in own.values():
        if each.gap_cell in sources:
            continue
        assert sources.count(each.blank_cell) == 1, (
            f"{lesson} must hold this cell:\n{each.blank_cell}"
        )
        above = sources[sources.index(each.blank_cell) - 1]
        assert f"({each.minutes} minutes, {each.difficulty})" in above.splitlines()[0]


def imports(lesson: str) -> str:
    """Return every import of a lesson's own cells; nothing else of theirs is run."""
    found: list[str] = []
    for cell in cells(lesson):
        if cell.cell_type == "code":
            lines = ast.parse(TransformerManager().transform_cell(cell.source)).body
            found += [ast.unparse(x) for x in lines if isinstance(x, ast.Import | ast.ImportFrom)]
    return "\n".join(found)


@pytest.mark.parametrize("lesson", LESSONS)
def test_the_solutions_pass_in_the_lesson(lesson: str) -> None:
    names: dict[str, Any] = {}
    exec(imports(lesson), names)
    for each in exercises(LESSONS[lesson]).values():
        exec(str(each.solution()), names)
        assert ": passed, " in repr(eval(each.check_call_code, names))


def plain(text: str) -> str:
    """The words of a Markdown text, whatever its lines: marks of a quotation are left out."""
    return " ".join(re.sub(r"^>", "", text, flags=re.MULTILINE).split())


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_lesson_that_asks_first_does_it_in_full(lesson: str) -> None:
    own, sources = predictions(LESSONS[lesson]), [cell.source for cell in cells(lesson)]
    text = "\n".join(sources)
    assert set(re.findall(r"\bex\.(\w+)\.predict\(", text) + REVEALS.findall(text)) <= set(own)
    assert len(own) >= FEWEST
    if hasattr(LESSONS[lesson], "earlier_lessons_quiz"):
        assert any(ANSWER_CELL in each for each in sources[:QUIZ_BEFORE])
    for name, each in own.items():
        assert sources.count(each.blank_cell) == 1, (
            f"{name}: one cell must hold just this:\n{each.blank_cell}"
        )
        place = sources.index(each.blank_cell)
        above = f"{name}: the cell above must hold this question:\n{each.question_callout}"
        assert plain(each.question_callout) in plain(sources[place - 1]), above
        below = [i for i, source in enumerate(sources) if name in REVEALS.findall(source)]
        assert [i > place for i in below] == [True], f"{name}: one cell below compares it"
        for cell in cells(lesson)[place + 1 : below[0] + 1]:
            hidden = cell.metadata.get("jupyter", {}).get("outputs_hidden", False)
            assert hidden or not cell.get("outputs"), f"{name}: this is not hidden: {cell.source}"
