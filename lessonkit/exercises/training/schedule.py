"""An exercise of lesson 05: the learning rate of a step (§5.3, Eq. 3)."""

import itertools
import math

from lessonkit.exercises.check import Exercise, Property, Wrong


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
    minutes=5,
    difficulty="easy",
    hints=(
        "Two curves, and always the lower one: one rises in proportion to the step, the other "
        "falls as one over its square root.",
        "They must meet at step = warmup_steps. There step ** -0.5 equals "
        "step * warmup_steps ** -1.5.",
        "d_model ** -0.5 times min(step ** -0.5, step * warmup_steps ** -1.5).",
    ),
    worked=[
        ((4, 16, 4), 0.125),  # the peak: one over the root of 64
        ((1, 16, 4), 0.03125),  # a quarter of the way up
        ((16, 16, 4), 0.0625),  # four times as late, half as high
    ],
    cases=list(itertools.product((1, 2, 3, 9, 50), (1, 4, 36), (1, 2, 9))),
    expected=_by_peak,
    wrong=[
        Wrong(
            counted_from_zero,
            "You are one step ahead. Steps are counted from 1 here, so nothing need be added.",
        ),
        Wrong(
            never_falls,
            "This goes on rising after the warm-up. From warmup_steps on another curve is "
            "lower: which of the two holds?",
        ),
        Wrong(
            never_rises,
            "This is highest at step 1, when the weights are worst and Adam knows least. Up to "
            "warmup_steps the rising curve must be the lower one.",
        ),
        Wrong(
            larger_of_both,
            "You take the higher of both curves. The lower one rises first, then falls.",
        ),
        Wrong(
            half_power,
            "The two curves must meet at step = warmup_steps; yours meet sooner. Look at the "
            "exponent of warmup_steps.",
        ),
        Wrong(
            wider_is_faster,
            "With you a wider model learns faster. In the paper it gets the smaller rate: look "
            "at the exponent of d_model.",
        ),
    ],
    properties=[Property("a rate is above 0", lambda value, *_: value > 0)],
)
