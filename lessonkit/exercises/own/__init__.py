"""A Transformer of one's own: the classes that lessons 02 to 04 leave in the learner's hands."""

from lessonkit.exercises.own.keep import keep, kept
from lessonkit.exercises.own.parts import (
    attention,
    decoder_layer,
    embedding,
    encoder_layer,
    transformer,
)

__all__ = [
    "attention",
    "embedding",
    "encoder_layer",
    "decoder_layer",
    "transformer",
    "keep",
    "kept",
]
