"""The exercises of lesson 05, in its order. `Parrot` is its toy."""

from lessonkit.exercises.networks import Parrot
from lessonkit.exercises.training.accumulation import accumulated_gradient
from lessonkit.exercises.training.adam import adam_step
from lessonkit.exercises.training.loop import train
from lessonkit.exercises.training.losses import smoothed_target
from lessonkit.exercises.training.predictions import (
    average_or_last,
    how_sure,
    lower_curve,
    twelve_digits,
)
from lessonkit.exercises.training.questions import recall
from lessonkit.exercises.training.schedule import warmup_rate

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
