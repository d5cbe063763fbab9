"""The exercises of lesson 12, in its order. `Glimpse` and `Loss` are its toys."""

from transformer.exercises.faults.ahead import ahead
from transformer.exercises.faults.cases import cases
from transformer.exercises.faults.floor import unigram
from transformer.exercises.faults.losses import loss_fault
from transformer.exercises.faults.predictions import (
    changed,
    crowded,
    never_moves,
    perfect,
    sound_curve,
    too_good,
    where_it_breaks,
)
from transformer.exercises.faults.questions import recall
from transformer.exercises.faults.toys import Glimpse, Loss

__all__ = [
    "unigram",
    "ahead",
    "loss_fault",
    "Glimpse",
    "Loss",
    "cases",
    "recall",
    "sound_curve",
    "too_good",
    "where_it_breaks",
    "crowded",
    "never_moves",
    "perfect",
    "changed",
]
