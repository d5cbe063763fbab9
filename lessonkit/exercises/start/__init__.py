"""The exercises of lesson 00, in its order. `Script` and `Table` are its toys."""

from lessonkit.exercises.start.averages import weighted_average
from lessonkit.exercises.start.losses import perplexity
from lessonkit.exercises.start.predictions import (
    articles_left,
    first_score,
    gender_moved,
)
from lessonkit.exercises.start.searches import greedy, most_probable
from lessonkit.exercises.toys import Script, Table

__all__ = [
    "perplexity",
    "weighted_average",
    "greedy",
    "most_probable",
    "Script",
    "Table",
    "first_score",
    "gender_moved",
    "articles_left",
]
