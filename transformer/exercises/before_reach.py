"""Exercises of lesson 10: the state after the last real token, and how far a stack sees."""

import math

import torch
from torch import Tensor

from transformer.exercises.check import Exercise, Wrong


def my_last_state(outputs: Tensor, lengths: Tensor) -> Tensor:
    """Give each sentence's state after its last real token, (batch, size)."""
    rows = torch.arange(len(outputs))
    return outputs[rows, lengths - 1]


def after_padding(outputs: Tensor, lengths: Tensor) -> Tensor:
    """Take the last position, padding or not."""
    return outputs[:, -1]


def one_too_far(outputs: Tensor, lengths: Tensor) -> Tensor:
    """Count from 1 where positions count from 0."""
    last = lengths.clamp(max=outputs.shape[1] - 1)
    return outputs[torch.arange(len(outputs)), last]


def of_the_longest(outputs: Tensor, lengths: Tensor) -> Tensor:
    """Take the same place in every sentence."""
    return outputs[:, int(lengths.min()) - 1]


def the_mean(outputs: Tensor, lengths: Tensor) -> Tensor:
    """Average the real states."""
    return torch.stack([row[:n].mean(0) for row, n in zip(outputs, lengths, strict=True)])


def _row_by_row(outputs: Tensor, lengths: Tensor) -> Tensor:
    real = [row[: int(length)] for row, length in zip(outputs, lengths, strict=True)]
    return torch.stack([states[-1] for states in real])


def _padded() -> list[tuple[Tensor, Tensor]]:
    chance = torch.Generator().manual_seed(4)
    all_lengths = ([1, 2], [2, 1], [3, 1], [2, 3], [3, 2, 1], [1, 4, 2])
    return [
        (
            torch.randn(len(lengths), max(lengths), 1, generator=chance).round(decimals=1),
            torch.tensor(lengths),
        )
        for lengths in all_lengths
    ]


last_state = Exercise(
    my_last_state,
    minutes=10,
    difficulty="medium",
    hints=(
        "A sentence of length 3 has its states at positions 0, 1 and 2; padding follows.",
        "Index with two tensors at once: the row's number, and the position in that row.",
        "outputs[torch.arange(len(outputs)), lengths - 1].",
    ),
    worked=[
        (
            (torch.tensor([[[1.0], [2.0]], [[3.0], [9.0]]]), torch.tensor([2, 1])),
            torch.tensor([[2.0], [3.0]]),
        ),
    ],
    cases=_padded(),
    expected=_row_by_row,
    wrong=[
        Wrong(after_padding, "Short sentences end before the last position: this is padding."),
        Wrong(one_too_far, "This is one position too far: the first has the number 0."),
        Wrong(of_the_longest, "Each sentence ends in a place of its own."),
        Wrong(the_mean, "Asked for is one state, the last real one, and not the mean of all."),
    ],
)


def my_reach(n: int, kernel: int) -> int:
    """Count the dilated layers until the last place has seen the first."""
    layers, seen = 1, kernel
    while seen < n:
        layers, seen = layers + 1, seen * kernel
    return layers


def not_dilated(n: int, kernel: int) -> int:
    """Let each layer see kernel - 1 positions more."""
    return max(1, math.ceil((n - 1) / (kernel - 1)))


def rounded_down(n: int, kernel: int) -> int:
    """Leave out the layer that is not used whole."""
    layers = 1
    while kernel ** (layers + 1) <= n:
        layers += 1
    return layers


def one_more(n: int, kernel: int) -> int:
    """Count the input too."""
    return my_reach(n, kernel) + 1


def natural_logarithm(n: int, kernel: int) -> int:
    """Take the logarithm to the base e."""
    return max(1, math.ceil(math.log(n)))


def _by_sums(n: int, kernel: int) -> int:
    """Add up how far back each layer looks: kernel - 1 steps of its dilation."""
    back, layers = 0, 0
    while back < n - 1 or layers == 0:
        back += (kernel - 1) * kernel**layers
        layers += 1
    return layers


reach = Exercise(
    my_reach,
    minutes=15,
    difficulty="hard",
    hints=(
        "One layer sees kernel positions. With gaps of kernel, a second sees kernel * kernel.",
        "After L layers it is kernel ** L. How many layers until that is n or more?",
        "Count up in a loop; math.log may be a hair off where n is a power of kernel.",
    ),
    worked=[((9, 3), 2), ((10, 3), 3), ((2, 3), 1)],
    cases=[(n, k) for n in (2, 3, 4, 5, 8, 9, 26, 27, 28, 125, 243, 1000) for k in (2, 3, 4, 5)],
    expected=_by_sums,
    wrong=[
        Wrong(
            not_dilated,
            "This is right without gaps. Here each layer's gaps are kernel times those below it.",
        ),
        Wrong(rounded_down, "So many layers fall short: the first position is not yet seen."),
        Wrong(one_more, "This is one layer more than it takes."),
        Wrong(natural_logarithm, "The number of positions grows by the factor kernel, not e."),
    ],
)
