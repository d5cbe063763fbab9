"""The exercises of lesson 00, in its order. `Script` and `Table` are its toys."""

from lessonkit.exercises.asking import asked, read_words
from lessonkit.exercises.start.averages import weighted_average
from lessonkit.exercises.start.losses import perplexity
from lessonkit.exercises.start.searches import greedy, most_probable
from lessonkit.exercises.toys import Script, Table

globals().update(asked(read_words("00")))  # recall and the predictions

__all__ = ["perplexity", "weighted_average", "greedy", "most_probable", "Script", "Table"]
