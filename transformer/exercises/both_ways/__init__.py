"""The exercises of lesson 08, in its order."""

from transformer.exercises.both_ways.leaks import groups, leaked
from transformer.exercises.both_ways.questions import recall
from transformer.exercises.both_ways.weights import untrained

__all__ = [
    "untrained",
    "leaked",
    "groups",
    "recall",
]
