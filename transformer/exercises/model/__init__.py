"""The exercises of lesson 04, in its order. `Layer` is its toy."""

from transformer.exercises.model.embeddings import tied
from transformer.exercises.model.layers import decoder_layer
from transformer.exercises.model.predictions import (
    lost_gradient,
    loud_mistake,
    seeds_helped,
    untied_size,
)
from transformer.exercises.model.questions import recall
from transformer.exercises.model.sizes import vocabulary
from transformer.exercises.model.sublayers import feed_forward, layer_norm
from transformer.exercises.networks import Layer

__all__ = [
    "feed_forward",
    "layer_norm",
    "tied",
    "vocabulary",
    "decoder_layer",
    "Layer",
    "recall",
    "lost_gradient",
    "untied_size",
    "loud_mistake",
    "seeds_helped",
]
