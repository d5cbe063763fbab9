"""The gaps and exercises of lesson 03 (§3.5).

Waves, a shift, rotary positions (not in the paper), a wave's length, an offset.
"""

import math

import torch
from torch import Tensor

from lessonkit.exercises.exercise import Exercise
from lessonkit.exercises.progress_table import show_progress as show_progress
from lessonkit.exercises.random_tensors import make_normal_sampler, seeded_generator
from lessonkit.exercises.without_torch.positions import lesson_wording
from lessonkit.exercises.without_torch.positions import wavelength as wavelength
from transformer.positions import sinusoidal_positions

earlier_lessons_quiz = lesson_wording.earlier_lessons_quiz()
position_most_like_20 = lesson_wording.prediction("position_most_like_20")
unchanged_by_position_shift = lesson_wording.prediction("unchanged_by_position_shift")
MAX_OFFSET_IN_CASES = 1500  # tokens between the two positions of the last exercise
ENCODING_NOISE_STD = 0.02  # standard deviation of what is added to each of their numbers


def my_waves(max_len: int, d_model: int) -> Tensor:
    """Return the sinusoidal positions, (max_len, d_model)."""
    table = torch.zeros(max_len, d_model)
    pos = torch.arange(max_len)
    for i in range(d_model // 2):
        angle = pos / 10_000 ** (2 * i / d_model)
        table[:, 2 * i] = angle.sin()
        table[:, 2 * i + 1] = angle.cos()
    return table


def _radians_per_position(d_model: int) -> Tensor:
    """By how much each pair turns from position to position (radians)."""
    return 10_000 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)


def _positions_by_powers_of_a_rotation(max_len: int, d_model: int) -> Tensor:
    """Turn a point of the circle, once for each position: the power of a complex number."""
    turn = _radians_per_position(d_model)
    point = torch.polar(torch.ones_like(turn), turn)
    powers = torch.stack([point**pos for pos in range(max_len)])
    return torch.view_as_real(powers).flip(-1).flatten(1).float()  # (sine, cosine)


waves = Exercise(
    my_waves,
    lesson_wording,
    worked=[
        ((1, 4), torch.tensor([[0.0, 1.0, 0.0, 1.0]])),
        (
            (2, 4),  # the second pair turns by a hundredth of a radian a position
            torch.tensor(
                [[0.0, 1.0, 0.0, 1.0], [math.sin(1), math.cos(1), math.sin(0.01), math.cos(0.01)]]
            ),
        ),
    ],
    cases=[(max_len, d_model) for max_len in (1, 2, 3, 7) for d_model in (2, 4, 6, 10)],
    expected=_positions_by_powers_of_a_rotation,
    saved=True,
)


def my_shift_matrix(k: int, d_model: int) -> Tensor:
    """Return the matrix that moves an encoding by k positions."""
    blocks = []
    for i in range(d_model // 2):
        turn = k / 10_000 ** (2 * i / d_model)
        cos, sin = math.cos(turn), math.sin(turn)
        blocks.append(torch.tensor([[cos, sin], [-sin, cos]]))
    return torch.block_diag(*blocks)


shift_matrix = Exercise(
    my_shift_matrix,
    lesson_wording,
    worked=[
        ((0, 2), torch.eye(2)),
        (  # the turns are 1 and 1/100
            (1, 4),
            torch.block_diag(
                torch.tensor([[math.cos(1), math.sin(1)], [-math.sin(1), math.cos(1)]]),
                torch.tensor([[math.cos(0.01), math.sin(0.01)], [-math.sin(0.01), math.cos(0.01)]]),
            ),
        ),
    ],
    cases=[(k, d_model) for d_model in (2, 4, 6) for k in (1, 2, 7, 40, -3)],
    # e to the power of a matrix: the turn by one token, at every frequency, for k tokens
    expected=lambda k, d_model: torch.matrix_exp(
        k
        * torch.kron(
            torch.diag(_radians_per_position(d_model)), torch.tensor([[0.0, 1.0], [-1.0, 0.0]])
        )
    ).float(),
    properties={
        "a rotation keeps lengths: its transpose must undo it": lambda value, k, d_model: (
            torch.allclose(value.float() @ value.float().T, torch.eye(d_model), atol=1e-4)
        )
    },
)


def my_rotate(vectors: Tensor) -> Tensor:
    """Rotate each position's vector (length, d_k), pair by pair."""
    length, d_k = vectors.shape
    pos = torch.arange(length)[:, None]
    angle = pos / 10_000 ** (torch.arange(0, d_k, 2) / d_k)
    first, second = vectors[:, ::2], vectors[:, 1::2]
    new_first = first * angle.cos() - second * angle.sin()
    new_second = first * angle.sin() + second * angle.cos()
    return torch.stack((new_first, new_second), dim=-1).flatten(1)


def _rotate_by_complex_product(vectors: Tensor) -> Tensor:
    """Multiply each pair, as a complex number, by that of its angle."""
    length, d_k = vectors.shape
    angle = torch.arange(length, dtype=torch.float64)[:, None] * _radians_per_position(d_k)
    points = torch.view_as_complex(vectors.double().unflatten(-1, (-1, 2)).contiguous())
    turned = points * torch.polar(torch.ones_like(angle), angle)
    return torch.view_as_real(turned).flatten(1).float()


_draw_normal = make_normal_sampler(0)
rotate = Exercise(
    my_rotate,
    lesson_wording,
    worked=[
        (  # position 0 is not turned, position 1 by one radian
            (torch.tensor([[1.0, 0.0], [1.0, 0.0]]),),
            torch.tensor([[1.0, 0.0], [math.cos(1), math.sin(1)]]),
        ),
        (  # the second pair is turned by a hundredth of a radian
            (torch.tensor([[0.0, 0.0, 0.0, 0.0], [0.0, 2.0, 3.0, 0.0]]),),
            torch.tensor(
                [
                    [0.0, 0.0, 0.0, 0.0],
                    [-2 * math.sin(1), 2 * math.cos(1), 3 * math.cos(0.01), 3 * math.sin(0.01)],
                ]
            ),
        ),
    ],
    cases=[
        (_draw_normal(length, d_k),) for length, d_k in ((1, 2), (2, 2), (3, 4), (7, 6), (5, 8))
    ],
    expected=_rotate_by_complex_product,
    properties={
        "a rotation keeps the length of each vector": lambda value, vectors: torch.allclose(
            value.float().norm(dim=1), vectors.norm(dim=1), atol=1e-4
        )
    },
)


def my_offset_from_encodings(one: Tensor, other: Tensor) -> int:
    """Return how many tokens after `one` the row `other` stands."""
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


def _sine_cosine_to_complex(row: Tensor) -> Tensor:
    return torch.view_as_complex(row.double().unflatten(-1, (-1, 2)).flip(-1).contiguous())


def _offset_by_trying_all(one: Tensor, other: Tensor) -> int:
    """Compare the turns with those of every offset there may be; take the best."""
    d_model = len(one)
    farthest = min(MAX_OFFSET_IN_CASES, int(math.pi / _radians_per_position(d_model)[-1]))
    # The turns of each offset.
    ahead = _sine_cosine_to_complex(sinusoidal_positions(farthest + 1, d_model))
    every = torch.cat((ahead.conj().flip(0)[:-1], ahead))
    here, there = _sine_cosine_to_complex(one), _sine_cosine_to_complex(other)
    fit = (there * here.conj() * every.conj()).real.sum(dim=1)
    return int(fit.argmax()) - farthest


def _offset_from_encodings_cases() -> list[tuple[Tensor, Tensor]]:
    generator = seeded_generator(0)
    table = sinusoidal_positions(2 * MAX_OFFSET_IN_CASES, 8)
    pairs = [(5, 6), (6, 5), (0, 3), (20, 31), (31, 20), (3, 250), (700, 12), (100, 1600)]
    pairs += [(1500, 0), (2000, 2900), (2999, 2998), (777, 777)]
    pairs += [(5, 27), (300, 322), (64, 42), (901, 898)]  # the fastest hand has made half a turn
    noise = ENCODING_NOISE_STD * torch.randn(len(pairs), 2, 8, generator=generator)
    return [
        ((table[a] + extra[0]).round(decimals=3), (table[b] + extra[1]).round(decimals=3))
        for (a, b), extra in zip(pairs, noise, strict=True)
    ]


offset_from_encodings = Exercise(
    my_offset_from_encodings,
    lesson_wording,
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
    cases=_offset_from_encodings_cases(),
    expected=_offset_by_trying_all,
)
