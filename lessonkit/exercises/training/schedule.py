"""An exercise of lesson 05: the learning rate of a step (§5.3, Eq. 3)."""

import itertools
import math

from lessonkit.exercises.asking import read_words
from lessonkit.exercises.check import Exercise

words = read_words("05")


def my_warmup_rate(step: int, d_model: int, warmup_steps: int) -> float:
    """Give the learning rate of a step, counted from 1."""
    rising = step * warmup_steps**-1.5
    falling = step**-0.5
    return d_model**-0.5 * min(rising, falling)


def counted_from_zero(step: int, d_model: int, warmup_steps: int) -> float:
    """Take step 1 for the second."""
    return my_warmup_rate(step + 1, d_model, warmup_steps)


def never_falls(step: int, d_model: int, warmup_steps: int) -> float:
    """Leave the falling half out."""
    return d_model**-0.5 * step * warmup_steps**-1.5


def never_rises(step: int, d_model: int, warmup_steps: int) -> float:
    """Leave the warm-up out."""
    return float(d_model**-0.5 * step**-0.5)


def larger_of_both(step: int, d_model: int, warmup_steps: int) -> float:
    """Take the maximum for the minimum."""
    return float(d_model**-0.5 * max(step * warmup_steps**-1.5, step**-0.5))


def half_power(step: int, d_model: int, warmup_steps: int) -> float:
    """Give the warm-up the exponent of the others."""
    return float(d_model**-0.5 * min(step * warmup_steps**-0.5, step**-0.5))


def wider_is_faster(step: int, d_model: int, warmup_steps: int) -> float:
    """Multiply by the root of the width instead of dividing."""
    return d_model * my_warmup_rate(step, d_model, warmup_steps)


def _by_peak(step: int, d_model: int, warmup_steps: int) -> float:
    """Start from the peak: a straight line up to it, one over the root after it."""
    peak = 1 / math.sqrt(d_model * warmup_steps)
    if step < warmup_steps:
        return peak * step / warmup_steps
    return peak * math.sqrt(warmup_steps / step)


warmup_rate = Exercise(
    my_warmup_rate,
    words,
    worked=[
        ((4, 16, 4), 0.125),  # the peak: one over the root of 64
        ((1, 16, 4), 0.03125),  # a quarter of the way up
        ((16, 16, 4), 0.0625),  # four times as late, half as high
    ],
    cases=list(itertools.product((1, 2, 3, 9, 50), (1, 4, 36), (1, 2, 9))),
    expected=_by_peak,
    wrong={
        "counted_from_zero": counted_from_zero,
        "never_falls": never_falls,
        "never_rises": never_rises,
        "larger_of_both": larger_of_both,
        "half_power": half_power,
        "wider_is_faster": wider_is_faster,
    },
    properties={
        "a rate is above 0": lambda value, *_: value > 0,
    },
)
