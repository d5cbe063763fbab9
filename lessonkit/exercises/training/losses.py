"""An exercise of lesson 05: a smoothed target (§5.4)."""

import math

import numpy as np

from lessonkit.exercises.check import Exercise, Property, Wrong


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
    return my_smoothed_target(true_id, vocab_size, 0.0, pad_id)


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
