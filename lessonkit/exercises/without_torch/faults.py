"""Exercises of lesson 16 that need no PyTorch: a loss that knows only frequencies."""

import collections
import itertools
import math

from lessonkit.exercises.exercise import Exercise
from lessonkit.exercises.wording import read_lesson_wording

TokenIdLists = list[list[int]]
lesson_wording = read_lesson_wording("16")


def my_unigram_loss(sentences: TokenIdLists) -> float:
    """Return the loss of the unigram, nats per token."""
    tokens = [token for ids in sentences for token in ids]
    counts = collections.Counter(tokens)
    total = sum(counts.values())
    return -sum(n / total * math.log(n / total) for n in counts.values())


def _entropy_of_torch(sentences: TokenIdLists) -> float:
    import torch

    counts = torch.tensor([*itertools.chain(*sentences)]).bincount()
    return float(torch.distributions.Categorical(counts).entropy())


unigram_loss = Exercise(
    my_unigram_loss,
    lesson_wording,
    worked=[
        (([[4, 5], [4, 5]],), math.log(2)),
        (([[4, 4, 4], [4]],), 0.0),
        (([[4, 5, 6, 6]],), 1.5 * math.log(2)),  # 1/4, 1/4, 1/2
    ],
    cases=[
        ([[4], [5, 5, 5]],),
        ([[7, 3], [7, 8, 9, 3]],),
        ([[5, 6, 5, 3], [5, 3], [6, 7, 8, 9, 5, 3]],),
        ([[4, 3]] * 3 + [[5, 6, 7, 3]],),
    ],
    expected=_entropy_of_torch,
)
