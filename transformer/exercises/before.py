"""Exercises of lesson 10: cost, a step of an LSTM, its last state, how far a stack sees.

The last two stand in `transformer.exercises.before_reach`.
"""

import torch
from torch import Tensor, nn

from transformer.exercises.before_reach import last_state as last_state
from transformer.exercises.before_reach import reach as reach
from transformer.exercises.check import Exercise, Wrong


def my_saving(n: int, d: int) -> float:
    """Divide the recurrent layer's operations by self-attention's."""
    attention, recurrent = n * n * d, n * d * d
    return recurrent / attention


def upside_down(n: int, d: int) -> float:
    """Divide the other way."""
    return n / d


def saved_operations(n: int, d: int) -> float:
    """Subtract in place of dividing."""
    return float(n * d * d - n * n * d)


def width_squared(n: int, d: int) -> float:
    """Forget that self-attention's operations grow with the width too."""
    return d * d / n


def length_squared(n: int, d: int) -> float:
    """Forget that the recurrent layer's operations grow with the length too."""
    return d / (n * n)


def _by_length(n: int, d: int) -> float:
    """What is left when both are divided by n and by d."""
    return d / n


saving = Exercise(
    my_saving,
    minutes=5,
    difficulty="easy",
    hints=(
        "Table 1: self-attention takes n * n * d operations, the recurrent layer n * d * d.",
        "Divide the second by the first: under 1 means that the recurrent layer is cheaper.",
    ),
    worked=[((10, 100), 10.0), ((100, 10), 0.1), ((7, 7), 1.0)],
    cases=[(n, d) for n in (1, 2, 3, 4, 9, 16, 70, 512) for d in (1, 2, 4, 9, 64, 512)],
    expected=_by_length,
    wrong=[
        Wrong(upside_down, "This is how many times the recurrent layer's self-attention takes."),
        Wrong(saved_operations, "This is how many more. Asked for is how many *times* as many."),
        Wrong(width_squared, "Self-attention compares vectors of width d: d counts there too."),
        Wrong(length_squared, "The recurrent layer makes n steps: n counts there too."),
    ],
)


def my_lstm_step(gates: Tensor, cell: Tensor) -> list[Tensor]:
    """Give the hidden state and the cell after one step."""
    enters, stays, new, leaves = gates.chunk(4)
    kept = stays.sigmoid() * cell
    cell = kept + enters.sigmoid() * new.tanh()
    return [leaves.sigmoid() * cell.tanh(), cell]


def _step(gates: Tensor, cell: Tensor, order: str = "isno", squash: bool = True) -> list[Tensor]:
    """Make the step with the four parts in another order, or the cell let out as it is."""
    part = dict(zip(order, gates.chunk(4), strict=True))
    cell = part["s"].sigmoid() * cell + part["i"].sigmoid() * part["n"].tanh()
    return [part["o"].sigmoid() * (cell.tanh() if squash else cell), cell]


def output_third(gates: Tensor, cell: Tensor) -> list[Tensor]:
    """Take the third part for the gate of the output."""
    return _step(gates, cell, order="ison")


def stay_first(gates: Tensor, cell: Tensor) -> list[Tensor]:
    """Take the first part for what stays."""
    return _step(gates, cell, order="sino")


def not_squashed(gates: Tensor, cell: Tensor) -> list[Tensor]:
    """Let the cell out as it is."""
    return _step(gates, cell, squash=False)


def nothing_stays(gates: Tensor, cell: Tensor) -> list[Tensor]:
    """Forget what the cell held."""
    return _step(gates, torch.zeros_like(cell))


def swapped_results(gates: Tensor, cell: Tensor) -> list[Tensor]:
    """Give the cell first."""
    return my_lstm_step(gates, cell)[::-1]


def _by_torch(gates: Tensor, cell: Tensor) -> list[Tensor]:
    """An LSTM cell of PyTorch that takes the gates' values as its input, unchanged."""
    size = len(cell)
    made = nn.LSTMCell(4 * size, size, bias=False)
    with torch.no_grad():
        made.weight_ih.copy_(torch.eye(4 * size))
        made.weight_hh.zero_()
        return list(made(gates, (torch.zeros(size), cell)))


def _steps() -> list[tuple[Tensor, Tensor]]:
    chance = torch.Generator().manual_seed(3)
    sizes = (1, 1, 1, 2, 2, 3)
    return [
        (
            (2 * torch.randn(4 * size, generator=chance)).round(decimals=1),
            torch.randn(size, generator=chance).round(decimals=1),
        )
        for size in sizes
    ]


lstm_step = Exercise(
    my_lstm_step,
    minutes=15,
    difficulty="medium",
    hints=(
        "gates.chunk(4) gives four parts: what enters, what stays, the new value, what leaves.",
        "The new cell is sigmoid(stays) * cell + sigmoid(enters) * tanh(new).",
        "The hidden state is sigmoid(leaves) * tanh(new cell). Give [hidden, cell].",
    ),
    worked=[
        ((torch.zeros(4), torch.tensor([0.0])), [torch.tensor([0.0]), torch.tensor([0.0])]),
        (
            (torch.zeros(4), torch.tensor([2.0])),
            [torch.tensor([0.380797]), torch.tensor([1.0])],  # 1/2 tanh(1), 1/2 of 2
        ),
    ],
    cases=_steps(),
    expected=_by_torch,
    wrong=[
        Wrong(output_third, "The third part is the new value, the fourth lets the state out."),
        Wrong(stay_first, "The first part says what enters, the second what stays."),
        Wrong(not_squashed, "The cell may grow large; tanh squashes it before it is let out."),
        Wrong(nothing_stays, "The old cell is lost: what stays of it is added."),
        Wrong(swapped_results, "Both are right, and in the wrong order: hidden first, then cell."),
    ],
)
