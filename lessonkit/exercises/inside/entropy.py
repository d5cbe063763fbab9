"""An exercise of lesson 09: how widely a row of attention weights is spread."""

import math

import torch

from lessonkit.exercises.asking import read_words
from lessonkit.exercises.check import Exercise

words = read_words("09")


def my_spread(weights: list[float]) -> float:
    """Give the entropy of one row of attention weights, in nats."""
    return -sum(w * math.log(w) for w in weights if w > 0)


def in_bits(weights: list[float]) -> float:
    """Take logarithms to the base 2."""
    return -sum(w * math.log2(w) for w in weights if w > 0)


def without_the_sign(weights: list[float]) -> float:
    """Forget that the logarithm of a probability is negative."""
    return sum(w * math.log(w) for w in weights if w > 0)


def not_weighted(weights: list[float]) -> float:
    """Add the logarithms alone."""
    return -sum(math.log(w) for w in weights if w > 0)


def mean_over_keys(weights: list[float]) -> float:
    """Divide by the number of keys."""
    return my_spread(weights) / len(weights)


def _rows() -> list[list[float]]:
    chance = torch.Generator().manual_seed(9)
    drawn = [torch.randn(n, generator=chance).softmax(0).tolist()[1:] for n in (2, 3, 4, 5)]
    rounded = [[round(w, 3) for w in row] for row in drawn]
    whole = [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0, 0.0], [0.25, 0.75], [0.5, 0.25, 0.25]]
    whole += [[0.125] * 8, [0.99, 0.004, 0.006]]
    return whole + [[round(1 - sum(row), 3), *row] for row in rounded]  # each sums to 1


def _entropy(weights: list[float]) -> float:
    return float(torch.special.entr(torch.tensor(weights, dtype=torch.float64)).sum())


spread = Exercise(
    my_spread,
    words,
    worked=[
        (([1.0, 0.0],), 0.0),  # all on one key
        (([0.25, 0.25, 0.25, 0.25],), math.log(4)),  # as even as can be
    ],
    cases=[(row,) for row in _rows()],
    expected=_entropy,
    wrong={
        "in_bits": in_bits,
        "without_the_sign": without_the_sign,
        "not_weighted": not_weighted,
        "mean_over_keys": mean_over_keys,
    },
)
