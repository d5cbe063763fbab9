"""The exercises of lesson 08, in its order. `Trainer` is its toy."""

from transformer.exercises.both_ways.faults import fault
from transformer.exercises.both_ways.leaks import groups, leaked
from transformer.exercises.both_ways.predictions import (
    everyday_negations,
    french_for_german,
    memory_random,
    swapped_judged,
)
from transformer.exercises.both_ways.questions import recall
from transformer.exercises.networks import Trainer

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
