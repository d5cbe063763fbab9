"""Two exercises of lesson 03: the table of positions, and the length of a wave (§3.5)."""

import math

import torch
from torch import Tensor

from lessonkit.exercises.asking import read_words
from lessonkit.exercises.check import Exercise
from transformer.embeddings import sinusoidal_positions

words = read_words("03")


def my_position_table(length: int, d_model: int, base: float) -> Tensor:
    """Give the sinusoidal positions, (length, d_model)."""
    table = torch.zeros(length, d_model)
    pos = torch.arange(length)
    for i in range(d_model // 2):
        angle = pos / base ** (2 * i / d_model)
        table[:, 2 * i] = angle.sin()
        table[:, 2 * i + 1] = angle.cos()
    return table


def sines_then_cosines(length: int, d_model: int, base: float) -> Tensor:
    """Put all sines first, as the authors' code does."""
    table = my_position_table(length, d_model, base)
    return torch.cat((table[:, ::2], table[:, 1::2]), dim=1)


def cosines_on_even(length: int, d_model: int, base: float) -> Tensor:
    """Swap the two waves of a pair."""
    return my_position_table(length, d_model, base).unflatten(1, (-1, 2)).flip(-1).flatten(1)


def half_the_exponent(length: int, d_model: int, base: float) -> Tensor:
    """Forget the 2 of 2i."""
    return my_position_table(length, d_model, math.sqrt(base))


def twice_the_exponent(length: int, d_model: int, base: float) -> Tensor:
    """Go through the even columns, and double what is doubled already."""
    return my_position_table(length, d_model, base**2)


def own_frequency_each(length: int, d_model: int, base: float) -> Tensor:
    """Take each dimension's own number for the exponent, so that no two share an angle."""
    pos = torch.arange(length)[:, None]
    angle = pos / base ** (torch.arange(d_model) / d_model)
    return torch.where(torch.arange(d_model) % 2 == 0, angle.sin(), angle.cos())


def from_one(length: int, d_model: int, base: float) -> Tensor:
    """Count positions from 1."""
    return my_position_table(length + 1, d_model, base)[1:]


def faster_and_faster(length: int, d_model: int, base: float) -> Tensor:
    """Multiply by the power where the paper divides."""
    return my_position_table(length, d_model, 1 / base)


def _on_the_circle(length: int, d_model: int, base: float) -> Tensor:
    """Turn a point of the circle, once for each position: the power of a complex number."""
    turn = base ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    point = torch.polar(torch.ones_like(turn), turn)
    powers = torch.stack([point**pos for pos in range(length)])
    return torch.view_as_real(powers).flip(-1).flatten(1).float()  # (sine, cosine)


position_table = Exercise(
    my_position_table,
    words,
    worked=[
        ((1, 4, 10_000.0), torch.tensor([[0.0, 1.0, 0.0, 1.0]])),
        (
            (2, 4, 4.0),  # the second pair turns by half a radian a position
            torch.tensor(
                [[0.0, 1.0, 0.0, 1.0], [math.sin(1), math.cos(1), math.sin(0.5), math.cos(0.5)]]
            ),
        ),
    ],
    cases=[
        (length, d_model, base)
        for length in (1, 2, 3, 7)
        for d_model in (2, 4, 6)
        for base in (100.0, 10_000.0)
    ],
    expected=_on_the_circle,
    wrong={
        "sines_then_cosines": sines_then_cosines,
        "cosines_on_even": cosines_on_even,
        "half_the_exponent": half_the_exponent,
        "twice_the_exponent": twice_the_exponent,
        "own_frequency_each": own_frequency_each,
        "from_one": from_one,
        "faster_and_faster": faster_and_faster,
    },
)


def my_wavelength(dimension: int, d_model: int) -> float:
    """Give after how many positions a dimension's wave repeats (tokens)."""
    pair = dimension // 2
    return 2 * math.pi * 10_000 ** (2 * pair / d_model)


def dimension_for_pair(dimension: int, d_model: int) -> float:
    """Give a cosine another wavelength than its sine."""
    return 2 * math.pi * 10_000 ** (dimension / d_model)


def twice_the_dimension(dimension: int, d_model: int) -> float:
    """Put the dimension where i stands."""
    return my_wavelength(2 * dimension, d_model)


def in_radians(dimension: int, d_model: int) -> float:
    """Forget that a whole turn is 2 pi."""
    return my_wavelength(dimension, d_model) / (2 * math.pi)


def frequency(dimension: int, d_model: int) -> float:
    """Give radians per token instead of tokens per turn."""
    return 2 * math.pi / my_wavelength(dimension, d_model)


def turn_divided(dimension: int, d_model: int) -> float:
    """Divide the whole turn by the power, as the position is."""
    return (2 * math.pi) ** 2 / my_wavelength(dimension, d_model)


def half_a_turn(dimension: int, d_model: int) -> float:
    """Stop where the sine is 0 for the first time."""
    return my_wavelength(dimension, d_model) / 2


def _off_the_table(dimension: int, d_model: int) -> float:
    """Measure the angle of a pair at position 1; a whole turn takes so many of them."""
    pair = dimension // 2
    sine, cosine = sinusoidal_positions(2, d_model)[1, 2 * pair : 2 * pair + 2].double().tolist()
    return 2 * math.pi / math.atan2(sine, cosine)


wavelength = Exercise(
    my_wavelength,
    words,
    worked=[
        ((0, 512), 2 * math.pi),
        ((1, 512), 2 * math.pi),
        ((2, 4), 200 * math.pi),  # 10000 to the power of a half is 100
    ],
    cases=[(dimension, d_model) for d_model in (2, 4, 16, 64) for dimension in range(d_model)],
    expected=_off_the_table,
    wrong={
        "dimension_for_pair": dimension_for_pair,
        "twice_the_dimension": twice_the_dimension,
        "in_radians": in_radians,
        "frequency": frequency,
        "turn_divided": turn_divided,
        "half_a_turn": half_a_turn,
    },
)
