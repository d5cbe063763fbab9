"""The exercises of lesson 10, in its order. `Decoder` is its toy."""

from lessonkit.exercises.before.convolutions import reach
from lessonkit.exercises.before.predictions import (
    all_four_faults,
    equal_operations,
    falls_behind,
    greedy_verdicts,
)
from lessonkit.exercises.before.questions import recall
from lessonkit.exercises.before.recurrence import last_state, lstm_step
from lessonkit.exercises.before.sight import sight
from lessonkit.exercises.networks import Decoder

__all__ = [
    "lstm_step",
    "last_state",
    "sight",
    "reach",
    "Decoder",
    "recall",
    "falls_behind",
    "equal_operations",
    "all_four_faults",
    "greedy_verdicts",
]
