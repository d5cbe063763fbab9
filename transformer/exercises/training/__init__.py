"""The exercises of lesson 05, in its order. `Parrot` is its toy."""

from transformer.exercises.networks import Parrot
from transformer.exercises.training.accumulation import accumulated_gradient
from transformer.exercises.training.adam import adam_step
from transformer.exercises.training.loop import train
from transformer.exercises.training.losses import smoothed_target
from transformer.exercises.training.predictions import (
    average_or_last,
    how_sure,
    lower_curve,
    twelve_digits,
)
from transformer.exercises.training.questions import recall
from transformer.exercises.training.schedule import warmup_rate

__all__ = [
    "warmup_rate",
    "smoothed_target",
    "adam_step",
    "train",
    "accumulated_gradient",
    "Parrot",
    "recall",
    "how_sure",
    "twelve_digits",
    "lower_curve",
    "average_or_last",
]
