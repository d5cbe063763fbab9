"""An exercise of lesson 09: a head without its columns."""

import torch
from torch import Tensor

from lessonkit.exercises.asking import read_words
from lessonkit.exercises.check import Exercise

words = read_words("09")


def my_prune(weight: Tensor, head: int, d_v: int) -> Tensor:
    """Give the weight with one head's columns at 0; heads count from 1."""
    pruned = weight.clone()
    pruned[:, (head - 1) * d_v : head * d_v] = 0
    return pruned


def counted_from_zero(weight: Tensor, head: int, d_v: int) -> Tensor:
    """Take the first head for number 0."""
    return my_prune(weight, head + 1, d_v)


def rows_instead(weight: Tensor, head: int, d_v: int) -> Tensor:
    """Cut the model's dimensions, not the head's."""
    return my_prune(weight.T, head, d_v).T


def one_column(weight: Tensor, head: int, d_v: int) -> Tensor:
    """Take a head for one column."""
    return my_prune(weight, head, 1)


def interleaved(weight: Tensor, head: int, d_v: int) -> Tensor:
    """Take every n-th column, as if the heads took turns."""
    pruned = weight.clone()
    pruned[:, head - 1 :: weight.shape[1] // d_v] = 0
    return pruned


def all_but_this(weight: Tensor, head: int, d_v: int) -> Tensor:
    """Keep only the head that was to go."""
    return weight - my_prune(weight, head, d_v)


def cut_out(weight: Tensor, head: int, d_v: int) -> Tensor:
    """Take the columns out, so that the weight is narrower."""
    return torch.cat((weight[:, : (head - 1) * d_v], weight[:, head * d_v :]), dim=1)


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
    narrow, wide = torch.arange(1.0, 9).reshape(2, 4), torch.arange(1.0, 13).reshape(6, 2)
    return [*cases, (narrow, 1, 2), (narrow, 2, 2), (wide, 1, 1), (wide, 2, 1)]


prune = Exercise(
    my_prune,
    words,
    worked=[
        (
            (torch.tensor([[1.0, 2.0], [3.0, 4.0]]), 2, 1),
            torch.tensor([[1.0, 0.0], [3.0, 0.0]]),
        ),
    ],
    cases=_projections(),
    expected=_cut,
    wrong={
        "counted_from_zero": counted_from_zero,
        "rows_instead": rows_instead,
        "one_column": one_column,
        "interleaved": interleaved,
        "cut_out": cut_out,
        "all_but_this": all_but_this,
    },
)
