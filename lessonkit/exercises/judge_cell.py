"""Judging a cell that was typed into a page: its text is run, and the answer in it is judged.

Not in the paper. The site does this in a browser, by Pyodide; nothing in here needs PyTorch.
"""

import ast
import contextlib
import io
import json
import linecache
import traceback
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from lessonkit.exercises import without_torch
from lessonkit.exercises.exercise import ANSWER_PREFIX, Exercise
from lessonkit.exercises.outcome import truncate_text

CELL_FILE = "<cell>"  # of the typed text, in tracebacks
# What a library computed as the site was built, `{name: values as Python writes them}`.
RIGHT_VALUES_FILE = Path(without_torch.__path__[0]) / "right_values.json"


class CellVerdict(NamedTuple):
    """What a page shows below a cell."""

    status: str  # of the answer, as `message.AnswerStatus`; "error" if the cell itself raised
    text: str
    traceback: str = ""


def judge_cell(module: str, name: str, source: str, imports: str = "") -> CellVerdict:
    """Run the text of a cell, and judge the answer in it.

    The cell has the lesson's module as `ex`, as a lesson has, so that what a verdict names can be
    called in it: `ex.NAME.hint()`, a toy, a case's arguments.

    Args:
        module: The lesson's, in `without_torch`.
        name: Of the exercise.
        source: The text.
        imports: Lines that the lesson has run before.
    """
    exercise = find_exercise(module, name)
    answer_name = f"{ANSWER_PREFIX}{name}"
    # It is not "__main__", so that nobody's progress is noted.
    names: dict[str, Any] = {"__name__": CELL_FILE, "ex": _lesson_module(module)}
    printed = io.StringIO()
    # So that a traceback shows the line at fault.
    linecache.cache[CELL_FILE] = (len(source), None, source.splitlines(keepends=True), CELL_FILE)
    try:
        with contextlib.redirect_stdout(printed):
            exec(imports, names)
            exec(compile(source, CELL_FILE, "exec"), names)
    except (Exception, SystemExit) as error:
        return CellVerdict("error", printed.getvalue() + _error_line(error), _traceback_text(error))
    if answer_name not in names:
        text = f"{name}: wrong. There is no {answer_name} in the cell: keep the function's name."
        return CellVerdict("wrong", printed.getvalue() + text)
    verdict = exercise.judge(names[answer_name])
    return CellVerdict(verdict.status, printed.getvalue() + verdict.text)


def find_exercise(module: str, name: str) -> Exercise:
    """Return an exercise of a lesson's module in `without_torch`, ready to judge."""
    exercise: Exercise = getattr(_lesson_module(module), name)
    if RIGHT_VALUES_FILE.is_file():
        recorded = json.loads(RIGHT_VALUES_FILE.read_text(encoding="utf-8"))
        if name in recorded:
            exercise.right_values = ast.literal_eval(recorded[name])
    return exercise


def _lesson_module(module: str) -> ModuleType:
    return import_module(f"{without_torch.__name__}.{module}")


def _error_line(error: BaseException) -> str:
    """Return in one line what was raised, and in which line of the cell."""
    words = truncate_text(" ".join(traceback.format_exception_only(error)[-1].split()))
    if isinstance(error, SyntaxError):
        return f"{words} (line {error.lineno})"
    lines = [number for frame, number in traceback.walk_tb(error.__traceback__) if _is_cell(frame)]
    return f"{words} (line {lines[-1]})" if lines else words


def _is_cell(frame: object) -> bool:
    return getattr(getattr(frame, "f_code", None), "co_filename", "") == CELL_FILE


def _traceback_text(error: BaseException) -> str:
    """Return the traceback from the cell on, without what runs the cell."""
    place = error.__traceback__
    while place and not _is_cell(place.tb_frame):
        place = place.tb_next
    return "".join(traceback.format_exception(type(error), error, place))
