"""Every exercise, every prediction and every lesson that has them, found by walking."""

import importlib
import pkgutil
import re
from functools import cache
from types import ModuleType
from typing import Any

import nbformat
import torch

import lessonkit.exercises
from lessonkit.exercises.exercise import Exercise
from lessonkit.exercises.own.class_exercise import ClassExercise
from lessonkit.exercises.prediction import Prediction
from lessonkit.exercises.quiz import Question, Quiz
from tests.helpers import ROOT

IMPORT = re.compile(r"^from lessonkit\.exercises import (\w+) as ex$", re.MULTILINE)


def exercises(module: ModuleType) -> dict[str, Exercise]:
    """The exercises of a lesson's module, by their name there, in the order of its words."""
    found = {name: each for name, each in vars(module).items() if _is_function(each)}
    return {name: found[name] for name in vars(module)["lesson_wording"].exercises} if found else {}


def _is_function(thing: Any) -> bool:
    """Return whether it is an exercise whose answer is a function, not a class."""
    return isinstance(thing, Exercise) and not isinstance(thing, ClassExercise)


def predictions(module: Any) -> dict[str, Prediction]:
    """The predictions of a module, by name."""
    return {name: each for name, each in vars(module).items() if isinstance(each, Prediction)}


@cache
def cells(lesson: str) -> list[Any]:
    """The cells of the lesson with this number, "02"."""
    (path,) = (ROOT / "notebooks").glob(f"{lesson}_*.ipynb")
    # Not `nbformat.read`, which validates: that takes seconds for all lessons.
    return list(nbformat.reader.reads(path.read_text(encoding="utf-8")).cells)


def lessons() -> dict[str, ModuleType]:
    """The module that each lesson imports its exercises from, by the lesson's number."""
    found = {}
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        number = path.name[:2]
        code = "\n".join(cell.source for cell in cells(number) if cell.cell_type == "code")
        if name := IMPORT.search(code):
            found[number] = importlib.import_module(f"lessonkit.exercises.{name[1]}")
    return found


MODULES = [
    importlib.import_module(f"lessonkit.exercises.{info.name}")
    for info in pkgutil.iter_modules(lessonkit.exercises.__path__)
]
LESSONS = lessons()
ALL = {each.name: each for module in MODULES for each in exercises(module).values()}
PREDICTIONS = {each.name: each for module in MODULES for each in predictions(module).values()}
QUIZZES: dict[str, Quiz] = {
    number: vars(module)["earlier_lessons_quiz"]
    for number, module in LESSONS.items()
    if "earlier_lessons_quiz" in vars(module)
}
QUESTIONS: dict[str, Question] = {
    f"{number}.{place}": question
    for number, quiz in QUIZZES.items()
    for place, question in enumerate(quiz.questions, start=1)
}


def status(name: str, answer: Any) -> str:
    """Have an answer judged: "passed", "wrong" or "not attempted"."""
    return ALL[name].judge(answer).status


class Odd:
    """A value that refuses everything one may ask of it."""

    def __repr__(self) -> str:
        raise RuntimeError

    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    __hash__ = None  # type: ignore[assignment]


# What a learner may leave or type where an answer is asked for.
BLANK = (None, ..., "", "  ")
NONSENSE = (
    *(Odd(), object(), [], [1, 2], {}, b"no", 1j, "nothing like it", "0,7", True, lambda: 3),
    *(float("nan"), float("inf"), 10**400, torch.zeros(2, 3), torch.empty(0)),
)
