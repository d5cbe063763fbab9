"""The exercises of lesson 06, in its order. `Table` and `Writer` are its toys."""

from lessonkit.exercises.decoding.caching import cached_greedy
from lessonkit.exercises.decoding.continuations import step
from lessonkit.exercises.decoding.predictions import (
    five_ways_apart,
    greedy_to_blame,
    six_points,
)
from lessonkit.exercises.decoding.questions import recall
from lessonkit.exercises.decoding.sampling import sample
from lessonkit.exercises.decoding.search import beam
from lessonkit.exercises.networks import Writer
from lessonkit.exercises.toys import Table

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
