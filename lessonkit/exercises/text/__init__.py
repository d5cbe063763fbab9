"""The exercises of lesson 01, in its order."""

from lessonkit.exercises.text.batches import pad_and_shift, token_batches
from lessonkit.exercises.text.pieces import best_pair
from lessonkit.exercises.text.predictions import (
    first_merge,
    padding_random,
    unknown_german,
)
from lessonkit.exercises.text.questions import recall
from lessonkit.exercises.text.vocabularies import kept_types

__all__ = [
    "kept_types",
    "best_pair",
    "pad_and_shift",
    "token_batches",
    "recall",
    "first_merge",
    "unknown_german",
    "padding_random",
]
