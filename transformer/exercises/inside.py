"""Exercises of lesson 09: entropy, a head's columns, links from weights, the error rate.

The last two stand in `transformer.exercises.inside_links`.
"""

import math

import torch
from torch import Tensor

from transformer.exercises.check import Exercise, Wrong
from transformer.exercises.inside_links import error_rate as error_rate
from transformer.exercises.inside_links import links as links


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
    torch.manual_seed(9)
    drawn = [torch.randn(n).softmax(0).tolist() for n in (2, 3, 4, 5)]
    whole = [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0, 0.0], [0.25, 0.75], [0.5, 0.25, 0.25]]
    return whole + [[round(w, 3) for w in row] for row in drawn]


def _entropy(weights: list[float]) -> float:
    return float(torch.special.entr(torch.tensor(weights, dtype=torch.float64)).sum())


spread = Exercise(
    my_spread,
    minutes=5,
    difficulty="easy",
    hints=(
        "The entropy is the mean surprise: -log w, where each surprise counts w.",
        "A weight of 0 adds nothing, but its logarithm does not exist: leave it out.",
        "-sum(w * math.log(w) for ...), over the weights above 0.",
    ),
    worked=[
        (([1.0, 0.0],), 0.0),  # all on one key
        (([0.25, 0.25, 0.25, 0.25],), math.log(4)),  # as even as can be
    ],
    cases=[(row,) for row in _rows()],
    expected=_entropy,
    wrong=[
        Wrong(in_bits, "These are bits. Nats want the natural logarithm, math.log."),
        Wrong(without_the_sign, "An entropy is never below 0. What is the sign of log(0.5)?"),
        Wrong(
            not_weighted,
            "Each surprise counts as often as it comes: multiply -log w by w before adding.",
        ),
        Wrong(
            mean_over_keys,
            "The weights make it a mean already, for they sum to 1: divide by nothing more.",
        ),
    ],
)


def my_prune(weight: Tensor, head: int, d_v: int) -> Tensor:
    """Give the weight with one head's columns at 0; heads count from 1."""
    pruned = weight.clone()
    pruned[:, (head - 1) * d_v : head * d_v] = 0
    return pruned


def counted_from_zero(weight: Tensor, head: int, d_v: int) -> Tensor:
    """Take the first head for number 0."""
    pruned = weight.clone()
    pruned[:, head * d_v : (head + 1) * d_v] = 0
    return pruned


def rows_instead(weight: Tensor, head: int, d_v: int) -> Tensor:
    """Cut the model's dimensions, not the head's."""
    pruned = weight.clone()
    pruned[(head - 1) * d_v : head * d_v] = 0
    return pruned


def one_column(weight: Tensor, head: int, d_v: int) -> Tensor:
    """Take a head for one column."""
    pruned = weight.clone()
    pruned[:, head - 1] = 0
    return pruned


def interleaved(weight: Tensor, head: int, d_v: int) -> Tensor:
    """Take every n-th column, as if the heads took turns."""
    pruned = weight.clone()
    pruned[:, head - 1 :: weight.shape[1] // d_v] = 0
    return pruned


def all_but_this(weight: Tensor, head: int, d_v: int) -> Tensor:
    """Keep only the head that was to go."""
    return weight - my_prune(weight, head, d_v)


def _cut(weight: Tensor, head: int, d_v: int) -> Tensor:
    """Mask the heads' axis after unfolding it."""
    heads = weight.unflatten(1, (-1, d_v))
    keep = torch.arange(heads.shape[1]) != head - 1
    return (heads * keep[:, None]).flatten(1)


def _projections() -> list[tuple[Tensor, int, int]]:
    cases = []
    for num_heads, d_v in ((2, 1), (2, 2), (3, 2), (2, 3)):
        size = num_heads * d_v
        weight = torch.arange(1.0, 1 + size * size).reshape(size, size)
        cases += [(weight, head, d_v) for head in range(1, num_heads + 1)]
    return cases


prune = Exercise(
    my_prune,
    minutes=10,
    difficulty="medium",
    hints=(
        "A linear layer multiplies its input by the columns of its weight: which columns meet "
        "what head number `head` gives?",
        "The heads stand side by side, each d_v wide; the first has the columns 0 to d_v - 1.",
        "Change a copy: pruned = weight.clone(); then pruned[:, start:end] = 0 and return it.",
    ),
    worked=[
        (
            (torch.tensor([[1.0, 2.0], [3.0, 4.0]]), 2, 1),
            torch.tensor([[1.0, 0.0], [3.0, 0.0]]),
        ),
    ],
    cases=_projections(),
    expected=_cut,
    wrong=[
        Wrong(counted_from_zero, "Heads count from 1 here: head 1 has the first d_v columns."),
        Wrong(
            rows_instead,
            "These are rows, and a row makes one dimension of the output. What the head gives "
            "comes in through columns.",
        ),
        Wrong(one_column, "A head is d_v columns wide, not one."),
        Wrong(
            interleaved,
            "The heads do not take turns: each has its d_v columns side by side.",
        ),
        Wrong(all_but_this, "You kept the head that was to go, and removed the others."),
    ],
)
