"""The exercises of lesson 10, in its order. `Decoder` is its toy."""

from transformer.exercises.before.convolutions import reach
from transformer.exercises.before.predictions import (
    all_four_faults,
    equal_operations,
    falls_behind,
    greedy_verdicts,
)
from transformer.exercises.before.questions import recall
from transformer.exercises.before.recurrence import last_state, lstm_step
from transformer.exercises.before.sight import sight
from transformer.exercises.networks import Decoder

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
