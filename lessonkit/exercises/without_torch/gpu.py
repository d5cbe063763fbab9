"""Exercises of lesson 17 that need no PyTorch: rounding to bfloat16."""

import math

from lessonkit.exercises.exercise import Exercise
from lessonkit.exercises.wording import read_lesson_wording

lesson_wording = read_lesson_wording("17")


def my_round_to_bfloat16(number: float) -> float:
    """Return the nearest number of 8 significant binary digits."""
    fraction, exponent = math.frexp(number)  # number = fraction * 2**exponent
    return math.ldexp(round(fraction * 256), exponent - 8)


def _bfloat16_of_torch(number: float) -> float:
    import torch

    return float(torch.tensor(number).bfloat16())


round_to_bfloat16 = Exercise(
    my_round_to_bfloat16,
    lesson_wording,
    worked=[
        ((1.0,), 1.0),
        ((257.0,), 256.0),  # 100000001 in binary, nine digits, in the middle: to the even one
        ((3.1415927,), 3.140625),  # 11.001001 in binary
    ],
    cases=[
        (0.0,),
        (259.0,),  # in the middle again, and the even one lies above
        (1.0078125,),
        (0.1,),
        (-2.71828,),
        (1023.0,),
        (0.0007,),
        (123456.0,),
    ],
    expected=_bfloat16_of_torch,
)
