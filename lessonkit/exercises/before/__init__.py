"""The exercises of lesson 10, in its order. `Decoder` is its toy."""

from lessonkit.exercises.asking import asked, read_words
from lessonkit.exercises.before.convolutions import reach
from lessonkit.exercises.before.recurrence import last_state, lstm_step
from lessonkit.exercises.before.sight import sight
from lessonkit.exercises.toys import Decoder

globals().update(asked(read_words("10")))  # recall and the predictions

__all__ = ["lstm_step", "last_state", "sight", "reach", "Decoder"]
