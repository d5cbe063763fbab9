"""The exercises of lesson 06, in its order. `Table` is its toy."""

from transformer.exercises.decoding.bleu import brevity, matches
from transformer.exercises.decoding.continuations import step
from transformer.exercises.decoding.predictions import (
    five_ways_apart,
    greedy_to_blame,
    six_points,
)
from transformer.exercises.decoding.questions import recall
from transformer.exercises.decoding.ranking import penalised
from transformer.exercises.decoding.search import beam
from transformer.exercises.toys import Table

__all__ = [
    "penalised",
    "brevity",
    "step",
    "matches",
    "beam",
    "Table",
    "recall",
    "greedy_to_blame",
    "five_ways_apart",
    "six_points",
]
