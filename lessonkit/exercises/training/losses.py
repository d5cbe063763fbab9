"""An exercise of lesson 05: a smoothed target (§5.4)."""

import math

import numpy as np

from lessonkit.exercises.asking import read_words
from lessonkit.exercises.check import Exercise

words = read_words("05")


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
    words,
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
    wrong={
        "mass_on_padding": mass_on_padding,
        "over_every_type": over_every_type,
        "some_mass_lost": some_mass_lost,
        "padding_is_asked_for": padding_is_asked_for,
        "all_or_nothing": all_or_nothing,
    },
    properties={
        "a target sums to 1, or to 0 at padding": lambda value, true_id, *sizes: math.isclose(
            sum(value), true_id != sizes[-1], abs_tol=1e-6
        ),
    },
)
