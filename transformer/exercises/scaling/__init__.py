"""The exercises of lesson 13, in its order."""

from transformer.exercises.scaling.noise import noise_scale
from transformer.exercises.scaling.predictions import (
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
from transformer.exercises.scaling.questions import recall
from transformer.exercises.scaling.rounding import bfloat16
from transformer.exercises.scaling.work import flops

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
