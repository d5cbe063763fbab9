"""The exercises of lesson 07, in its order."""

from lessonkit.exercises.german.bleu import brevity_penalty, clipped_precision
from lessonkit.exercises.german.checkpoints import average
from lessonkit.exercises.german.predictions import (
    beyond_chance,
    kept_negations,
    three_tables,
    whole_words,
)
from lessonkit.exercises.german.questions import recall
from lessonkit.exercises.german.ranking import best_hypothesis

__all__ = [
    "average",
    "best_hypothesis",
    "brevity_penalty",
    "clipped_precision",
    "recall",
    "three_tables",
    "beyond_chance",
    "whole_words",
    "kept_negations",
]
