"""A Transformer of one's own: the classes that a learner writes in lessons 02, 04 and 05."""

from pathlib import Path
from typing import Any

from lessonkit.exercises.learner_file import load_definition
from lessonkit.exercises.own.class_exercise import ClassExercise
from lessonkit.exercises.own.classes import (
    attention,
    decoder_layer,
    embedding,
    encoder_layer,
    residual,
    stack,
    transformer,
)
from lessonkit.exercises.own.whole import run, translate

CLASS_EXERCISES_BY_NAME: dict[str, ClassExercise] = {
    exercise.name: exercise
    for exercise in (
        attention,
        embedding,
        residual,
        encoder_layer,
        decoder_layer,
        stack,
        transformer,
    )
}


def load(name: str, file: Path | None = None) -> Any:
    """Return a class of the learner's file if it passes, else the course's, and say which.

    Args:
        name: Of the class, "MyTransformer".
        file: The learner's file; None is `my_transformer.py`.

    Raises:
        UserError: the file cannot be run.
    """
    exercise = CLASS_EXERCISES_BY_NAME[name]
    definition = load_definition(name, file)
    if definition is None:
        print(f"{name}: THE COURSE'S, for yours is not kept (lesson {exercise.lesson}).")
        return exercise.reference
    return exercise.accept(definition)


__all__ = [
    "CLASS_EXERCISES_BY_NAME",
    "attention",
    "decoder_layer",
    "embedding",
    "encoder_layer",
    "load",
    "residual",
    "run",
    "stack",
    "transformer",
    "translate",
]
