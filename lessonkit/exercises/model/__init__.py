"""The exercises of lesson 04, in its order. `Layer` is its toy."""

from lessonkit.exercises.model.embeddings import tied
from lessonkit.exercises.model.layers import decoder_layer
from lessonkit.exercises.model.predictions import (
    lost_gradient,
    loud_mistake,
    seeds_helped,
    untied_size,
)
from lessonkit.exercises.model.questions import recall
from lessonkit.exercises.model.sizes import vocabulary
from lessonkit.exercises.model.sublayers import feed_forward, layer_norm
from lessonkit.exercises.networks import Layer

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
