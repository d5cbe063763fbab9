"""The exercises of lesson 09, in its order."""

from lessonkit.exercises.inside.alignment import error_rate, links
from lessonkit.exercises.inside.entropy import spread
from lessonkit.exercises.inside.heads import prune
from lessonkit.exercises.inside.predictions import (
    dull_head,
    exchanged_article,
    mean_of_heads,
    no_encoder_heads,
)
from lessonkit.exercises.inside.questions import recall

__all__ = [
    "spread",
    "prune",
    "links",
    "error_rate",
    "recall",
    "exchanged_article",
    "dull_head",
    "no_encoder_heads",
    "mean_of_heads",
]
