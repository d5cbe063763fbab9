"""The exercises of lesson 07, in its order."""

from transformer.exercises.german.bleu import brevity_penalty, clipped_precision
from transformer.exercises.german.checkpoints import average
from transformer.exercises.german.predictions import (
    beyond_chance,
    kept_negations,
    three_tables,
    whole_words,
)
from transformer.exercises.german.questions import recall
from transformer.exercises.german.ranking import best_hypothesis

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
