"""The exercises of lesson 04, in its order. `Layer` is its toy."""

from lessonkit.exercises.asking import asked, read_words
from lessonkit.exercises.model.embeddings import tied
from lessonkit.exercises.model.layers import decoder_layer
from lessonkit.exercises.model.sizes import vocabulary
from lessonkit.exercises.model.sublayers import feed_forward, layer_norm
from lessonkit.exercises.toys import Layer

globals().update(asked(read_words("04")))  # recall and the predictions

__all__ = ["feed_forward", "layer_norm", "tied", "vocabulary", "decoder_layer", "Layer"]
