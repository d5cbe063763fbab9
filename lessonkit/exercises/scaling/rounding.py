"""An exercise of lesson 13: a number in bfloat16."""

import math

import torch

from lessonkit.exercises.check import Exercise, Wrong


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
    minutes=10,
    difficulty="easy",
    hints=(
        "math.frexp(number) takes a number apart: a fraction from 0.5 up to 1, and the power of 2 "
        "that it is multiplied by. Only the fraction is rounded.",
        "Eight binary digits after its point are the 256ths: round(fraction * 256). Python's "
        "round takes the even one of two that are equally near, as processors do.",
        "math.ldexp(whole, exponent - 8) puts it together again.",
    ),
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
    wrong=[
        Wrong(cut_off, "The digits are cut off here. The nearest number may lie above."),
        Wrong(halves_up, "In the middle between two numbers the *even* one is taken."),
        Wrong(
            seven_digits,
            "Seven digits are stored, but the first, which is always a 1, is not among them.",
        ),
        Wrong(nine_digits, "This is a digit too many."),
        Wrong(
            fixed_point,
            "This keeps eight digits after the point. Bfloat16 keeps eight from the first that is "
            "not 0: small numbers are as exact as large ones, relative to their size.",
        ),
        Wrong(two_decimals, "These are decimal places. What is kept are binary digits."),
    ],
)
