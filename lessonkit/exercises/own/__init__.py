"""A Transformer of one's own: the classes that lessons 02 to 04 leave in the learner's hands."""

from lessonkit.exercises.own.attention import attention
from lessonkit.exercises.own.embedding import embedding
from lessonkit.exercises.own.keep import keep, kept
from lessonkit.exercises.own.layers import decoder_layer, encoder_layer
from lessonkit.exercises.own.model import transformer
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

PARTS = (attention, embedding, encoder_layer, decoder_layer, transformer)

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
