"""The exercises of lesson 11, in its order."""

from lessonkit.exercises.variations.chance import standard_error
from lessonkit.exercises.variations.predictions import (
    half_the_rate,
    one_slip,
    rows_shown,
    seen_with_three,
)
from lessonkit.exercises.variations.questions import recall
from lessonkit.exercises.variations.trees import closing, shared

__all__ = [
    "standard_error",
    "closing",
    "shared",
    "recall",
    "seen_with_three",
    "rows_shown",
    "half_the_rate",
    "one_slip",
]
