"""Exercises of lesson 03 that need no PyTorch: a wavelength (§3.5)."""

import math

from lessonkit.exercises.exercise import Exercise
from lessonkit.exercises.wording import read_lesson_wording

lesson_wording = read_lesson_wording("03")


def my_wavelength(dimension: int, d_model: int) -> float:
    """Return after how many positions a dimension's wave repeats (tokens)."""
    pair = dimension // 2
    return 2 * math.pi * 10_000 ** (2 * pair / d_model)


def _wavelength_by_angle(dimension: int, d_model: int) -> float:
    """Return a whole turn over the angle of the pair at position 1."""
    from transformer.positions import sinusoidal_positions

    row = sinusoidal_positions(2, d_model)[1].tolist()
    sine, cosine = row[dimension // 2 * 2 :][:2]
    return 2 * math.pi / math.atan2(sine, cosine)


wavelength = Exercise(
    my_wavelength,
    lesson_wording,
    worked=[
        ((0, 512), 2 * math.pi),
        ((1, 512), 2 * math.pi),
        ((2, 4), 200 * math.pi),  # 10000 to the power of a half is 100
    ],
    cases=[(dimension, d_model) for d_model in (2, 4, 16, 64) for dimension in range(d_model)],
    expected=_wavelength_by_angle,
)
