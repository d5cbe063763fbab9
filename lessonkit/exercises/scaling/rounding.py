"""An exercise of lesson 13: a number in bfloat16."""

import math

import torch

from lessonkit.exercises.asking import read_words
from lessonkit.exercises.check import Exercise

words = read_words("13")


def my_bfloat16(number: float) -> float:
    """Give the nearest number of 8 significant binary digits."""
    fraction, exponent = math.frexp(number)  # number = fraction * 2**exponent
    return math.ldexp(round(fraction * 256), exponent - 8)


def cut_off(number: float) -> float:
    """Drop the other digits."""
    fraction, exponent = math.frexp(number)
    return math.ldexp(math.trunc(fraction * 256), exponent - 8)


def halves_up(number: float) -> float:
    """Round what lies in the middle away from 0."""
    fraction, exponent = math.frexp(number)
    whole = math.floor(abs(fraction) * 256 + 0.5)
    return math.copysign(math.ldexp(whole, exponent - 8), number)


def seven_digits(number: float) -> float:
    """Keep the digits that are stored, without the first, which is not."""
    fraction, exponent = math.frexp(number)
    return math.ldexp(round(fraction * 128), exponent - 7)


def nine_digits(number: float) -> float:
    """Keep a digit too many."""
    fraction, exponent = math.frexp(number)
    return math.ldexp(round(fraction * 512), exponent - 9)


def fixed_point(number: float) -> float:
    """Keep 8 digits after the point, whatever stands before it."""
    return round(number * 256) / 256


def two_decimals(number: float) -> float:
    """Round as people do."""
    return round(number, 2)


def _by_torch(number: float) -> float:
    return float(torch.tensor(number).bfloat16())


bfloat16 = Exercise(
    my_bfloat16,
    words,
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
    expected=_by_torch,
    wrong={
        "cut_off": cut_off,
        "halves_up": halves_up,
        "seven_digits": seven_digits,
        "nine_digits": nine_digits,
        "fixed_point": fixed_point,
        "two_decimals": two_decimals,
    },
)
