"""A Transformer of one's own: the classes that lessons 02 to 04 leave in the learner's hands."""

from lessonkit.exercises.own.keep import keep, kept
from lessonkit.exercises.own.parts import (
    PARTS,
    attention,
    decoder_layer,
    embedding,
    encoder_layer,
    transformer,
)
from lessonkit.exercises.own.reference import (
    MyAttention,
    MyDecoderLayer,
    MyEmbedding,
    MyEncoderLayer,
    MyFeedForward,
    MyResidual,
    MyStack,
    MyTransformer,
)

__all__ = [
    "PARTS",
    "attention",
    "embedding",
    "encoder_layer",
    "decoder_layer",
    "transformer",
    "keep",
    "kept",
    "MyAttention",
    "MyEmbedding",
    "MyFeedForward",
    "MyResidual",
    "MyEncoderLayer",
    "MyDecoderLayer",
    "MyStack",
    "MyTransformer",
]
