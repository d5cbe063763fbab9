"""The exercises of lesson 12, in its order. `Glimpse` and `Loss` are its toys."""

from lessonkit.exercises.faults.ahead import ahead
from lessonkit.exercises.faults.cases import cases
from lessonkit.exercises.faults.floor import unigram
from lessonkit.exercises.faults.losses import loss_fault
from lessonkit.exercises.faults.predictions import (
    changed,
    crowded,
    never_moves,
    perfect,
    sound_curve,
    too_good,
    where_it_breaks,
)
from lessonkit.exercises.faults.questions import recall
from lessonkit.exercises.faults.toys import Glimpse, Loss

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
