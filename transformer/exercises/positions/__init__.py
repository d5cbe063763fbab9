"""The exercises of lesson 03, in its order."""

from transformer.exercises.positions.shifts import offset, shift_halves
from transformer.exercises.positions.waves import position_table, wavelength

__all__ = [
    "position_table",
    "wavelength",
    "shift_halves",
    "offset",
]
