"""The exercises of lesson 09, in its order."""

from lessonkit.exercises.asking import asked, read_words
from lessonkit.exercises.inside.alignment import error_rate, links
from lessonkit.exercises.inside.entropy import spread
from lessonkit.exercises.inside.heads import prune

globals().update(asked(read_words("09")))  # recall and the predictions

__all__ = ["spread", "prune", "links", "error_rate"]
