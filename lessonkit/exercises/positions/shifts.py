"""Two exercises of lesson 03: the shift as one matrix, and the offset of two positions."""

import math

import torch
from torch import Tensor

from lessonkit.exercises.asking import read_words
from lessonkit.exercises.check import Exercise
from transformer.embeddings import sinusoidal_positions

words = read_words("03")

FARTHEST = 1500  # tokens between the two positions of the last exercise
NOISE = 0.02  # standard deviation of what is added to each of their numbers


def my_shift_halves(k: int, d_model: int) -> Tensor:
    """Give the matrix that moves [sines, cosines] by k positions."""
    i = torch.arange(d_model // 2)
    turn = k / 10_000 ** (2 * i / d_model)
    cos, sin = torch.diag(turn.cos()), torch.diag(turn.sin())
    upper = torch.cat((cos, sin), dim=1)
    lower = torch.cat((-sin, cos), dim=1)
    return torch.cat((upper, lower))


def _of_parts(cos: Tensor, sin: Tensor) -> Tensor:
    """Put the matrix together out of two diagonals."""
    cos, sin = torch.diag(cos), torch.diag(sin)
    return torch.cat((torch.cat((cos, sin), dim=1), torch.cat((-sin, cos), dim=1))).float()


def _turn(k: int, d_model: int, factor: float = 2) -> Tensor:
    return k / 10_000 ** (factor * torch.arange(d_model // 2, dtype=torch.float64) / d_model)


def transposed(k: int, d_model: int) -> Tensor:
    """Turn the other way, which moves back."""
    return my_shift_halves(k, d_model).T


def for_pairs_side_by_side(k: int, d_model: int) -> Tensor:
    """Take the lesson's order of dimensions."""
    blocks = [
        torch.tensor([[math.cos(t), math.sin(t)], [-math.sin(t), math.cos(t)]])
        for t in _turn(k, d_model).tolist()
    ]
    return torch.block_diag(*blocks)


def wrong_frequency(k: int, d_model: int) -> Tensor:
    """Forget the 2 of 2i."""
    turn = _turn(k, d_model, factor=1)
    return _of_parts(turn.cos(), turn.sin())


def one_turn_for_all(k: int, d_model: int) -> Tensor:
    """Turn every pair by the same angle."""
    turn = torch.full((d_model // 2,), float(k))
    return _of_parts(turn.cos(), turn.sin())


def reflection(k: int, d_model: int) -> Tensor:
    """Lose the minus sign."""
    shift = my_shift_halves(k, d_model)
    half = d_model // 2
    shift[half:, :half] *= -1
    return shift


def _by_exponential(k: int, d_model: int) -> Tensor:
    """Raise e to a matrix: the turn by one token, at every frequency, for k tokens."""
    speed = torch.diag(_turn(1, d_model))
    zero = torch.zeros_like(speed)
    generator = torch.cat((torch.cat((zero, speed), dim=1), torch.cat((-speed, zero), dim=1)))
    return torch.matrix_exp(k * generator).float()


shift_halves = Exercise(
    my_shift_halves,
    words,
    worked=[
        ((0, 2), torch.eye(2)),
        (
            (1, 4),  # the turns are 1 and 1/100
            torch.tensor(
                [
                    [math.cos(1), 0, math.sin(1), 0],
                    [0, math.cos(0.01), 0, math.sin(0.01)],
                    [-math.sin(1), 0, math.cos(1), 0],
                    [0, -math.sin(0.01), 0, math.cos(0.01)],
                ]
            ),
        ),
    ],
    cases=[(k, d_model) for d_model in (2, 4, 6) for k in (1, 2, 7, 40, -3)],
    expected=_by_exponential,
    wrong={
        "transposed": transposed,
        "for_pairs_side_by_side": for_pairs_side_by_side,
        "wrong_frequency": wrong_frequency,
        "one_turn_for_all": one_turn_for_all,
        "reflection": reflection,
    },
    properties={
        "a rotation keeps lengths: its transpose must undo it": lambda value, k, d_model: (
            torch.allclose(value.float() @ value.float().T, torch.eye(d_model), atol=1e-4)
        ),
    },
)


def my_offset(one: Tensor, other: Tensor) -> int:
    """Tell how many tokens after `one` the row `other` stands."""
    d_model = len(one)
    k = 0.0
    for i in reversed(range(d_model // 2)):  # the slowest hand first
        here, there = one[2 * i : 2 * i + 2], other[2 * i : 2 * i + 2]
        cos = float(here @ there)
        sin = float(there[0] * here[1] - there[1] * here[0])
        turn = math.atan2(sin, cos)
        speed = 10_000 ** (-2 * i / d_model)
        whole = round((k * speed - turn) / (2 * math.pi))
        k = (turn + 2 * math.pi * whole) / speed
    return round(k)


def _as_complex(row: Tensor) -> Tensor:
    """Make a point of the plane of each pair: its cosine, and its sine."""
    return torch.view_as_complex(row.view(-1, 2).flip(-1))


def _turns(one: Tensor, other: Tensor) -> Tensor:
    """Measure by how much each pair has turned, between -pi and pi."""
    here, there = _as_complex(one), _as_complex(other)
    return (there * here.conj()).angle()


def _speeds(d_model: int) -> Tensor:
    return 10_000 ** (-torch.arange(0, d_model, 2) / d_model)


def slowest_hand_alone(one: Tensor, other: Tensor) -> int:
    """Trust the last pair, whose noise counts a thousandfold."""
    return round(float(_turns(one, other)[-1] / _speeds(len(one))[-1]))


def fastest_hand_alone(one: Tensor, other: Tensor) -> int:
    """Read the first pair, and overlook that it goes round every six tokens."""
    return round(float(_turns(one, other)[0]))


def mean_of_hands(one: Tensor, other: Tensor) -> int:
    """Average what the hands say, most of which have gone round."""
    return round(float((_turns(one, other) / _speeds(len(one))).mean()))


def backwards(one: Tensor, other: Tensor) -> int:
    """Swap the two."""
    return my_offset(other, one)


def without_direction(one: Tensor, other: Tensor) -> int:
    """Compare by dot products, which are the same to both sides."""
    return abs(my_offset(one, other))


def _by_trying_all(one: Tensor, other: Tensor) -> int:
    """Compare the turns with those of every offset there may be; take the best."""
    d_model = len(one)
    farthest = min(FARTHEST, int(math.pi / _speeds(d_model)[-1]))
    table = sinusoidal_positions(farthest + 1, d_model).double().view(farthest + 1, -1, 2)
    ahead = torch.view_as_complex(table.flip(-1).contiguous())  # the turns of each offset
    every = torch.cat((ahead.conj().flip(0)[:-1], ahead))
    here, there = (_as_complex(each.double()) for each in (one, other))
    fit = (there * here.conj() * every.conj()).real.sum(dim=1)
    return int(fit.argmax()) - farthest


def _encodings() -> list[tuple[Tensor, Tensor]]:
    """Two noisy rows of the table, near and far, the second one before or behind."""
    generator = torch.Generator().manual_seed(0)
    table = sinusoidal_positions(2 * FARTHEST, 8)
    pairs = [(5, 6), (6, 5), (0, 3), (20, 31), (31, 20), (3, 250), (700, 12), (100, 1600)]
    pairs += [(1500, 0), (2000, 2900), (2999, 2998), (777, 777)]
    pairs += [(5, 27), (300, 322), (64, 42), (901, 898)]  # the fastest hand has made half a turn
    noise = NOISE * torch.randn(len(pairs), 2, 8, generator=generator)
    return [
        ((table[a] + extra[0]).round(decimals=3), (table[b] + extra[1]).round(decimals=3))
        for (a, b), extra in zip(pairs, noise, strict=True)
    ]


offset = Exercise(
    my_offset,
    words,
    worked=[
        (  # exact rows 0 and 2 of a table of one pair
            (torch.tensor([0.0, 1.0]), torch.tensor([math.sin(2), math.cos(2)])),
            2,
        ),
        (
            (
                torch.tensor([math.sin(9), math.cos(9), math.sin(0.09), math.cos(0.09)]),
                torch.tensor([math.sin(2), math.cos(2), math.sin(0.02), math.cos(0.02)]),
            ),
            -7,
        ),
    ],
    cases=_encodings(),
    expected=_by_trying_all,
    wrong={
        "slowest_hand_alone": slowest_hand_alone,
        "fastest_hand_alone": fastest_hand_alone,
        "mean_of_hands": mean_of_hands,
        "backwards": backwards,
        "without_direction": without_direction,
    },
)
