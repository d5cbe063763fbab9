"""The exercises of lesson 02, in its order. `Blocks` is its toy."""

from transformer.exercises.attention.blocks import attention_in_blocks
from transformer.exercises.attention.dot_products import scaled_attention
from transformer.exercises.attention.heads import multi_head
from transformer.exercises.attention.masks import decoder_mask, window_mask
from transformer.exercises.attention.predictions import (
    demain_hidden,
    shut_query,
    silent_query,
    unscaled_gradient,
)
from transformer.exercises.attention.questions import recall
from transformer.exercises.toys import Blocks

__all__ = [
    "scaled_attention",
    "window_mask",
    "decoder_mask",
    "multi_head",
    "attention_in_blocks",
    "Blocks",
    "recall",
    "silent_query",
    "unscaled_gradient",
    "shut_query",
    "demain_hidden",
]
