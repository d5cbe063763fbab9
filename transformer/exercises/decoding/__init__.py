"""The exercises of lesson 06, in its order. `Table` and `Writer` are its toys."""

from transformer.exercises.decoding.caching import cached_greedy
from transformer.exercises.decoding.continuations import step
from transformer.exercises.decoding.predictions import (
    five_ways_apart,
    greedy_to_blame,
    six_points,
)
from transformer.exercises.decoding.questions import recall
from transformer.exercises.decoding.sampling import sample
from transformer.exercises.decoding.search import beam
from transformer.exercises.networks import Writer
from transformer.exercises.toys import Table

__all__ = [
    "step",
    "cached_greedy",
    "sample",
    "beam",
    "Table",
    "Writer",
    "recall",
    "greedy_to_blame",
    "five_ways_apart",
    "six_points",
]
