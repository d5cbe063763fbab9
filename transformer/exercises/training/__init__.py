"""The exercises of lesson 05, in its order."""

from transformer.exercises.training.losses import loss_per_token, smoothed_target
from transformer.exercises.training.schedule import warmup_rate
from transformer.exercises.training.updates import accumulated_gradient, adam_step

__all__ = [
    "warmup_rate",
    "smoothed_target",
    "loss_per_token",
    "adam_step",
    "accumulated_gradient",
]
