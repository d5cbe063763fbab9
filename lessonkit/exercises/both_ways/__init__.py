"""The exercises of lesson 08, in its order. `Trainer` is its toy."""

from lessonkit.exercises.asking import asked, read_words
from lessonkit.exercises.both_ways.faults import fault
from lessonkit.exercises.both_ways.leaks import groups, leaked
from lessonkit.exercises.toys import Trainer

globals().update(asked(read_words("08")))  # recall and the predictions

__all__ = ["fault", "leaked", "groups", "Trainer"]
