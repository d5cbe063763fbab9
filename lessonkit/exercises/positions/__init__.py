"""The exercises of lesson 03, in its order."""

from lessonkit.exercises.asking import asked, read_words
from lessonkit.exercises.positions.shifts import offset, shift_halves
from lessonkit.exercises.positions.waves import position_table, wavelength

globals().update(asked(read_words("03")))  # recall and the predictions

__all__ = ["position_table", "wavelength", "shift_halves", "offset"]
