"""A learner goes through the lessons, from 02 to the last: all gaps right, or all plausibly wrong.

With nothing written the lessons are compared by nbval. It takes minutes, and is run each week.
"""

import inspect
import re
import textwrap
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest

from lessonkit.exercises import own
from lessonkit.exercises.exercise import Exercise
from lessonkit.exercises.own.class_exercise import ClassExercise
from tests.helpers import HANGS, ROOT
from tests.helpers.exercise_walk import LESSONS, cells

ACCEPTS = re.compile(r"^(\w+) = (ex|own)\.(\w+)\.accept\((\w+)\)", re.MULTILINE)
WHOSE = re.compile(r"^From here on: (YOUR|THE COURSE'S) (\w+)", re.MULTILINE)
WAYS = ("YOUR", "THE COURSE'S")
PATHS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def answer_source(exercise: Exercise, right: bool) -> str:
    """Return the text of an answer: the solution, or the first mistake that has a name."""
    if right:
        return str(exercise.solution())
    if not isinstance(exercise, ClassExercise):
        head = str(exercise.solution()).partition("):")[0].rpartition("def ")[2]
        arguments = head.partition("(")[2]
        name = next(iter(exercise.mistake_edits))
        call = f"ex.{exercise.name}.mistaken_functions_by_name[{name!r}]({arguments})"
        return f"def {head}):\n    return {call}"
    old, new = next(edits for edits in exercise.mistake_edits.values() if edits)[:2]
    return textwrap.dedent(inspect.getsource(exercise.reference)).replace(old, new)


def fill_gaps(lesson: str, right: bool) -> tuple[Any, list[str]]:
    """Return a lesson with every gap filled, and the names of what was written."""
    book = nbformat.v4.new_notebook(cells=[nbformat.from_dict(cell) for cell in cells(lesson)])
    names = []
    for cell in book.cells:
        found = ACCEPTS.search(cell.source) if cell.cell_type == "code" else None
        if found is None:
            continue
        door, name, answer = found.group(2, 3, 4)
        exercise = vars(own)[name] if door == "own" else vars(LESSONS[lesson])[name]
        names.append(exercise.name)
        text = answer_source(exercise, right)
        where = next(
            each for each in book.cells if re.search(rf"^(def|class) {answer}\b", each.source, re.M)
        )
        blank = re.compile(rf"^(def|class) {answer}\b.*?(?=\n\n\n|\Z)", re.MULTILINE | re.DOTALL)
        where.source = blank.sub(lambda _, text=text: text, where.source)
    return book, names


@pytest.mark.weekly
@pytest.mark.parametrize("whose", WAYS)
def test_a_learner_goes_through_the_lessons(whose: str, tmp_path: Path) -> None:
    accepted = []
    for path in PATHS:
        number = path.name[:2]
        if number not in LESSONS or number < "02":
            continue
        book, names = fill_gaps(number, right=whose == "YOUR")
        assert len(names) >= 2, path.name
        nbclient.NotebookClient(
            book, timeout=HANGS, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
        ).execute()
        said = "".join(
            "".join(output.get("text", ""))
            for cell in book.cells
            if cell.cell_type == "code" and ACCEPTS.search(cell.source)
            for output in cell.outputs
        )
        found = [name for who, name in WHOSE.findall(said) if who == whose]
        assert found == names, (path.name, said)
        accepted += found
    kept = tmp_path / "my_transformer.py"
    assert kept.exists() == (whose == "YOUR")
    last = "\n".join(
        "".join(output.get("text", "")) for cell in book.cells for output in cell.get("outputs", [])
    )
    assert "BLEU" in last  # of the Transformer in one file, which the last lesson runs
    assert accepted
