"""The words of a lesson's exercises, read from `words/NN.toml` (not in the paper).

A lesson's module makes of them what a notebook calls after `ex.`:

    lesson_wording = read_lesson_wording("02")
    earlier_lessons_quiz = lesson_wording.earlier_lessons_quiz()
    cost_of_length = lesson_wording.prediction("cost_of_length")
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lessonkit.exercises.prediction import Prediction
from lessonkit.exercises.quiz import Question, Quiz

WORDS_FOLDER = Path(__file__).parent / "words"


@dataclass(frozen=True)
class LessonWording:
    """What a lesson says and asks."""

    lesson: str  # its number, "02"
    tables: Mapping[str, Any]  # as they stand in the file

    @property
    def exercises(self) -> Mapping[str, Any]:
        """The words of each exercise, by its name: see `exercise.Exercise`."""
        words: Mapping[str, Any] = self.tables["exercises"]
        return words

    @property
    def predictions(self) -> Mapping[str, Any]:
        """The fields of each prediction, by its name: see `prediction.Prediction`."""
        words: Mapping[str, Any] = self.tables.get("predictions", {})
        return words

    def prediction(self, name: str) -> Prediction:
        """Return the prediction of this name."""
        return Prediction(name, **self.predictions[name])

    def earlier_lessons_quiz(self) -> Quiz:
        """Return the three questions on earlier lessons."""
        questions = [Question(**fields) for fields in self.tables["questions"]]
        return Quiz(self.lesson, questions)


def read_lesson_wording(lesson: str) -> LessonWording:
    """Read the words of a lesson, given by its number, "02"."""
    text = (WORDS_FOLDER / f"{lesson}.toml").read_text(encoding="utf-8")
    return LessonWording(lesson, tomllib.loads(text))
