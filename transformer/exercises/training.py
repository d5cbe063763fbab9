"""Exercises of lesson 05: the schedule, a smoothed target, a loss per token, and updates.

The loss per token stands in `transformer.exercises.training_loss`, the two about updates in
`transformer.exercises.training_updates`.
"""

import itertools
import math

import numpy as np

from transformer.exercises.check import Exercise, Property, Wrong
from transformer.exercises.training_loss import loss_per_token as loss_per_token
from transformer.exercises.training_updates import accumulated_gradient as accumulated_gradient
from transformer.exercises.training_updates import adam_step as adam_step


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
            "This is highest at step 1, when the weights are worst and Adam knows least. Where "
            "does warmup_steps come in?",
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


def my_smoothed_target(true_id: int, vocab_size: int, smoothing: float, pad_id: int) -> list[float]:
    """Give the probability asked for of every type; nothing for padding."""
    if true_id == pad_id:
        return [0.0] * vocab_size
    target = [smoothing / (vocab_size - 2)] * vocab_size
    target[pad_id] = 0.0
    target[true_id] = 1 - smoothing
    return target


def mass_on_padding(true_id: int, vocab_size: int, smoothing: float, pad_id: int) -> list[float]:
    """Give padding its share too."""
    if true_id == pad_id:
        return [0.0] * vocab_size
    target = [smoothing / (vocab_size - 1)] * vocab_size
    target[true_id] = 1 - smoothing
    return target


def over_every_type(true_id: int, vocab_size: int, smoothing: float, pad_id: int) -> list[float]:
    """Use the other form."""
    if true_id == pad_id:
        return [0.0] * vocab_size
    target = [smoothing / vocab_size] * vocab_size
    target[true_id] += 1 - smoothing
    return target


def some_mass_lost(true_id: int, vocab_size: int, smoothing: float, pad_id: int) -> list[float]:
    """Count padding among those that share, and then give it nothing."""
    if true_id == pad_id:
        return [0.0] * vocab_size
    target = [smoothing / (vocab_size - 1)] * vocab_size
    target[pad_id] = 0.0
    target[true_id] = 1 - smoothing
    return target


def padding_is_asked_for(
    true_id: int, vocab_size: int, smoothing: float, pad_id: int
) -> list[float]:
    """Let a place of padding ask for something."""
    target = [smoothing / (vocab_size - 2)] * vocab_size
    target[pad_id] = 0.0
    target[true_id] = 1 - smoothing
    return target


def all_or_nothing(true_id: int, vocab_size: int, smoothing: float, pad_id: int) -> list[float]:
    """Do not smooth at all."""
    return [float(i == true_id != pad_id) for i in range(vocab_size)]


def _by_mixing(true_id: int, vocab_size: int, smoothing: float, pad_id: int) -> list[float]:
    """Mix two distributions: the truth alone, and an even one over what is neither."""
    ids = np.arange(vocab_size)
    truth = (ids == true_id).astype(float)
    rest = ((ids != true_id) & (ids != pad_id)).astype(float)
    mixed = (1 - smoothing) * truth + smoothing * rest / rest.sum()
    return [float(share) for share in mixed * (true_id != pad_id)]


smoothed_target = Exercise(
    my_smoothed_target,
    minutes=10,
    difficulty="medium",
    hints=(
        "How many types share the smoothing? All but two.",
        "The true type gets 1 - smoothing, padding 0, and each of the others "
        "smoothing / (vocab_size - 2).",
        "If true_id == pad_id, give a list of zeros. Else begin with a list of equal shares, "
        "then set two of its places.",
    ),
    worked=[
        ((2, 5, 0.3, 0), [0.0, 0.1, 0.7, 0.1, 0.1]),
        ((0, 3, 0.1, 0), [0.0, 0.0, 0.0]),
    ],
    cases=[
        (true_id, vocab_size, smoothing, pad_id)
        for vocab_size in (3, 4, 7)
        for true_id in range(vocab_size)
        for smoothing in (0.0, 0.1, 0.4)
        for pad_id in (0, 2)
    ],
    expected=_by_mixing,
    wrong=[
        Wrong(
            mass_on_padding,
            "You ask for some padding. The model must never say it: leave it out of those that "
            "share.",
        ),
        Wrong(
            over_every_type,
            "This is the other form, over every type: the true one gets a share on top and "
            "padding gets one too. Here neither shares.",
        ),
        Wrong(
            some_mass_lost,
            "These probabilities do not sum to 1. By how many must the smoothing be divided "
            "if the true type and padding get none of it?",
        ),
        Wrong(
            padding_is_asked_for,
            "Where the true type is padding, there is nothing to learn: every place of the "
            "target must be 0.",
        ),
        Wrong(
            all_or_nothing,
            "All is on the true type: that is the target without smoothing.",
        ),
    ],
    properties=[
        Property(
            "a target sums to 1, or to 0 at padding",
            lambda value, true_id, vocab_size, smoothing, pad_id: math.isclose(
                sum(value), true_id != pad_id, abs_tol=1e-6
            ),
        )
    ],
)
