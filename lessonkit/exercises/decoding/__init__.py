"""The exercises of lesson 06, in its order. `Table` and `Writer` are its toys."""

from lessonkit.exercises.asking import asked, read_words
from lessonkit.exercises.decoding.beams import beam, step
from lessonkit.exercises.decoding.token_by_token import cached_greedy, sample
from lessonkit.exercises.toys import Table, Writer

globals().update(asked(read_words("06")))  # recall and the predictions

__all__ = ["step", "cached_greedy", "sample", "beam", "Table", "Writer"]
