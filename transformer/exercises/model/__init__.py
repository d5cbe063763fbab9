"""The exercises of lesson 04, in its order."""

from transformer.exercises.model.sizes import layer_parameters, vocabulary
from transformer.exercises.model.sublayers import feed_forward, layer_norm

__all__ = [
    "feed_forward",
    "layer_norm",
    "layer_parameters",
    "vocabulary",
]
