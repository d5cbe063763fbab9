"""An exercise of lesson 00: the weighted average that attention is."""

import torch
import torch.nn.functional as F
from torch import Tensor

from lessonkit.exercises.asking import read_words
from lessonkit.exercises.check import Exercise

words = read_words("00")


def my_weighted_average(weights: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """(tgt_len, src_len) and (src_len, d_v) -> (tgt_len, d_v)."""
    return weights @ values


def plain_average(weights: Tensor, values: Tensor) -> Tensor:
    """Pay no attention to the weights."""
    return my_weighted_average(torch.full_like(weights, 1 / len(values)), values)


def normalised_twice(weights: Tensor, values: Tensor) -> Tensor:
    """Put weights through a softmax that have been through one."""
    return my_weighted_average(weights.softmax(dim=-1), values)


def divided_again(weights: Tensor, values: Tensor) -> Tensor:
    """Divide a sum of weighted values by their number."""
    return my_weighted_average(weights, values) / len(values)


def hardest_choice(weights: Tensor, values: Tensor) -> Tensor:
    """Copy the value with the largest weight."""
    chosen = F.one_hot(weights.argmax(dim=-1), len(values))
    return my_weighted_average(chosen.float(), values)


def _weights_and_values() -> list[tuple[Tensor, Tensor]]:
    """Small tables by hand, then random ones whose sizes are all different."""
    uneven = torch.tensor([[0.75, 0.25], [0.0, 1.0]])
    cases = [
        (torch.ones(1, 1), torch.tensor([[2.0]])),
        (uneven[:1], torch.tensor([[4.0], [8.0]])),
        (uneven, torch.tensor([[4.0], [8.0]])),
    ]
    generator = torch.Generator().manual_seed(0)
    for tgt_len, src_len, d_v in ((2, 3, 5), (5, 2, 3), (3, 7, 2)):
        weights = torch.rand(tgt_len, src_len, generator=generator)
        values = torch.randn(src_len, d_v, generator=generator)
        cases.append((weights / weights.sum(dim=-1, keepdim=True), values))
    return cases


def _by_torch(weights: Tensor, values: Tensor) -> Tensor:
    """Let PyTorch's attention do it: the softmax of the weights' logarithm is the weights."""
    zeros = torch.zeros_like(weights[:, :1]), torch.zeros_like(values[:, :1])
    result = F.scaled_dot_product_attention(
        zeros[0][None], zeros[1][None], values[None], weights.log()[None]
    )
    return result[0]


weighted_average = Exercise(
    my_weighted_average,
    words,
    worked=[
        ((torch.tensor([[0.5, 0.5]]), torch.tensor([[2.0], [6.0]])), torch.tensor([[4.0]])),
        (
            (torch.tensor([[0.25, 0.75], [1.0, 0.0]]), torch.tensor([[4.0, 0.0], [8.0, 1.0]])),
            torch.tensor([[7.0, 0.75], [4.0, 0.0]]),
        ),
    ],
    cases=_weights_and_values(),
    expected=_by_torch,
    wrong={
        "plain_average": plain_average,
        "normalised_twice": normalised_twice,
        "divided_again": divided_again,
        "hardest_choice": hardest_choice,
    },
)
