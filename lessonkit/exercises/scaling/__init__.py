"""The exercises of lesson 13, in its order."""

from lessonkit.exercises.scaling.noise import noise_scale
from lessonkit.exercises.scaling.predictions import (
    both_passes,
    losses_apart,
    noisier,
    p100_share,
    products_in_sixteen,
    share_of_the_big,
    sixty_four,
    time_in_products,
    weights_moved,
)
from lessonkit.exercises.scaling.questions import recall
from lessonkit.exercises.scaling.rounding import bfloat16
from lessonkit.exercises.scaling.work import flops

__all__ = [
    "bfloat16",
    "flops",
    "noise_scale",
    "recall",
    "both_passes",
    "p100_share",
    "time_in_products",
    "sixty_four",
    "weights_moved",
    "products_in_sixteen",
    "noisier",
    "losses_apart",
    "share_of_the_big",
]
