"""The exercises of lesson 08, in its order. `Trainer` is its toy."""

from lessonkit.exercises.both_ways.faults import fault
from lessonkit.exercises.both_ways.leaks import groups, leaked
from lessonkit.exercises.both_ways.predictions import (
    everyday_negations,
    french_for_german,
    memory_random,
    swapped_judged,
)
from lessonkit.exercises.both_ways.questions import recall
from lessonkit.exercises.networks import Trainer

__all__ = [
    "fault",
    "leaked",
    "groups",
    "Trainer",
    "recall",
    "french_for_german",
    "swapped_judged",
    "memory_random",
    "everyday_negations",
]
