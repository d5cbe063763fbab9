"""The exercises of lesson 03, in its order."""

from lessonkit.exercises.positions.predictions import (
    directions,
    learned_share,
    like_twenty,
    twice_the_length,
)
from lessonkit.exercises.positions.questions import recall
from lessonkit.exercises.positions.shifts import offset, shift_halves
from lessonkit.exercises.positions.waves import position_table, wavelength

__all__ = [
    "position_table",
    "wavelength",
    "shift_halves",
    "offset",
    "recall",
    "like_twenty",
    "directions",
    "learned_share",
    "twice_the_length",
]
