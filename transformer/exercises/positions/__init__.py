"""The exercises of lesson 03, in its order."""

from transformer.exercises.positions.predictions import (
    directions,
    learned_share,
    like_twenty,
    twice_the_length,
)
from transformer.exercises.positions.questions import recall
from transformer.exercises.positions.shifts import offset, shift_halves
from transformer.exercises.positions.waves import position_table, wavelength

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
