"""Two exercises of lesson 10: a step of an LSTM, and the state after the last real token."""

import torch
from torch import Tensor, nn

from lessonkit.exercises.asking import read_words
from lessonkit.exercises.check import Exercise

words = read_words("10")


def my_lstm_step(gates: Tensor, cell: Tensor) -> list[Tensor]:
    """Give the hidden state and the cell after one step."""
    enters, stays, new, leaves = gates.chunk(4)
    kept = stays.sigmoid() * cell
    cell = kept + enters.sigmoid() * new.tanh()
    return [leaves.sigmoid() * cell.tanh(), cell]


def output_third(gates: Tensor, cell: Tensor) -> list[Tensor]:
    """Take the third part for the gate of the output."""
    enters, stays, new, leaves = gates.chunk(4)
    return my_lstm_step(torch.cat((enters, stays, leaves, new)), cell)


def stay_first(gates: Tensor, cell: Tensor) -> list[Tensor]:
    """Take the first part for what stays."""
    enters, stays, new, leaves = gates.chunk(4)
    return my_lstm_step(torch.cat((stays, enters, new, leaves)), cell)


def not_squashed(gates: Tensor, cell: Tensor) -> list[Tensor]:
    """Let the cell out as it is."""
    _, new_cell = my_lstm_step(gates, cell)
    return [gates.chunk(4)[3].sigmoid() * new_cell, new_cell]


def nothing_stays(gates: Tensor, cell: Tensor) -> list[Tensor]:
    """Forget what the cell held."""
    return my_lstm_step(gates, torch.zeros_like(cell))


def swapped_results(gates: Tensor, cell: Tensor) -> list[Tensor]:
    """Give the cell first."""
    return my_lstm_step(gates, cell)[::-1]


def _by_torch(gates: Tensor, cell: Tensor) -> list[Tensor]:
    """An LSTM cell of PyTorch that takes the gates' values as its input, unchanged."""
    size = len(cell)
    made = nn.utils.skip_init(nn.LSTMCell, 4 * size, size, bias=False)  # leaves chance alone
    with torch.no_grad():
        made.weight_ih.copy_(torch.eye(4 * size))
        made.weight_hh.zero_()
        return list(made(gates, (torch.zeros(size), cell)))


def _steps() -> list[tuple[Tensor, Tensor]]:
    chance = torch.Generator().manual_seed(3)
    sizes = (1, 1, 1, 2, 2, 3, 5)
    return [
        (
            (2 * torch.randn(4 * size, generator=chance)).round(decimals=1),
            torch.randn(size, generator=chance).round(decimals=1),
        )
        for size in sizes
    ]


lstm_step = Exercise(
    my_lstm_step,
    words,
    worked=[
        ((torch.zeros(4), torch.tensor([0.0])), [torch.tensor([0.0]), torch.tensor([0.0])]),
        (
            (torch.zeros(4), torch.tensor([2.0])),
            [torch.tensor([0.380797]), torch.tensor([1.0])],  # 1/2 tanh(1), 1/2 of 2
        ),
    ],
    cases=_steps(),
    expected=_by_torch,
    wrong={
        "output_third": output_third,
        "stay_first": stay_first,
        "not_squashed": not_squashed,
        "nothing_stays": nothing_stays,
        "swapped_results": swapped_results,
    },
)


def my_last_state(outputs: Tensor, lengths: Tensor) -> Tensor:
    """Give each sentence's state after its last real token, (batch, size)."""
    rows = torch.arange(len(outputs))
    return outputs[rows, lengths - 1]


def after_padding(outputs: Tensor, lengths: Tensor) -> Tensor:
    """Take the last position, padding or not."""
    return my_last_state(outputs, torch.full_like(lengths, outputs.shape[1]))


def one_too_far(outputs: Tensor, lengths: Tensor) -> Tensor:
    """Count from 1 where positions count from 0."""
    return my_last_state(outputs, (lengths + 1).clamp(max=outputs.shape[1]))


def of_the_longest(outputs: Tensor, lengths: Tensor) -> Tensor:
    """Take the same place in every sentence."""
    return my_last_state(outputs, lengths.min().expand(len(lengths)))


def every_length(outputs: Tensor, lengths: Tensor) -> Tensor:
    """Take the places of all lengths from every row."""
    return outputs[:, lengths - 1]


def the_mean(outputs: Tensor, lengths: Tensor) -> Tensor:
    """Average the real states."""
    return torch.stack([row[:n].mean(0) for row, n in zip(outputs, lengths, strict=True)])


def _row_by_row(outputs: Tensor, lengths: Tensor) -> Tensor:
    real = [row[: int(length)] for row, length in zip(outputs, lengths, strict=True)]
    return torch.stack([states[-1] for states in real])


def _padded() -> list[tuple[Tensor, Tensor]]:
    chance = torch.Generator().manual_seed(4)
    all_lengths = ([1, 2], [2, 1], [3, 1], [2, 3], [3, 2, 1], [1, 4, 2])
    sizes = [(lengths, size) for size in (1, 2, 3) for lengths in all_lengths] + [([2], 2)]
    return [
        (
            torch.randn(len(lengths), max(lengths), size, generator=chance).round(decimals=1),
            torch.tensor(lengths),
        )
        for lengths, size in sizes
    ]


last_state = Exercise(
    my_last_state,
    words,
    worked=[
        (
            (torch.tensor([[[1.0], [2.0]], [[3.0], [9.0]]]), torch.tensor([2, 1])),
            torch.tensor([[2.0], [3.0]]),
        ),
    ],
    cases=_padded(),
    expected=_row_by_row,
    wrong={
        "after_padding": after_padding,
        "one_too_far": one_too_far,
        "of_the_longest": of_the_longest,
        "every_length": every_length,
        "the_mean": the_mean,
    },
)
