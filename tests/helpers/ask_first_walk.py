"""Every prediction and every lesson's questions, found by walking."""

import re
from functools import cache
from typing import Any

import nbformat

from lessonkit.exercises.predict import Prediction
from lessonkit.exercises.recall import Question, Recall
from tests.helpers.exercise_walk import lesson_module, lessons, modules


def predictions(module: Any) -> dict[str, Prediction]:
    """The predictions that can be had from a module, by the name they have there."""
    return {name: each for name, each in vars(module).items() if isinstance(each, Prediction)}


@cache
def cells(lesson: str) -> list[Any]:
    """The cells of the lesson with this number, "02"."""
    (path,) = [path for path in lessons() if path.name.startswith(lesson)]
    return list(nbformat.read(path, as_version=4).cells)


@cache
def headings(lesson: str) -> frozenset[str]:
    """The headings of a lesson's text, without their marks."""
    text = "\n".join(cell.source for cell in cells(lesson) if cell.cell_type == "markdown")
    return frozenset(re.findall(r"^#+ (.+)$", text, re.MULTILINE))


def numbers() -> dict[str, str]:
    """The number of each lesson by the name of its module."""
    found = {}
    for path in lessons():
        module = lesson_module(nbformat.read(path, as_version=4))
        assert module is not None
        found[module.__name__] = path.name[:2]
    return found


PREDICTIONS = {
    f"{module.__name__}.{name}": each
    for module in modules()
    for name, each in predictions(module).items()
}
RECALLS = {
    module.__name__: each
    for module in modules()
    for each in vars(module).values()
    if isinstance(each, Recall)
}
QUESTIONS: dict[str, Question] = {
    f"{recall.lesson}.{number}": question
    for recall in RECALLS.values()
    for number, question in enumerate(recall.questions, start=1)
}
