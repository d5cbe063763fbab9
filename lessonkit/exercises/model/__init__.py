"""The exercises of lesson 04, in its order. `Layer` is its toy."""

from lessonkit.exercises.asking import asked, read_words
from lessonkit.exercises.model.layer import decoder_layer
from lessonkit.exercises.model.parts import feed_forward, layer_norm, tied, vocabulary
from lessonkit.exercises.toys import Layer

globals().update(asked(read_words("04")))  # recall and the predictions

__all__ = ["Layer", "feed_forward", "layer_norm", "tied", "vocabulary", "decoder_layer"]
