"""Exercises of lesson 06 that need no PyTorch: the learning rate (§5.3)."""

import itertools
import math

from lessonkit.exercises.exercise import Exercise
from lessonkit.exercises.wording import read_lesson_wording

lesson_wording = read_lesson_wording("06")


def my_warmup_rate(step: int, d_model: int, warmup_steps: int) -> float:
    """Return the learning rate of a step, counted from 1."""
    rising = step * warmup_steps**-1.5
    falling = step**-0.5
    return d_model**-0.5 * min(rising, falling)


warmup_rate = Exercise(
    my_warmup_rate,
    lesson_wording,
    worked=[
        ((4, 16, 4), 0.125),  # the peak: one over the root of 64
        ((1, 16, 4), 0.03125),  # a quarter of the way up
        ((16, 16, 4), 0.0625),  # four times as late, half as high
    ],
    cases=list(itertools.product((1, 2, 3, 9, 50), (1, 4, 36), (1, 2, 9))),
    # from the peak: a straight line up to it, one over the root after it
    expected=lambda step, d_model, warmup_steps: (
        min(step / warmup_steps, math.sqrt(warmup_steps / step)) / math.sqrt(d_model * warmup_steps)
    ),
    properties={"a rate is above 0": lambda value, *_: value > 0},
    saved=True,
)
